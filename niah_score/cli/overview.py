"""Prints the overview of a report on stderr: its score, its other figures, its two equations, its problems."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

import typer

from niah_score.text.visible import visible

if TYPE_CHECKING:
    from niah_score.report.report import Report

# Lines that were not used as they stand are shown up to this many.
_SHOWN_PROBLEMS = 20


def print_overview(report: Report, *, verbose: bool = False) -> None:
    """Print the score first, then the other metrics, the two equations and the first problems.

    `verbose`: with the signature of each metric.
    """
    for line in (*_scores(report, verbose=verbose), *_accounts(report)):
        typer.echo(visible(line), err=True)


def _scores(report: Report, *, verbose: bool) -> Iterator[str]:
    found = report.overview
    yield found.score
    yield from found.about
    width = max((len(name) for _, metrics in found.groups for name, _ in metrics), default=0)
    for title, metrics in found.groups:
        yield f"\n{title}"
        for name, figure in metrics:
            signature = f"  {report.signatures.get(name, '')}".rstrip() if verbose else ""
            yield f"  {name:{width}} {figure}{signature}"
    yield ""


def _accounts(report: Report) -> Iterator[str]:
    """What became of every line and every row, and the lines that were not used as they stand."""
    lines = report.lines
    yield (
        f"lines read {lines.read:,} = used {lines.used:,} + duplicate {lines.duplicate:,} + unknown {lines.unknown:,} "
        f"+ malformed {lines.malformed:,}"
    )
    yield f"rows {report.height:,} = " + " + ".join(f"{name} {count:,}" for name, count in report.statuses.items())
    # The equation above counts missing answers, and problems.jsonl names each.
    problems = [problem for problem in report.problems if problem.kind != "missing"]
    yield from (f"  {problem.kind}: {problem}" for problem in problems[:_SHOWN_PROBLEMS])
    if len(problems) > _SHOWN_PROBLEMS:
        yield f"  and {len(problems) - _SHOWN_PROBLEMS:,} more problems: all are in problems.jsonl"


def print_heatmap(report: Report) -> None:
    """Print the heatmap where stderr is a terminal; say why there is none where rows have too many lengths for it."""
    from niah_score.report.charts.grid import has_grid, too_fine
    from niah_score.report.report import report_grids

    if not has_grid(report.scored):
        return
    grids = report_grids(report)
    if why := next(filter(None, map(too_fine, grids)), None):
        typer.echo(f"no heatmap: {why}", err=True)
    elif sys.stderr.isatty():
        import shutil

        from niah_score.report.charts.terminal import colours_of, heatmap_lines

        width, colours = shutil.get_terminal_size().columns, colours_of(sys.stderr)
        lines = [line for grid in grids for line in ("", *heatmap_lines(grid, width, colours))]
        typer.echo("\n".join([*lines, ""]), err=True)
