"""Writes the files of a comparison: tables as Markdown and LaTeX, all figures as JSON and CSV, heatmaps."""

from __future__ import annotations

import json
import re
from functools import partial
from pathlib import Path

from niah_score.machine.files import hold
from niah_score.report.charts.heatmap import draw
from niah_score.report.charts.palette import Palette, find_palette
from niah_score.report.comparison.compare import RunComparison
from niah_score.report.tables import write_csv

_OURS = re.compile(r"comparison\.(md|tex|json|csv)|(heatmaps|difference-[1-9][0-9]*)\.(png|svg)")


def _ours(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir() if _OURS.fullmatch(path.name) and not path.is_dir())


def write_comparison(
    found: RunComparison, folder: Path, *, palette: str = "conventional", overwrite: bool = False
) -> Path:
    """Write comparison.md, .tex, .json and .csv, and heatmaps: the runs side by side, and each run minus the first.

    `palette`: the name of that of the runs' heatmaps; differences have their own, which colour-blind people can read.
    Raises ScoreError for an unknown palette and if the folder already holds a comparison, LockedError if another
    process is writing there, ResourceError if it cannot be written to; earlier files are then left as they were.
    """
    fill = partial(_write_all, found, palette=find_palette(palette))
    with hold(folder, "a comparison", _ours, head="comparison.json", overwrite=overwrite) as replace:
        return replace(fill)


def _write_all(found: RunComparison, folder: Path, palette: Palette) -> None:
    drawn = {"heatmaps": found.grids} if found.grids else {}
    drawn |= {f"difference-{number}": (grid,) for number, grid in enumerate(found.differences, 1)}
    for name, grids in drawn.items():
        draw(grids, folder / f"{name}.png", folder / f"{name}.svg", palette=palette)
    markdown = found.lines("markdown") + [part for name in drawn for part in ("", f"![{name}.png]({name}.png)")]
    for name, lines in (("comparison.md", markdown), ("comparison.tex", found.lines("latex"))):
        (folder / name).write_text("\n".join(lines) + "\n", "utf-8")
    text = json.dumps(found.record, ensure_ascii=False, indent=2, allow_nan=False)
    (folder / "comparison.json").write_text(text + "\n", "utf-8")
    write_csv(found.frame, folder / "comparison.csv")
