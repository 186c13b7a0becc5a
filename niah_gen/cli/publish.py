"""Defines the command that publishes a dataset on the Hub."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from niah_gen.cli.reporting import notice


def publish(
    dataset: Annotated[Path, typer.Argument(metavar="DATASET", help="Dataset folder.")],
    repo: Annotated[str, typer.Argument(metavar="USER/NAME", help="Dataset repository on the Hub.")],
    private: Annotated[bool, typer.Option("--private", help="Make the repository private.")] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show the files, their sizes and the card; make no request.")
    ] = False,
    tag: Annotated[
        bool, typer.Option("--tag", help="Tag the commit with the dataset's version, such as v1.0.0.")
    ] = False,
    i_hold_the_rights: Annotated[
        bool,
        typer.Option("--i-hold-the-rights", help="State that you may publish these corpora; the card will say so."),
    ] = False,
    tokenizer: Annotated[
        str | None, typer.Option("--tokenizer", help="The dataset's tokenizer, if its name is not found here.")
    ] = None,
    corpus: Annotated[
        list[str] | None, typer.Option("--corpus", help="A corpus of the dataset, if its name is not found here.")
    ] = None,
    allow_task_module: Annotated[
        list[str] | None,
        typer.Option("--allow-task-module", metavar="NAME", help="A module that its recipe may import."),
    ] = None,
) -> None:
    """Publish a dataset on the Hub: prove it, and upload it in one commit."""
    from niah_gen.export.publish import prepare, shown
    from niah_gen.export.publish import publish as publish_prepared
    from niah_gen.progress import ProgressBar
    from niah_score.text.visible import visible

    with ProgressBar() as bar:
        prepared = prepare(
            dataset, repo, holds_rights=i_hold_the_rights, tokenizer=tokenizer, corpora=corpus or (),
            task_modules=allow_task_module or (), progress=bar,
        )  # fmt: skip
    notice(f"{prepared.name}: {prepared.proved}")
    if dry_run:
        for line in shown(prepared):
            typer.echo(visible(line))
        return
    typer.echo(publish_prepared(prepared, private=private, tag=tag, say=notice))
