"""Assembles the commands of `niah-gen`. Results go to stdout, everything else to stderr."""

from __future__ import annotations

from typing import Annotated

import typer

from niah_gen.cli import build, datasets, library
from niah_gen.cli.reporting import reported

# Plain help: the rich one costs more to import than everything else together.
app = typer.Typer(
    name="niah-gen",
    help="Build needle-in-a-haystack datasets offline, the same on every machine.",
    no_args_is_help=True,
    invoke_without_command=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for _command in (
    build.build, build.merge, build.plan, datasets.show, datasets.page, datasets.verify, datasets.recount,
    datasets.card, datasets.diff, datasets.export, datasets.publish, library.presets, library.needles,
    library.tokenizers, datasets.list_datasets,
):  # fmt: skip
    app.command(_command.__name__.removesuffix("_datasets"))(reported(_command))
app.add_typer(library.corpora, name="corpora")


@app.callback()
def _options(
    version: Annotated[bool, typer.Option("--version", help="Print the version and exit.", is_eager=True)] = False,
) -> None:
    if version:
        from niah_score.contract import VERSION

        typer.echo(f"niah-gen {VERSION}")
        raise typer.Exit
