"""Reads other systems' results as grids: OpenCompass summary CSVs here, results cell by cell in `cell_results`.

An OpenCompass summary has the columns dataset, version, metric, mode and one for each model. Lines whose dataset is
named like Length1000Depth50_origin_zh_8k belong to a cell; others (totals, other benchmarks) are skipped. A cell is the
mean of its lines, as in OpenCompass's plots; an empty field or a dash is a cell without an answer.
"""

from __future__ import annotations

import csv
import io
import math
import re
from pathlib import Path

from niah_score.errors import ScoreError
from niah_score.report.charts.cell_results import LONGEST, read_cells, text_of
from niah_score.report.charts.grid import Grid
from niah_score.report.charts.labels import TABLE
from niah_score.statistics.figures import Figure
from niah_score.text.visible import from_plain_cell

_HEAD = ["dataset", "version", "metric", "mode"]
_CELL = re.compile(r"Length(\d+)Depth(\d+(?:\.\d+)?)(?=_|$)")


def read_foreign(path: Path, metric: str | None = None) -> list[Grid]:
    """The grids of a summary, in the order of its columns, or of cell results, sorted by name: one for each model.

    `metric`: which one, if results have several. Raises ScoreError, with file and line, for any other file.
    """
    if not path.exists():
        raise ScoreError(f"{path}: no such file or folder")
    if path.is_file() and path.suffix.lower() == ".csv":
        return _opencompass(path, metric)
    if path.is_dir() or path.suffix.lower() in (".json", ".jsonl"):
        return read_cells(path, metric)
    raise ScoreError(
        f"{path}: expected an OpenCompass summary (.csv), results of gkamradt's test, of needlehaystack 2 or of a "
        "LangSmith experiment (.json, .jsonl, or a folder of them), or a folder that niah-score score wrote"
    )


def _opencompass(path: Path, metric: str | None) -> list[Grid]:
    lines = csv.reader(io.StringIO(text_of(path), newline=""), strict=True)
    try:
        head = [name.strip() for name in next(lines, [])]
        if head[:4] != _HEAD or len(head) < 5:
            raise ScoreError(
                f"{path}:1: expected the columns dataset, version, metric, mode and one for each model; "
                f"found {', '.join(head) or 'nothing'}"
            )
        models = [from_plain_cell(name) for name in head[4:]]
        if len(set(models)) < len(models):
            again = next(name for name in models if models.count(name) > 1)
            raise ScoreError(f"{path}:1: two columns are named {again!r}; expected one column for each model")
        cells: dict[str, dict[tuple[int, float], list[list[float | None]]]] = {}
        for line in lines:
            place = f"{path}:{lines.line_num}"
            cell = _CELL.search(line[0]) if line else None
            if cell is None:
                continue
            if len(line) != len(head):
                raise ScoreError(f"{place}: {len(line)} fields, expected {len(head)} as in the first line")
            # As a float, because int refuses very long numbers.
            length, depth = float(cell[1]), float(cell[2])
            if not 0 < length <= LONGEST or depth > 100:
                raise ScoreError(
                    f"{place}: dataset: {line[0][:80]!r} is not a length in tokens and a depth of 0 to 100 percent"
                )
            values = [_value(field, f"{place}: {model}") for field, model in zip(line[4:], models, strict=True)]
            cells.setdefault(line[2], {}).setdefault((int(length), depth), []).append(values)
    except csv.Error as error:
        raise ScoreError(f"{path}:{lines.line_num}: is not CSV ({error})") from None
    if not cells:
        raise ScoreError(f"{path}: no line's dataset is named like Length1000Depth50_origin_zh_8k; nothing to draw")
    if metric is None and len(cells) > 1:
        raise ScoreError(f"{path}: has several metrics ({', '.join(sorted(cells))}); choose one with --metric")
    chosen = metric or next(iter(cells))
    if chosen not in cells:
        raise ScoreError(f"{path}: has no metric {chosen!r}; it has {', '.join(sorted(cells))}")
    return [_of_table(path, model, chosen, cells[chosen], at) for at, model in enumerate(models)]


def _value(field: str, place: str) -> float | None:
    if field.strip() in ("", "-"):
        return None
    try:
        value = float(field)
    except ValueError:
        value = math.nan
    if not 0 <= value <= 100:
        raise ScoreError(f"{place}: {field!r} is not a score of 0 to 100; leave the field empty if there is none")
    return value


def _of_table(
    path: Path, model: str, metric: str, lines: dict[tuple[int, float], list[list[float | None]]], column: int
) -> Grid:
    lengths = sorted({length for length, _ in lines})
    depths = sorted({depth for _, depth in lines})
    cells = {
        (lengths.index(length), depths.index(depth)): _mean([values[column] for values in of_cell])
        for (length, depth), of_cell in lines.items()
    }
    means = []
    for at in range(len(lengths)):
        mean = _mean([cell.mean for (place, _), cell in cells.items() if place == at])
        means.append(None if mean.mean is None else mean)
    overall = _mean([mean.mean for mean in means if mean is not None])
    return Grid(
        model, path.name, metric, tuple(lengths), tuple(depths), cells, tuple(means),
        None if overall.mean is None else overall,
    )  # fmt: skip


def _mean(values: list[float | None]) -> Figure:
    """The figure of means that a table gives without numbers of rows or intervals."""
    known = [value for value in values if value is not None]
    mean = math.fsum(known) / len(known) if known else None
    return Figure(len(values), len(known), len(values) - len(known), mean, None, None, TABLE)
