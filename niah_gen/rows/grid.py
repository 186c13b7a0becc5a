"""Lays out the grid of a part: which needles have rows at which lengths and depths, and which controls."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from niah_gen.recipe.recipe import Part
from niah_gen.tasks.base import NO_CONTEXT, Task, item_ids
from niah_gen.tasks.records import Cell, Coordinates, GridAxes, Settings

# The depths of each needle at each length.
Places = Mapping[tuple[str, int], Sequence[float]]


@dataclass(frozen=True)
class Grid:
    """The coordinates of a part. `needles`: the ids of the items of each language, in order.

    `listed`: the rows of each language in order, if the family lists them; None for a product of axes.
    """

    part: Part
    needles: Mapping[str, Sequence[str]]
    listed: Mapping[str, tuple[Coordinates, ...]] | None = None

    @cached_property
    def lengths(self) -> tuple[int, ...]:
        """The lengths of rows, in tokens, ascending; 0 for rows without one."""
        if self.listed is None:
            return self.part.lengths
        return tuple(sorted({row.length for rows in self.listed.values() for row in rows}))

    @cached_property
    def depths(self) -> tuple[float | None, ...]:
        """The depths of rows, in percent, ascending; None, for rows without one, comes first."""
        if self.listed is None:
            return self.part.placed_depths()
        depths = {row.depth for rows in self.listed.values() for row in rows}
        return tuple(sorted(depths, key=lambda depth: -1.0 if depth is None else depth))

    @cached_property
    def repeats(self) -> int:
        """The most repeats that a row has."""
        if self.listed is None:
            return self.part.repeats
        return max((row.repeat + 1 for rows in self.listed.values() for row in rows), default=0)

    @cached_property
    def _first(self) -> Mapping[tuple[str, str], Coordinates]:
        """The first listed row of each item, by language and item: it alone asks the question without a context."""
        first: dict[tuple[str, str], Coordinates] = {}
        for language, rows in (self.listed or {}).items():
            for row in rows:
                first.setdefault((language, row.needle), row)
        return first

    @cached_property
    def _places(self) -> Mapping[str, Places]:
        return {language: places(self.part, ids) for language, ids in self.needles.items()}

    @cached_property
    def _control_depths(self) -> frozenset[float]:
        """The depths nearest to those asked for, the shallower of two equally near."""
        placed = np.array(self.part.placed_depths())
        return frozenset(float(placed[np.abs(placed - wanted).argmin()]) for wanted in self.part.control_depths)

    def cells(self, language: str, length: int, corpora: Sequence[str]) -> Iterator[Cell]:
        """The cells of a length, in row order: rows that share a haystack side by side, a control's after them."""
        if self.listed is not None:
            rows = [row for row in self.listed[language] if row.length == length]
            for corpus in corpora:
                for row in rows:
                    for control in (None, *self.part.controls):
                        if control != NO_CONTEXT or self._first[language, row.needle] == row:
                            yield Cell(
                                language, corpus, length, row.needle, row.repeat, row.depth, control, self.part.name
                            )
            return
        for corpus in corpora:
            for needle in self.needles[language]:
                for repeat in range(self.part.repeats):
                    for control in (None, *self.part.controls):
                        for depth in self._depths(language, length, needle, repeat, control):
                            yield Cell(language, corpus, length, needle, repeat, depth, control, self.part.name)

    def _depths(self, language: str, length: int, needle: str, repeat: int, control: str | None) -> Sequence[float]:
        depths_at = self._places[language]
        depths = depths_at[needle, length]
        if control is None:
            return depths
        if control == NO_CONTEXT:  # a question without a context is asked once
            first = next((known for known in self.part.lengths if depths_at[needle, known]), None)
            return depths[:1] if length == first and repeat == 0 else ()
        return [depth for depth in depths if not self.part.control_depths or depth in self._control_depths]


def grid_of(part: Part, task: Task, settings: Settings, languages: Sequence[str]) -> Grid:
    """The coordinates that a part asks for in some languages. Raises RecipeError if the family's ids are invalid."""
    ids = {language: item_ids(task, settings, language) for language in languages}
    if task.coordinates is None:
        return Grid(part, ids)
    axes = GridAxes(part.lengths, part.placed_depths(), part.repeats)
    listed = {
        language: tuple(task.coordinates(settings, axes, language)) if ids[language] else () for language in languages
    }
    needles = {language: tuple(dict.fromkeys(row.needle for row in rows)) for language, rows in listed.items()}
    return Grid(part, needles, listed)


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
