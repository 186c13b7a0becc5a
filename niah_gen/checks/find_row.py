"""Finds a row of a dataset by its id, number or coordinates, reading the prompts of its row group alone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from niah_gen.dataset.read import columns_in, row_at
from niah_gen.errors import NiahError, suggestion
from niah_score.contract import MANIFEST, Dataset, open_dataset

# The columns that rows are chosen by, under the names that users give them, from coarse to fine.
COORDINATES = {
    "part": "part", "language": "language", "corpus": "corpus", "length": "length", "needle": "needle_id",
    "control": "control", "repeat": "repeat", "depth": "depth_percent",
}  # fmt: skip
# How users ask for a column without a value, such as `control` in a row that is not a control.
NONE = "none"
_MOST_VALUES = 120
_MOST_HINTS = 12


class FoundRow(NamedTuple):
    """A row, its number from 1 in manifest order, and how many rows there are.

    `others`: a sentence saying how many other rows match and how they differ; None if there are none.
    """

    row: Mapping[str, Any]
    number: int
    of: int
    others: str | None = None


class _Candidate(NamedTuple):
    """The number of a row, and its values by the names of COORDINATES."""

    number: int
    values: Mapping[str, Any]


def row_by_id(folder: Path, asked: str) -> FoundRow:
    """The row with this id, or the only row whose id begins or ends with it.

    Raises NiahError if no row or several match, ContractError if the folder is not a dataset, IntegrityError if its
    files cannot be read.
    """
    dataset = open_dataset(folder)
    partly: list[tuple[int, str]] = []
    for number, row in enumerate(_rows(dataset, ["id"]), 1):
        name = str(row["id"])
        if name == asked:
            return _row_at(dataset, number)
        if name.startswith(asked) or name.endswith(asked):
            partly.append((number, name))
    if len(partly) == 1:
        return _row_at(dataset, partly[0][0])
    by_number = f"; for a row by its number: --row {asked}" if asked.isdecimal() else ""
    if partly:
        some = ", ".join(name for _, name in partly[:3])
        raise NiahError(
            f"{folder}: {len(partly)} ids begin or end with {asked!r}, such as {some}; give more of the id{by_number}"
        )
    raise NiahError(
        f"{folder}: no row {asked!r} among {dataset.manifest.rows}; ids are in the column `id`, and the beginning or "
        f"end of one is enough{by_number}"
    )


def row_by_number(folder: Path, number: int) -> FoundRow:
    """The row with this number, counted from 1 in manifest order. Raises as `row_by_id` does."""
    dataset = open_dataset(folder)
    rows = sum(file.rows for file in dataset.files())
    if not 1 <= number <= rows:
        raise NiahError(f"{folder}: no row {number}; rows are numbered 1 to {rows}" if rows else f"{folder}: no rows")
    return _row_at(dataset, number)


def row_by_coordinates(folder: Path, asked: Mapping[str, Any]) -> FoundRow:
    """The first row with the given coordinates, by the names of COORDINATES; `none` as part or control: without one.

    Depths must match to six digits; the nearest one is never guessed. Raises as `row_by_id` does, listing the values
    that exist.
    """
    dataset = open_dataset(folder)
    rows = _rows(dataset, list(COORDINATES.values()))
    cells = [
        _Candidate(number, {name: plain(row[column]) for name, column in COORDINATES.items()})
        for number, row in enumerate(rows, 1)
    ]
    if not cells:
        raise NiahError(f"{folder}: no rows")
    so_far: list[str] = []
    for name in COORDINATES:
        if asked.get(name) is None:
            continue
        kept = [cell for cell in cells if fits(cell.values[name], asked[name])]
        if not kept:
            among = f"the rows with {' '.join(so_far)} have" if so_far else "there are"
            known = _values(cells, name)
            near = suggestion(asked[name], known) if isinstance(asked[name], str) else ""
            raise NiahError(
                f"{folder}: no row with --{name} {spelled(asked[name])}; {among} {_listed(known, _MOST_VALUES)}"
                + (near if "mean" in near else "")
            )
        cells = kept
        so_far.append(f"--{name} {spelled(asked[name])}")
    return _row_at(dataset, cells[0].number)._replace(others=_others(cells))


def _rows(dataset: Dataset, columns: Sequence[str]) -> Iterator[Mapping[str, Any]]:
    for file in dataset.files():
        yield from columns_in(file.path, columns)


def _row_at(dataset: Dataset, number: int) -> FoundRow:
    """The row with an existing number."""
    files = dataset.files()
    rows = sum(file.rows for file in files)
    before = 0
    for file in files:
        if number <= before + file.rows:
            return FoundRow(row_at(file.path, number - before), number, rows)
        before += file.rows
    raise NiahError(f"{dataset.folder}: holds more rows than the {rows} in {MANIFEST}; verify it, and build it again")


def plain(value: Any) -> Any:
    """A coordinate that can be compared: text, a number or None."""
    return value if value is None or isinstance(value, str | int | float) else str(value)


def fits(value: Any, asked: Any) -> bool:
    """Whether a coordinate is the one asked for. 33.3333 matches a depth of 33.333333333333336."""
    if value is None:
        return bool(asked == NONE)
    if isinstance(asked, float) and isinstance(value, int | float):
        return value == asked or f"{value:g}" == f"{asked:g}"
    return bool(value == asked)


def spelled(value: Any) -> str:
    """A coordinate as a user would write it."""
    if value is None:
        return NONE
    return f"{value:g}" if isinstance(value, float) else str(value)


def _values(cells: Sequence[_Candidate], name: str) -> list[str]:
    """The values of a coordinate, each once: numbers ascending, names in row order."""
    values = list(dict.fromkeys(cell.values[name] for cell in cells))
    if all(isinstance(value, int | float) for value in values):
        values.sort()
    return list(dict.fromkeys(map(spelled, values)))


def _listed(names: Sequence[str], most: int) -> str:
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")


def _others(cells: Sequence[_Candidate]) -> str | None:
    """How many rows match besides the first, and which coordinates tell them apart."""
    if len(cells) == 1:
        return None
    values = {name: _values(cells, name) for name in COORDINATES}
    apart = [f"--{name} ({_listed(known, _MOST_HINTS)})" for name, known in values.items() if len(known) > 1]
    numbers = _listed([str(cell.number) for cell in cells[1:]], _MOST_HINTS)
    others = "1 other row matches" if len(cells) == 2 else f"{len(cells) - 1} other rows match"
    differing = f", told apart by {', '.join(apart)}" if apart else ""
    return f"{others}{differing}; by number: --row ({numbers})"
