"""Assembles the commands of `niah-score`. Results go to stdout, everything else to stderr."""

from __future__ import annotations

from typing import Annotated

import typer

from niah_score.cli.judge import judge_export, judge_import
from niah_score.cli.results import compare, diagnose, gate, plot, report
from niah_score.cli.score import log_probs, score
from niah_score.machine.run import reported as of_program

reported = of_program("niah-score", "niah-kit")
app = typer.Typer(
    name="niah-score",
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


def formats() -> None:
    """List the formats of answer files that are recognised, with an example line for each."""
    from niah_score.formats import FORMATS, example_lines

    for name, line in example_lines().items():
        typer.echo(f"{name}: {FORMATS[name].what}\n    {line}")


_LOG_PROBS = {
    "perplexity": "Score a perplexity set: nats per token, perplexity and bits per byte, by length.",
    "gain": "Score how much likelier a context makes gold answers than the question alone, and compare an oracle.",
}
app.command()(reported(score))
for name, what in _LOG_PROBS.items():
    app.command(name, help=what)(reported(log_probs))
for command in (plot, formats, compare, diagnose, gate, report):
    app.command()(reported(command))

judge = typer.Typer(
    help="Let a language model judge, offline: export requests, import verdicts.", rich_markup_mode=None
)
judge.command("export")(reported(judge_export))
judge.command("import")(reported(judge_import))
app.add_typer(judge, name="judge")
