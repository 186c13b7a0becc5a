"""Draws reports, folders of scores and other systems' results in one picture."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from niah_score.errors import ScoreError
from niah_score.report.charts.foreign_results import read_foreign
from niah_score.report.charts.heatmap import figure_of, save
from niah_score.report.charts.palette import find_palette
from niah_score.report.layout import SCORES, SUMMARY
from niah_score.report.read import read
from niah_score.report.report import Report, report_grid

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

    from niah_score.report.charts.grid import Grid


def plot(
    *results: Report | str | Path,
    metric: str | None = None,
    language: str | None = None,
    palette: str = "conventional",
    title: str | None = None,
    out: str | Path | Sequence[str | Path] = (),
) -> Drawing:
    """Draw heatmaps of results side by side in the same colours, as a matplotlib figure; pyplot is not used.

    `results`: reports, or paths that `niah-score plot` reads. `metric`: of our scores (by default `score`, each row's
    own metric), or of a summary that has several. `language`: only rows of that language; for our own scores only.
    `palette`: conventional or colourblind. `out`: one or several paths (.png, .svg) to write the picture to; existing
    files are replaced.

    Raises ScoreError if something cannot be drawn, ResourceError if a path cannot be written.
    """
    colours = find_palette(palette)
    grids = [
        grid
        for result in results
        for grid in (
            [report_grid(result, metric or "score", language)]
            if isinstance(result, Report)
            else read_grids(Path(result), metric, language)
        )
    ]
    drawing = figure_of(grids, palette=colours, title=title)
    save(drawing, grids, *([out] if isinstance(out, str | Path) else out))
    return drawing


def read_grids(path: Path, metric: str | None = None, language: str | None = None) -> list[Grid]:
    """The grids of a file or folder: one for each model.

    `metric`, `language`: as in `plot`. Raises ScoreError, with file and line, for files that are neither ours nor of a
    known kind.
    """
    if path.is_dir() and ((path / SUMMARY).exists() or (path / SCORES).exists()):
        return [report_grid(read(path), metric or "score", language)]
    if language is not None and path.exists():
        raise ScoreError(f"{path}: only folders that niah-score score wrote record the language of each row")
    return read_foreign(path, metric)
