"""Reads other systems' results as grids: OpenCompass summary CSVs, and result files of gkamradt's test.

An OpenCompass summary has the columns dataset, version, metric, mode and one for each model; a line whose dataset is
named like Length1000Depth50_origin_zh_8k is a cell, others (totals, other benchmarks) are none. A cell is the mean of
its lines, as in the plots of OpenCompass; an empty field or a dash is a cell without an answer.

gkamradt's test writes a JSON object a file, with model, context_length, depth_percent and the judge's score of 1 to 10,
which is drawn times ten. The same objects as lines of one .jsonl file, or in a list, are read as well.
"""

from __future__ import annotations

import csv
import io
import json
import math
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from niah_score.errors import ScoreError
from niah_score.report.charts.grid import Grid, grid_of
from niah_score.report.charts.labels import TABLE
from niah_score.statistics.figures import Figure
from niah_score.text.spreadsheet import from_plain_cell

_HEAD = ["dataset", "version", "metric", "mode"]
_CELL = re.compile(r"Length(\d+)Depth(\d+(?:\.\d+)?)(?=_|$)")
_LONGEST = 10**9  # tokens
VERDICT = "verdict x 10"


def read_foreign(path: Path, metric: str | None = None) -> list[Grid]:
    """The grids of a summary or of results of gkamradt's test: one for each model, by name.

    `metric`: of a summary that has several. Raises ScoreError, with file and line, for what is neither.
    """
    if not path.exists():
        raise ScoreError(f"{path}: no such file or folder")
    if path.is_file() and path.suffix.lower() == ".csv":
        return _opencompass(path, metric)
    if metric not in (None, VERDICT):
        raise ScoreError(f"{path}: results of gkamradt's test have one score, the judge's; leave --metric out")
    if path.is_dir() or path.suffix.lower() in (".json", ".jsonl"):
        return _gkamradt(path)
    raise ScoreError(
        f"{path}: expected an OpenCompass summary (.csv), results of gkamradt's test (a folder of .json, or .jsonl), "
        "or a folder that niah-score score wrote"
    )


def _text(path: Path) -> str:
    try:
        return path.read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise ScoreError(f"{path}: cannot be read ({error.strerror})") from None
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        raise ScoreError(f"{path}:{line}: is not UTF-8; save it as UTF-8") from None


def _opencompass(path: Path, metric: str | None) -> list[Grid]:
    lines = csv.reader(io.StringIO(_text(path), newline=""), strict=True)
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
            raise ScoreError(f"{path}:1: two columns are named {again!r}; a model is one column")
        cells: dict[str, dict[tuple[int, float], list[list[float | None]]]] = {}
        for line in lines:
            place = f"{path}:{lines.line_num}"
            found = _CELL.search(line[0]) if line else None
            if found is None:
                continue
            if len(line) != len(head):
                raise ScoreError(f"{place}: {len(line)} fields, expected {len(head)} as in the first line")
            length, depth = int(found[1]), float(found[2])
            if not 0 < length <= _LONGEST or depth > 100:
                raise ScoreError(f"{place}: dataset: {line[0]!r} is no length in tokens and depth of 0 to 100 percent")
            values = [_value(field, f"{place}: {model}") for field, model in zip(line[4:], models, strict=True)]
            cells.setdefault(line[2], {}).setdefault((length, depth), []).append(values)
    except csv.Error as error:
        raise ScoreError(f"{path}:{lines.line_num}: is not CSV ({error})") from None
    if not cells:
        raise ScoreError(f"{path}: no line's dataset is named like Length1000Depth50_origin_zh_8k; nothing to draw")
    if metric is None and len(cells) > 1:
        raise ScoreError(f"{path}: has several metrics ({', '.join(sorted(cells))}); say which one with --metric")
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
        raise ScoreError(f"{place}: {field!r} is no score of 0 to 100; leave the field empty where there is none")
    return value


