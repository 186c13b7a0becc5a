"""Draws reports and folders of scores in one picture."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from niah_score.report.charts.heatmap import figure_of, save
from niah_score.report.charts.palette import find_palette
from niah_score.report.read import read
from niah_score.report.report import Report, report_grid

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing


def plot(
    *results: Report | str | Path,
    metric: str = "score",
    language: str | None = None,
    palette: str = "conventional",
    title: str | None = None,
    out: str | Path | Sequence[str | Path] = (),
) -> Drawing:
    """Draw heatmaps of runs side by side in the same colours, as a matplotlib figure; pyplot is not used.

    `results`: reports, or folders that `niah-score score` wrote. `metric`: by default `score`, each row's own metric.
    `language`: only rows of that language. `palette`: conventional or colourblind. `out`: one or several paths (.png,
    .svg) to write the picture to; existing files are replaced.

    Raises ScoreError if something cannot be drawn, ResourceError if a path cannot be written.
    """
    colours = find_palette(palette)
    reports = [result if isinstance(result, Report) else read(result) for result in results]
    grids = [report_grid(report, metric, language) for report in reports]
    drawing = figure_of(grids, palette=colours, title=title)
    save(drawing, *([out] if isinstance(out, str | Path) else out))
    return drawing
