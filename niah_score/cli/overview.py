"""Prints the overview of a report on stderr: its score, its other figures, what became of the inputs."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

import typer

from niah_score.text.visible import visible

if TYPE_CHECKING:
    from niah_score.report.report import Report


def print_overview(report: Report, *, verbose: bool = False) -> None:
    """Print the score first, then the other metrics (with their signatures if `verbose`), and what became of inputs."""
    from niah_score.report.overview import accounts, first_problems

    scores = _scores(report, verbose=verbose)
    for line in (*scores, *accounts(report.lines, report.statuses), *first_problems(report.problems)):
        typer.echo(visible(line), err=True)


def _scores(report: Report, *, verbose: bool) -> Iterator[str]:
    overview = report.overview
    yield overview.score
    yield from overview.about
    width = max((len(name) for _, metrics in overview.groups for name, _ in metrics), default=0)
    for title, metrics in overview.groups:
        yield f"\n{title}"
        for name, figure in metrics:
            signature = f"  {report.signatures.get(name, '')}".rstrip() if verbose else ""
            yield f"  {name:{width}} {figure}{signature}"
    yield ""


def print_heatmap(report: Report) -> None:
    """Print the heatmap if stderr is a terminal; say why there is none if rows have too many lengths or depths."""
    from niah_score.report.report import drawable_grids

    grids, why = drawable_grids(report)
    if why is not None:
        typer.echo(f"no heatmap: {why}", err=True)
    elif grids and sys.stderr.isatty():
        import shutil

        from niah_score.report.charts.terminal import colours_of, heatmap_lines

        width, colours = shutil.get_terminal_size().columns, colours_of(sys.stderr)
        lines = [line for grid in grids for line in ("", *heatmap_lines(grid, width, colours))]
        typer.echo("\n".join([*lines, ""]), err=True)