def _of_table(
    path: Path, model: str, metric: str, lines: dict[tuple[int, float], list[list[float | None]]], column: int
) -> Grid:
    lengths = sorted({length for length, _ in lines})
    depths = sorted({depth for _, depth in lines})
    cells = {
        (lengths.index(length), depths.index(depth)): _mean([line[column] for line in found])
        for (length, depth), found in lines.items()
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
    """A figure of means from a table, which has neither their numbers of rows nor their intervals."""
    known = [value for value in values if value is not None]
    mean = math.fsum(known) / len(known) if known else None
    return Figure(len(values), len(known), len(values) - len(known), mean, None, None, TABLE)


def _gkamradt(path: Path) -> list[Grid]:
    import polars as pl

    models: dict[str, list[tuple[int, float, float | None]]] = {}
    for place, record in _records(path):
        model, result = _result(place, record)
        models.setdefault(model, []).append(result)
    if not models:
        raise ScoreError(f"{path}: holds no result; expected JSON objects with context_length, depth_percent and score")
    grids = []
    for model, found in sorted(models.items()):
        # Numbered in an order of their own: intervals do not depend on the names of the files.
        ordered = sorted(found, key=lambda one: (one[0], one[1], -1.0 if one[2] is None else one[2]))
        none = pl.Series([None] * len(ordered), dtype=pl.String)
        frame = pl.DataFrame(
            {
                "id": [f"{number:09}" for number in range(len(ordered))],
                "length": pl.Series([one[0] for one in ordered], dtype=pl.Int64),
                "depth_percent": pl.Series([one[1] for one in ordered], dtype=pl.Float64),
                "language": none,
                "needle_id": none,
                "haystack_id": none,
                "status": ["missing" if one[2] is None else "ok" for one in ordered],
                VERDICT: pl.Series([one[2] for one in ordered], dtype=pl.Float64),
            }
        )
        grids.append(grid_of(frame, VERDICT, model=model, dataset=path.name))
    return grids


def _records(path: Path) -> Iterator[tuple[str, Any]]:
    """(where, JSON value) of every result; lists are taken apart."""
    files = sorted(path.glob("*.json")) if path.is_dir() else [path]
    for file in files:
        if file.suffix.lower() == ".jsonl":
            lines = _text(file).split("\n")
            for number, line in enumerate(lines, 1):
                if line.strip():
                    yield f"{file}:{number}", _parsed(f"{file}:{number}", line)
            continue
        found = _parsed(str(file), _text(file))
        if isinstance(found, list):
            yield from ((f"{file}: entry {number}", one) for number, one in enumerate(found, 1))
        else:
            yield str(file), found


def _parsed(place: str, text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ScoreError(f"{place}: is not JSON ({error})") from None


def _result(place: str, record: Any) -> tuple[str, tuple[int, float, float | None]]:
    """Model, and (tokens, percent, points) of one result; no points where the judge has not said."""
    if not isinstance(record, dict):
        raise ScoreError(f"{place}: expected an object with context_length, depth_percent and score")
    length = _number(place, record, "context_length", 1, _LONGEST, "tokens")
    if length != int(length):
        raise ScoreError(f"{place}: context_length: {length} is no whole number of tokens")
    depth = _number(place, record, "depth_percent", 0, 100, "percent")
    score = None if record.get("score") is None else _number(place, record, "score", 1, 10, "as the judge gives it")
    model = record.get("model", "model")
    if not isinstance(model, str):
        raise ScoreError(f"{place}: model: expected a text")
    return model, (int(length), depth, None if score is None else 10 * score)


def _number(place: str, record: dict[str, Any], name: str, low: float, high: float, unit: str) -> float:
    value = record.get(name)
    if isinstance(value, bool) or not isinstance(value, int | float) or not low <= value <= high:
        found = "is missing" if name not in record else f"is {str(value)[:40]!r}"
        raise ScoreError(f"{place}: {name}: {found}; expected a number of {low:g} to {high:g}, {unit}")
    return float(value)
