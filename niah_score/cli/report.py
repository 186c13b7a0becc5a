"""Parses `niah-score report`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from niah_score.text.visible import visible_path


def report(
    scores: Annotated[Path, typer.Argument(metavar="DIR", help="The folder that niah-score score wrote.")],
    dataset: Annotated[
        Path | None, typer.Option("--dataset", help="The dataset that was scored, for its questions and needles.")
    ] = None,
) -> None:
    """Write the report.html of a folder of scores again."""
    from niah_score.errors import ScoreError
    from niah_score.report.layout import PAGE
    from niah_score.report.page.render import has_texts
    from niah_score.report.read import read, with_texts
    from niah_score.report.write import write_page

    report = read(scores)
    page = scores / PAGE
    if dataset is None and page.is_file() and has_texts(page.read_bytes()):
        raise ScoreError(
            f"{page}: has the dataset's questions, needles and reference answers, and a page written without --dataset "
            f"would lack them; pass --dataset with the folder of {report.dataset} ({report.digest8}), or remove the "
            "page first"
        )
    if dataset is not None:
        report = with_texts(report, dataset)
    else:
        typer.echo("without --dataset the page has no questions, needles or reference answers", err=True)
    typer.echo(visible_path(write_page(report, scores)))
