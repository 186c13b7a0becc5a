"""Counts what every cell of a dataset holds, without reading prompts.

Rows are counted by combination of coordinates; the page adds up those that a reader chooses.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from niah_gen.dataset.read import columns_in
from niah_gen.errors import IntegrityError
from niah_score.contract import RECIPE, Dataset, parse_toml
from niah_score.html.axes import Axis, axis_of

# The coordinates that the page has a filter for.
FILTERS = ("part", "control", "language", "corpus", "needle_id")
# The most combinations of coordinates to embed; each is a line of numbers.
MOST_COMBINATIONS = 40_000
_LONGEST_NAME = 200
_READ = (
    "id", *FILTERS, "length", "depth_percent", "prompt_tokens", "haystack_passes", "needle_depths", "needles", "decoys",
    "leak", "task", "placement", "template", "boundary", "metric",
)  # fmt: skip
# The columns of which the page lists all values, for the whole dataset.
ABOUT = ("task", "placement", "template", "boundary", "metric")
_MOST_VALUES = 20


class SeenRow(NamedTuple):
    """A row: the number of its file, its number there from 1, its id, tokens, and the number of its combination."""

    file: int
    number: int
    id: str
    tokens: int | None
    combination: int


class GridFigures(NamedTuple):
    """What the cells of a dataset hold.

    rows: all, in row order. lengths, depths: the axes of the grid. filters: the coordinates with several values, each a
    name and its values. left_out: coordinates that would make too many combinations. codes: for each combination the
    places of its length, its depth and its value of each filter. sums: columns with a number for each combination.
    about: the values of each column of ABOUT.
    """

    rows: list[SeenRow]
    lengths: Axis
    depths: Axis
    filters: list[tuple[str, list[str | None]]]
    left_out: list[str]
    codes: list[tuple[int, ...]]
    sums: dict[str, list[Any]]
    about: dict[str, list[str]]


class Reserves(NamedTuple):
    """Tokens that stay free for the answer: in all rows, and in the parts with their own number.

    Both are empty if the recipe does not say.
    """

    every: int | None
    parts: Mapping[str, int]

    def budget(self, row: Mapping[str, Any]) -> int | None:
        """The tokens that a row's prompt may have; a control may use the reserve."""
        reserve = self.parts.get(row["part"], self.every) if isinstance(row["part"], str) else self.every
        length = whole(row["length"])
        if reserve is None or length is None:
            return None
        return length - reserve if row["control"] is None else length


def reserves_of(folder: Path) -> Reserves:
    """What the recipe in a dataset folder reserves; a folder made by hand may have none."""
    try:
        recipe = parse_toml((folder / RECIPE).read_text("utf-8"))
    except (OSError, ValueError, RecursionError):
        return Reserves(None, {})
    parts = recipe.get("parts", [])
    listed = [part for part in (parts if isinstance(parts, list) else []) if isinstance(part, dict)]
    reserves = {part["name"]: whole(part.get("reserve")) for part in listed if isinstance(part.get("name"), str)}
    own = {name: tokens for name, tokens in reserves.items() if tokens is not None}
    return Reserves(whole(recipe.get("reserve")), own)


class _Sum:
    """The totals and extremes over the rows of one combination."""

    def __init__(self) -> None:
        self.rows = self.leaks = 0
        self.least: int | None = None
        self.most: int | None = None
        self.room: int | None = None
        self.passes: float | None = None
        self.off: float | None = None

    def add(self, row: Mapping[str, Any], budget: int | None) -> None:
        self.rows += 1
        self.leaks += row["leak"] is not None
        if (tokens := whole(row["prompt_tokens"])) is not None:
            self.least = tokens if self.least is None else min(self.least, tokens)
            self.most = tokens if self.most is None else max(self.most, tokens)
            if budget is not None:
                room = budget - tokens
                self.room = room if self.room is None else min(self.room, room)
        if (passes := number(row["haystack_passes"])) is not None:
            self.passes = passes if self.passes is None else max(self.passes, passes)
        if (off := _off(row)) is not None and (self.off is None or abs(off) > abs(self.off)):
            self.off = off


def figures_of(dataset: Dataset, reserves: Reserves, most: int = MOST_COMBINATIONS) -> GridFigures:
    """Count all rows of a dataset. Raises IntegrityError if files cannot be read or have a wrong number of rows."""
    keys: dict[tuple[Any, ...], int] = {}
    sums: list[_Sum] = []
    rows: list[SeenRow] = []
    about: dict[str, set[str]] = {name: set() for name in ABOUT}
    for row, file, at in _rows(dataset):
        key = (number(row["length"]), number(row["depth_percent"]), *(text(row[name]) for name in FILTERS))
        place = keys.setdefault(key, len(keys))
        if place == len(sums):
            sums.append(_Sum())
        sums[place].add(row, reserves.budget(row))
        rows.append(SeenRow(file, at, text(row["id"]) or "", whole(row["prompt_tokens"]), place))
        for name, values in about.items():
            value = text(row[name])
            if value is not None and len(values) < _MOST_VALUES:
                values.add(value)
    return _laid_out(rows, list(keys), sums, {name: sorted(values) for name, values in about.items()}, most)


