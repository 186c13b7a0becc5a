"""Assembles the command `niah-score` from its commands, and turns expected errors into sentences and exit codes."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import wraps
from typing import Annotated, NoReturn, ParamSpec

import typer

from niah_score.cli.compare import compare
from niah_score.cli.judge import judge_export, judge_import
from niah_score.cli.perplexity import gain, perplexity
from niah_score.cli.plot import plot
from niah_score.cli.report import report
from niah_score.cli.score import formats, score
from niah_score.text.visible import visible

app = typer.Typer(
    name="niah-score",
    help="Score answers to needle-in-a-haystack prompts, from whatever stack they come.",
    no_args_is_help=True,
    invoke_without_command=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

Arguments = ParamSpec("Arguments")


def _reported(command: Callable[Arguments, None]) -> Callable[Arguments, None]:
    """A command whose expected errors end in a sentence and their exit code; bugs keep their traceback and exit 1."""

    @wraps(command)
    def run(*args: Arguments.args, **kwargs: Arguments.kwargs) -> None:
        from niah_score.contract import ContractError
        from niah_score.errors import ScoreError
        from niah_score.machine.addresses import refuse_addresses

        try:
            refuse_addresses(kwargs.values())
            command(*args, **kwargs)
        except ScoreError as error:
            _fail(error, error.exit_code)
        except ContractError as error:
            _fail(error, 4)
        except KeyboardInterrupt:
            _fail("interrupted; nothing was written", 130)
        except MemoryError:
            _fail("not enough memory", 5)
        except BrokenPipeError:
            sys.stderr.close()
            raise typer.Exit(0) from None

    return run


def _fail(error: object, code: int) -> NoReturn:
    typer.echo(f"niah-score: {visible(str(error))}", err=True)
    raise typer.Exit(code)


@app.callback()
def about(
    version: Annotated[bool, typer.Option("--version", help="Print the version and exit.", is_eager=True)] = False,
) -> None:
    """Score answers to needle-in-a-haystack prompts, from whatever stack they come."""
    if version:
        from niah_score.contract import VERSION

        typer.echo(f"niah-score {VERSION}")
        raise typer.Exit


for command in (score, perplexity, gain, plot, formats, compare, report):
    app.command()(_reported(command))

judge = typer.Typer(
    help="Let a language model judge, offline: export requests, import verdicts.", rich_markup_mode=None
)
judge.command("export")(_reported(judge_export))
judge.command("import")(_reported(judge_import))
app.add_typer(judge, name="judge")


def main() -> None:
    """Entry point of `niah-score`."""
    app()
