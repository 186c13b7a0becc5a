"""Lays out the grid of a part: which needles have rows at which lengths and depths, and which controls."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby, product

import numpy as np

from niah_gen.recipe.recipe import Part
from niah_gen.tasks.base import NO_CONTEXT, Task, item_ids
from niah_gen.tasks.records import Cell, Coordinates, GridAxes, Settings

# The depths of each needle at each length.
Places = Mapping[tuple[str, int], Sequence[float]]


@dataclass(frozen=True)
class Grid:
    """The coordinates of a part. `rows`: those of each language, without controls, in the order of each length.

    `listed`: whether the family listed them, else they are a product of axes.
    """

    part: Part
    rows: Mapping[str, Sequence[Coordinates]]
    listed: bool = False

    @cached_property
    def lengths(self) -> tuple[int, ...]:
        """The lengths of rows, in tokens, ascending; 0 for rows without one."""
        return tuple(sorted({row.length for rows in self.rows.values() for row in rows})) or self.part.lengths

    @cached_property
    def depths(self) -> tuple[float | None, ...]:
        """The depths of rows, in percent, ascending; None, for rows without one, comes first."""
        depths = {row.depth for rows in self.rows.values() for row in rows} or set(self.part.placed_depths())
        return tuple(sorted(depths, key=lambda depth: -1.0 if depth is None else depth))

    @cached_property
    def _first(self) -> Mapping[tuple[str, str], Coordinates]:
        """The first row of each item, by language and item: it alone asks the question without a context."""
        return {(language, row.needle): row for language, rows in self.rows.items() for row in reversed(rows)}

    @cached_property
    def _control_depths(self) -> frozenset[float]:
        """The depths nearest to those asked for, the shallower of two equally near."""
        placed = np.array(self.part.placed_depths())
        return frozenset(float(placed[np.abs(placed - wanted).argmin()]) for wanted in self.part.control_depths)

    def cells(self, language: str, length: int, corpora: Sequence[str]) -> Iterator[Cell]:
        """The cells of a length, in row order: rows that share a haystack side by side, a control's after them."""
        rows = [row for row in self.rows[language] if row.length == length]
        groups = [
            list(group) for _, group in groupby(rows, lambda row: row if self.listed else row._replace(depth=0.0))
        ]
        for corpus, group, control in product(corpora, groups, (None, *self.part.controls)):
            for row in group:
                if self._asks(language, row, control):
                    yield Cell(language, corpus, *row[:4], control, self.part.name, row.question)

    def _asks(self, language: str, row: Coordinates, control: str | None) -> bool:
        """Whether a row has a twin for a control; the row itself is asked for anyway."""
        if control == NO_CONTEXT:
            return self._first[language, row.needle] == row
        everywhere = control is None or self.listed or not self.part.control_depths
        return everywhere or row.depth in self._control_depths


def grid_of(part: Part, task: Task, settings: Settings, languages: Sequence[str]) -> Grid:
    """The coordinates that a part asks for in some languages. Raises RecipeError if the family's ids are invalid."""
    ids = {language: item_ids(task, settings, language) for language in languages}
    if task.coordinates is None:
        return Grid(part, {language: product_of(part, own) for language, own in ids.items()})
    axes = GridAxes(part.lengths, part.placed_depths(), part.repeats)
    listed = {code: list(task.coordinates(settings, axes, code)) if own else [] for code, own in ids.items()}
    return Grid(part, listed, listed=True)


def product_of(part: Part, needles: Sequence[str]) -> list[Coordinates]:
    """The rows of a part that has a language's needles at each length and depth."""
    depths = places(part, needles)
    return [
        Coordinates(length, needle, repeat, depth)
        for length, needle, repeat in product(part.lengths, needles, range(part.repeats))
        for depth in depths[needle, length]
    ]


def places(part: Part, needles: Sequence[str]) -> Places:
    """The depths of each of a language's needles at each length: all, unless `needles_per_cell` asks for fewer.

    Then the design is cyclic. Lengths are cut into bands of needles / needles_per_cell, and at each depth of a band
    every needle has one length. From each depth to the next it moves on, so that over all depths it has each length of
    a band about equally often, with other needles beside it. If the numbers do not divide evenly, or the last band is
    not full, some needles are left out of some depths.
    """
    each, depths = part.needles_per_cell, part.placed_depths()
    if not 0 < each < len(needles):
        return {(needle, length): depths for needle in needles for length in part.lengths}
    band = math.ceil(len(needles) / each)
    slots = band * each
    # If there are fewer lengths than a band has, the next depth takes needles that had no place at this one.
    least = each if band <= len(part.lengths) else each * len(part.lengths)
    steps = [step for step in range(least, least + slots) if math.gcd(step, slots) == 1]
    step = next((step for step in steps if step % slots != 1), steps[0])
    order = list(needles)
    random.Random(f"{part.own_seed}/places").shuffle(order)
    chosen: dict[tuple[str, int], list[float]] = {(needle, length): [] for needle in needles for length in part.lengths}
    for row, depth in enumerate(depths):
        for place, length in enumerate(part.lengths):
            number, within = divmod(place, band)
            for slot in range(within * each, (within + 1) * each):
                at = (slot - row * step - number * (each + 1)) % slots
                if at < len(order):
                    chosen[order[at], length].append(depth)
    return chosen
