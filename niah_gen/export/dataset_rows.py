"""Reads the rows of a dataset for an export: first what they are chosen by, then the chosen ones in any order.

Prompts are never all in memory: rows in file order are read a row group at a time; for any other order they are first
copied to a temporary file, once.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import orjson

from niah_gen.checks.find_row import COORDINATES, plain
from niah_gen.dataset.read import columns_in, read_row_group, row_groups_of
from niah_gen.errors import IntegrityError
from niah_gen.export.base import ExportRow, json_line, sound
from niah_score.contract import ROW_ID, DataFile, Dataset

ALWAYS = ("id", "prompt", "max_new_tokens")
_INDEXED = (
    "id", *COORDINATES.values(), "haystack_id", "haystack_tokens", "needle_depths", "prompt_tokens", "prompt_sha256",
)  # fmt: skip


class IndexedRow(NamedTuple):
    """Where a row is, its file and its number there from 1, and what it is chosen and ordered by.

    All rows of a dataset are in memory, so a row is one flat record. From `part` to `depth`: the COORDINATES.
    undisturbed: how much of the haystack comes before the first needle, in percent.
    """

    file: int
    number: int
    id: str
    part: str | None
    language: str | None
    corpus: str | None
    length: int | None
    needle: str | None
    control: str | None
    repeat: int | None
    depth: float | None
    haystack_id: str | None
    haystack_tokens: int
    undisturbed: float
    prompt_tokens: int
    prompt_sha256: str


def indexed(dataset: Dataset) -> list[IndexedRow]:
    """All rows in file order. Of Parquet files no prompt is read.

    Raises IntegrityError for a file with more or fewer rows than the manifest says, and for an id that batch services
    would refuse or that appears twice.
    """
    rows: list[IndexedRow] = []
    seen: set[str] = set()
    for place, file in enumerate(dataset.files()):
        number = 0
        for number, row in enumerate(columns_in(file.path, _INDEXED), 1):
            name = row["id"]
            if not isinstance(name, str) or not ROW_ID.fullmatch(name):
                raise _broken(file, f"row {number}: id is {name!r}, expected 1 to 64 letters, digits, _ and -")
            if name in seen:
                raise _broken(file, f"row {number}: id {name} appears twice")
            seen.add(name)
            rows.append(
                IndexedRow(
                    place,
                    number,
                    name,
                    **{coordinate: _once(plain(row[column])) for coordinate, column in COORDINATES.items()},
                    haystack_id=_once(row["haystack_id"]),
                    haystack_tokens=row["haystack_tokens"] or 0,
                    undisturbed=_first_depth(row["needle_depths"]),
                    prompt_tokens=row["prompt_tokens"] or 0,
                    prompt_sha256=str(row["prompt_sha256"]),
                )
            )
        if number != file.rows:
            raise _broken(file, f"{number} rows, the manifest says {file.rows}")
    return rows


def _once(value: Any) -> Any:
    """The same object for equal texts, as many rows share them."""
    return sys.intern(value) if type(value) is str else value


def _first_depth(depths: Any) -> float:
    """The smallest depth of a row's needles, in percent; 100 without needles."""
    listed = depths if isinstance(depths, list) else []
    return min((depth for depth in listed if isinstance(depth, int | float)), default=100.0)


def _broken(file: DataFile, problem: str) -> IntegrityError:
    return IntegrityError(f"{file.path}: {problem}; verify the dataset, and build it again")


def rows_in_order(
    dataset: Dataset, chosen: Sequence[IndexedRow], columns: Sequence[str], scratch: Path
) -> Iterator[ExportRow]:
    """The chosen rows in the order given, with ALWAYS and `columns`. Raises IntegrityError for a row that is not sound.

    scratch: a folder with room for the prompts, needed if the order is not that of the files.
    """
    places = [(row.file, row.number) for row in chosen]
    wanted = tuple(dict.fromkeys((*ALWAYS, *columns)))
    in_file_order = _read(dataset, places, wanted)
    if all(one < other for one, other in pairwise(places)):
        for _, row in in_file_order:
            yield row
        return
    spans: dict[tuple[int, int], tuple[int, int]] = {}
    # It has no name, so nothing remains of it however the process ends.
    with tempfile.TemporaryFile(dir=scratch) as file:
        at = 0
        for place, row in in_file_order:
            line = json_line(row, row)
            file.write(line)
            spans[place] = (at, len(line))
            at += len(line)
        for place in places:
            start, length = spans[place]
            file.seek(start)
            yield orjson.loads(file.read(length))


def _read(
    dataset: Dataset, places: Sequence[tuple[int, int]], columns: Sequence[str]
) -> Iterator[tuple[tuple[int, int], ExportRow]]:
    """The rows at some places, in file order, each with its place. Row groups without any of them are not read."""
    wanted: dict[int, set[int]] = {}
    for place, number in places:
        wanted.setdefault(place, set()).add(number)
    for place, file in enumerate(dataset.files()):
        numbers = wanted.get(place)
        if not numbers:
            continue
        groups = row_groups_of(dataset.folder, file.entry.path)
        ends = [*(group.before for group in groups[1:]), file.rows]
        for group, end in zip(groups, ends, strict=True):
            if not any(group.before < number <= end for number in numbers):
                continue
            for read in read_row_group(dataset.folder, group, columns):
                if read.number not in numbers:
                    continue
                if not isinstance(read.value, dict):
                    raise _broken(file, f"row {read.number}: {read.problem or 'not an object'}")
                row = {name: read.value.get(name) for name in columns}
                yield (place, read.number), sound(row, file.path)
