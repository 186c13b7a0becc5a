"""Parses `niah-score compare`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from niah_score.text.visible import visible, visible_path

# The exit code if a run dropped too far.
GATE_FAILED = 6


def compare(
    runs: Annotated[list[Path], typer.Argument(metavar="DIR DIR...", help="Folders that niah-score score wrote.")],
    metric: Annotated[str, typer.Option("--metric", help="Metric to compare; score is each row's own.")] = "score",
    fail_if_drop: Annotated[
        float | None,
        typer.Option(
            "--fail-if-drop",
            metavar="POINTS",
            help="Exit with 6 if a run is this far below the first, and not by chance.",
        ),
    ] = None,
    form: Annotated[
        str, typer.Option("--format", help="What is printed: text, or tables in markdown or latex.")
    ] = "text",
    out: Annotated[Path | None, typer.Option("--out", help="Folder for tables, figures and heatmaps.")] = None,
    palette: Annotated[
        str, typer.Option("--palette", help="Colours of the heatmaps: conventional or colourblind.")
    ] = "conventional",
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace the comparison in --out.")] = False,
) -> None:
    """Compare runs over the same rows, side by side and pair by pair, and mark what is noise."""
    from niah_score.report.comparison.compare import compare as compared
    from niah_score.report.comparison.write import write_comparison
    from niah_score.statistics.paired import drops

    found = compared(*runs, metric=metric)
    lines = found.lines(form)
    if out is not None:
        folder = write_comparison(found, out, palette=palette, overwrite=overwrite)
        typer.echo(visible_path(folder), err=True)
    for line in lines:
        typer.echo(visible(line))
    if fail_if_drop is None:
        return
    dropped = drops(found.comparison, fail_if_drop)
    for line in (*dropped.failed, *dropped.noise):
        typer.echo(visible(line), err=True)
    if dropped.failed:
        raise typer.Exit(GATE_FAILED)
