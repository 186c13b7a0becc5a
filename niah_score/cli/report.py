"""Parses `niah-score report`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from niah_score.text.visible import visible


def report(
    scores: Annotated[Path, typer.Argument(metavar="DIR", help="The folder that niah-score score wrote.")],
    dataset: Annotated[
        Path | None, typer.Option("--dataset", help="The dataset that was scored, for its questions and needles.")
    ] = None,
) -> None:
    """Write report.html of a folder of scores again."""
    from niah_score.report.read import read, with_texts
    from niah_score.report.write import write_page

    found = read(scores)
    if dataset is not None:
        found = with_texts(found, dataset)
    else:
        typer.echo("without --dataset the page has no questions, needles and reference answers", err=True)
    typer.echo(visible(str(write_page(found, scores))))
