"""Assembles the commands of `niah-score`. Results go to stdout, everything else to stderr."""

from __future__ import annotations

from typing import Annotated

import typer

from niah_score.cli.compare import compare
from niah_score.cli.judge import judge_export, judge_import
from niah_score.cli.perplexity import gain, perplexity
from niah_score.cli.plot import plot
from niah_score.cli.report import report
from niah_score.cli.score import formats, score
from niah_score.machine.run import reported as of_program

reported = of_program("niah-score", "niah-kit")

app = typer.Typer(
    name="niah-score",
    help="Score answers to needle-in-a-haystack prompts, from any inference stack.",
    no_args_is_help=True,
    invoke_without_command=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.callback()
def about(
    version: Annotated[bool, typer.Option("--version", help="Print the version and exit.", is_eager=True)] = False,
) -> None:
    """Score answers to needle-in-a-haystack prompts, from any inference stack."""
    if version:
        from niah_score.contract import VERSION

        typer.echo(f"niah-score {VERSION}")
        raise typer.Exit


for command in (score, perplexity, gain, plot, formats, compare, report):
    app.command()(reported(command))

judge = typer.Typer(
    help="Let a language model judge, offline: export requests, import verdicts.", rich_markup_mode=None
)
judge.command("export")(reported(judge_export))
judge.command("import")(reported(judge_import))
app.add_typer(judge, name="judge")
