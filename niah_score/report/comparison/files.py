"""Writes the files of a comparison: tables as Markdown and LaTeX, all figures as JSON and CSV, heatmaps."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from niah_score.machine.files import hold
from niah_score.report.charts.heatmap import draw
from niah_score.report.charts.palette import Palette, find_palette
from niah_score.report.comparison.side_by_side import SideBySide
from niah_score.report.comparison.tables import lines_of
from niah_score.report.csv_files import write_csv
from niah_score.statistics.effective_length import as_record
from niah_score.statistics.figures import Figure
from niah_score.statistics.paired import Difference, Pair

if TYPE_CHECKING:
    import polars as pl

_OURS = re.compile(r"comparison\.(md|tex|json|csv)|(heatmaps|difference-[1-9][0-9]*)\.(png|svg)")


def as_dict(side: SideBySide) -> dict[str, Any]:
    """Everything that comparison.json holds: all figures of runs and pairs; cells only of pairs with the first run."""
    names = [line.name for line in side.lines]
    columns: dict[int | str, int | str] = {**dict(enumerate(side.lengths)), "rows": "rows", "lengths": "lengths"}
    runs = []
    for place, (run, line) in enumerate(zip(side.comparison.runs, side.lines, strict=True)):
        runs.append(
            {
                "name": line.name,
                "dataset": line.dataset,
                "signature": line.signature,
                "rows": run.rows,
                "left_out": run.left_out,
                "headline": dict(line.headline),
                "overall": line.of_rows._asdict(),
                "overall_of_lengths": line.of_lengths._asdict(),
                "effective_length": {"ruler": as_record(line.ruler), "nolima": as_record(line.nolima)},
                "lengths": [
                    {"length": length, **figure._asdict()}
                    for length, figure in zip(side.lengths, line.lengths, strict=True)
                ],
                "cells": [
                    {"length": length, "depth_percent": depth, **figure._asdict()}
                    for length, depth, figure in _cells(side, place)
                ],
            }
        )
    return {
        "metric": side.comparison.metric,
        "metrics": list(side.metrics),
        "rows": side.comparison.rows,
        "notes": list(side.notes),
        "best": [{"column": columns[column], "run": names[place]} for column, place in side.best.items()],
        "runs": runs,
        "pairs": [_pair_dict(pair) for pair in side.comparison.pairs],
    }


def _pair_dict(pair: Pair) -> dict[str, Any]:
    def record(difference: Difference, *without: str) -> dict[str, Any]:
        return {name: value for name, value in difference._asdict().items() if name not in without}

    return {
        "first": pair.first,
        "second": pair.second,
        "overall": record(pair.overall, "length", "depth_percent"),
        "overall_of_lengths": record(pair.of_lengths, "length", "depth_percent"),
        "lengths": [record(difference, "depth_percent") for difference in pair.lengths],
        "cells": [record(difference) for difference in pair.cells],
    }


def _cells(side: SideBySide, place: int) -> Iterator[tuple[int, float, Figure]]:
    if side.grids:
        grid = side.grids[place]
        for (length, depth), figure in sorted(grid.cells.items()):
            yield int(grid.lengths[length]), grid.depths[depth], figure


def as_frame(side: SideBySide) -> pl.DataFrame:
    """A line for each figure of each run, then for each difference. `group`: all, lengths, length or cell."""
    import polars as pl

    whole, points = pl.Int64(), pl.Float64()
    schema = {
        "kind": pl.String(), "run": pl.String(), "minus": pl.String(), "group": pl.String(), "length": whole,
        "depth_percent": points, "rows": whole, "n": whole, "unanswered": whole, "mean": points, "low": points,
        "high": points, "method": pl.String(), "low_these": points, "high_these": points,
        "p": points, "adjusted": points, "noise": pl.Boolean(), "best": pl.Boolean(),
    }  # fmt: skip
    lines: list[tuple[Any, ...]] = []
    for place, line in enumerate(side.lines):
        listed: list[tuple[int | str | None, str, int | None, float | None, Figure]] = [
            ("rows", "all", None, None, line.of_rows),
            ("lengths", "lengths", None, None, line.of_lengths),
            *((at, "length", side.lengths[at], None, figure) for at, figure in enumerate(line.lengths)),
            *((None, "cell", length, depth, figure) for length, depth, figure in _cells(side, place)),
        ]
        for column, group, length, depth, figure in listed:
            best = None if column is None else side.best.get(column) == place
            lines.append(("score", line.name, None, group, length, depth, *figure, None, None, None, best))
    for pair in side.comparison.pairs:
        parts = [("all", pair.overall), ("lengths", pair.of_lengths)]
        parts += [("length", of_length) for of_length in pair.lengths] + [("cell", cell) for cell in pair.cells]
        for group, d in parts:
            lines.append(
                ("difference", pair.second, pair.first, group, d.length, d.depth_percent, d.rows, d.n, None, d.mean,
                 d.low, d.high, d.test, d.low_these, d.high_these, d.p, d.adjusted, d.noise, None)
            )  # fmt: skip
    return pl.DataFrame(lines, schema=schema, orient="row")


def write_comparison(side: SideBySide, folder: Path, *, palette: str = "conventional", overwrite: bool = False) -> Path:
    """Write comparison.md, .tex, .json and .csv, and heatmaps: the runs side by side, and each run minus the first.

    `palette`: the name of that of the runs' heatmaps; differences have their own, which colour-blind people can read.
    Raises ScoreError for an unknown palette and if the folder already holds a comparison, LockedError if another
    process is writing there, ResourceError if it cannot be written to; earlier files are then left as they were.
    """
    fill = partial(_write_all, side, palette=find_palette(palette))
    with hold(folder, "a comparison", _ours, head="comparison.json", overwrite=overwrite) as replace:
        return replace(fill)


def _ours(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir() if _OURS.fullmatch(path.name) and not path.is_dir())


def _write_all(side: SideBySide, folder: Path, palette: Palette) -> None:
    pictures = []
    if side.grids:
        draw(side.grids, folder / "heatmaps.png", folder / "heatmaps.svg", palette=palette)
        pictures = ["heatmaps.png"]
    for number, grid in enumerate(side.differences, 1):
        draw([grid], folder / f"difference-{number}.png", folder / f"difference-{number}.svg")
        pictures.append(f"difference-{number}.png")
    markdown = lines_of(side, "markdown") + [part for name in pictures for part in ("", f"![{name}]({name})")]
    for name, lines in (("comparison.md", markdown), ("comparison.tex", lines_of(side, "latex"))):
        (folder / name).write_text("\n".join(lines) + "\n", "utf-8")
    text = json.dumps(as_dict(side), ensure_ascii=False, indent=2, allow_nan=False)
    (folder / "comparison.json").write_text(text + "\n", "utf-8")
    write_csv(as_frame(side), folder / "comparison.csv")
