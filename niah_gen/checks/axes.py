"""Numbers the coordinates that a recipe asks for in row order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from niah_gen.corpora.declarations import LANGUAGES
from niah_gen.recipe.recipe import Recipe
from niah_gen.tasks.base import Task
from niah_gen.tasks.check_item import item_ids
from niah_gen.tasks.records import Cell, Settings
from niah_score.contract import Manifest


@dataclass(frozen=True)
class Axes:
    """The coordinates that a recipe asks for; rows are in the order of these fields, the last one changing fastest.

    needles: the ids of the items of each language, which may be others or stand in another order.
    """

    languages: tuple[str, ...]
    lengths: tuple[int, ...]
    corpora: tuple[str, ...]
    needles: Mapping[str, Sequence[str]]
    repeats: int
    controls: tuple[str | None, ...]
    depths: tuple[float, ...]

    @cached_property
    def _positions(self) -> Mapping[str, tuple[dict[object, int], ...]]:
        """Of each language: the number of every value on each axis."""
        return {
            language: tuple(
                {value: number for number, value in enumerate(axis)}
                for axis in (
                    self.languages, self.lengths, self.corpora, self.needles[language], range(self.repeats),
                    self.controls, self.depths,
                )
            )
            for language in self.languages
        }  # fmt: skip

    @cached_property
    def _sizes(self) -> tuple[int, ...]:
        """How many numbers each axis takes: as many as the language with the most values on it needs."""
        return tuple(max(map(len, axes)) for axes in zip(*self._positions.values(), strict=True))

    def rank(self, cell: Cell) -> int | None:
        """A number that grows in row order; None for coordinates that are not asked for."""
        rank = 0
        in_row_order = (
            cell.language, cell.length, cell.corpus, cell.needle, cell.repeat, cell.control, cell.depth,
        )  # fmt: skip
        if cell.language not in self._positions:
            return None
        for value, positions, size in zip(in_row_order, self._positions[cell.language], self._sizes, strict=True):
            if value not in positions:
                return None
            rank = rank * size + positions[value]
        return rank

    def cell(self, rank: int) -> Cell:
        """The coordinates of a rank."""
        numbers: list[int] = []
        for size in reversed(self._sizes):
            rank, number = divmod(rank, size)
            numbers.append(number)
        depth, control, repeat, needle, corpus, length, language = numbers
        code = self.languages[language]
        return Cell(
            code, self.corpora[corpus], self.lengths[length], self.needles[code][needle], repeat, self.depths[depth],
            self.controls[control],
        )  # fmt: skip


def axes_of(recipe: Recipe, task: Task, settings: Settings, manifest: Manifest) -> Axes:
    """The axes of a dataset made from a resolved recipe."""
    languages = tuple(code for code in LANGUAGES if code in (recipe.languages or LANGUAGES))
    return Axes(
        languages,
        recipe.lengths,
        tuple(entry.name for entry in manifest.corpora) if task.corpus is None else (task.corpus,),
        {code: item_ids(task, settings, code) for code in languages},
        recipe.repeats,
        (None, *recipe.controls),
        recipe.placed_depths(),
    )