def _rows(dataset: Dataset) -> Iterator[tuple[Mapping[str, Any], int, int]]:
    for place, file in enumerate(dataset.files()):
        at = 0
        for at, row in enumerate(columns_in(file.path, _READ), 1):
            yield row, place, at
        if at != file.rows:
            raise IntegrityError(
                f"{file.path}: {at} rows, the manifest says {file.rows}; verify the dataset, and build it again"
            )


def _laid_out(
    rows: list[SeenRow], keys: Sequence[tuple[Any, ...]], sums: Sequence[_Sum], about: dict[str, list[str]], most: int
) -> GridFigures:
    """Figures by places on the axes and codes of filters; filters that make too many combinations are dropped."""
    values = [sorted({key[at] for key in keys}, key=_null_last) for at in range(2 + len(FILTERS))]
    axes = [axis_of(of) for of in values[:2]]
    code = [{value: place for place, value in enumerate(of)} for of in values]
    kept = [at for at in range(2, len(values)) if len(values[at]) > 1]
    left_out: list[str] = []

    def codes(key: tuple[Any, ...]) -> tuple[int, ...]:
        places = (axis.places[code[at][key[at]]] for at, axis in enumerate(axes))
        return (*places, *(code[at][key[at]] for at in kept))

    while kept and len({codes(key) for key in keys}) > most:
        # Readers choose parts and controls first; needles have the most values.
        least = [at for at in kept if FILTERS[at - 2] not in ("part", "control")] or kept
        dropped = max(least, key=lambda at: len(values[at]))
        kept.remove(dropped)
        left_out.append(FILTERS[dropped - 2])
    combinations = [codes(key) for key in keys]
    order = {combination: place for place, combination in enumerate(sorted(set(combinations)))}
    places = [order[combination] for combination in combinations]
    return GridFigures(
        [row._replace(combination=places[row.combination]) for row in rows], axes[0], axes[1],
        [(FILTERS[at - 2], [None if value is None else short(value) for value in values[at]]) for at in kept],
        left_out, list(order), _columns(sums, places, len(order)), about,
    )  # fmt: skip


def _columns(sums: Sequence[_Sum], places: Sequence[int], size: int) -> dict[str, list[Any]]:
    """The sums as columns, with those of combinations that became one put together."""
    together: list[list[_Sum]] = [[] for _ in range(size)]
    for one, place in zip(sums, places, strict=True):
        together[place].append(one)

    def column(name: str, how: Callable[[list[Any]], Any]) -> list[Any]:
        return [how([value for one in of if (value := getattr(one, name)) is not None]) for of in together]

    return {
        "rows": column("rows", sum),
        "least": column("least", lambda values: min(values, default=None)),
        "most": column("most", lambda values: max(values, default=None)),
        "room": column("room", lambda values: min(values, default=None)),
        "passes": column("passes", lambda values: round(max(values), 3) if values else None),
        "off": column("off", _farthest),
        "leaks": column("leaks", sum),
    }


def _farthest(points: list[float]) -> float | None:
    if not points:
        return None
    farthest: float = max(points, key=abs)
    return round(farthest, 3)


def _off(row: Mapping[str, Any]) -> float | None:
    """Obtained minus requested depth of the first needle, in points; None if there are only near misses."""
    depths, asked = row["needle_depths"], number(row["depth_percent"])
    needles, decoys = row["needles"], row["decoys"]
    if not isinstance(depths, list) or not depths or asked is None:
        return None
    if isinstance(needles, list) and isinstance(decoys, list) and decoys and len(decoys) == len(needles):
        return None
    obtained = number(depths[0])
    return None if obtained is None else obtained - asked


def _null_last(value: Any) -> tuple[bool, Any]:
    return (value is None, "" if value is None else value)


def short(text: str, most: int = _LONGEST_NAME) -> str:
    """A name, cut to a length that a page can show."""
    return text if len(text) <= most else f"{text[:most]}…"


def text(value: Any) -> str | None:
    """The value if it is a text, else None: files changed by hand may hold anything."""
    return value if isinstance(value, str) else None


def whole(value: Any) -> int | None:
    """The value if it is a whole number, else None."""
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def number(value: Any) -> float | None:
    """The value if it is a finite number, else None."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    return value if is_number else None
