"""Reads the rows of a dataset for an export: first what they are chosen by, then the chosen ones in any order.

Prompts are never all in memory: rows in file order are read a row group at a time; for any other order they are first
copied to a temporary file, once.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
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
_ORDERED_BY = ("haystack_id", "haystack_tokens", "needle_depths", "prompt_tokens", "prompt_sha256")
_INDEXED = ("id", *COORDINATES.values(), *_ORDERED_BY)


class IndexedRow(NamedTuple):
    """Where a row is, its file and its number there from 1, and what it is chosen and ordered by.

    values: by the names of COORDINATES. columns: haystack_id, haystack_tokens, needle_depths, prompt_tokens,
    prompt_sha256, as they were read.
    """

    file: int
    number: int
    id: str
    values: Mapping[str, Any]
    columns: Mapping[str, Any]


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
            # All rows stay in memory, so no column is held twice, nor a text that many rows share.
            values = {coordinate: _once(plain(row[column])) for coordinate, column in COORDINATES.items()}
            columns = {column: _once(row[column]) for column in _ORDERED_BY}
            rows.append(IndexedRow(place, number, name, values, columns))
        if number != file.rows:
            raise _broken(file, f"{number} rows, the manifest says {file.rows}")
    return rows


def _once(value: Any) -> Any:
    return sys.intern(value) if type(value) is str else value


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
