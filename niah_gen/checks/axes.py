"""Numbers the coordinates that a recipe asks for in row order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from niah_gen.corpora.declarations import LANGUAGES
from niah_gen.recipe.recipe import Recipe
from niah_gen.tasks.base import Task
from niah_gen.tasks.records import Cell, Settings
from niah_score.contract import Manifest


@dataclass(frozen=True)
class Axes:
    """The coordinates that a recipe asks for; rows are in the order of these fields, the last one changing fastest."""

    languages: tuple[str, ...]
    lengths: tuple[int, ...]
    corpora: tuple[str, ...]
    needles: tuple[str, ...]
    repeats: int
    controls: tuple[str | None, ...]
    depths: tuple[float, ...]

    @cached_property
    def _positions(self) -> tuple[dict[object, int], ...]:
        return tuple({value: number for number, value in enumerate(axis)} for axis in self._in_row_order)

    @property
    def _in_row_order(self) -> tuple[Sequence[object], ...]:
        return (
            self.languages, self.lengths, self.corpora, self.needles, range(self.repeats), self.controls, self.depths,
        )  # fmt: skip

    def rank(self, cell: Cell) -> int | None:
        """A number that grows in row order; None for coordinates that are not asked for."""
        rank = 0
        in_row_order = (
            cell.language, cell.length, cell.corpus, cell.needle, cell.repeat, cell.control, cell.depth,
        )  # fmt: skip
        for value, positions in zip(in_row_order, self._positions, strict=True):
            if value not in positions:
                return None
            rank = rank * len(positions) + positions[value]
        return rank

    def cell(self, rank: int) -> Cell:
        """The coordinates of a rank."""
        found: list[Any] = []
        for axis in reversed(self._in_row_order):
            rank, position = divmod(rank, len(axis))
            found.append(axis[position])
        depth, control, repeat, needle, corpus, length, language = found
        return Cell(language, corpus, length, needle, repeat, depth, control)


def axes_of(recipe: Recipe, task: Task, settings: Settings, manifest: Manifest) -> Axes:
    """The axes of a dataset made from a resolved recipe."""
    languages = tuple(code for code in LANGUAGES if code in (recipe.languages or LANGUAGES))
    return Axes(
        languages,
        recipe.lengths,
        tuple(entry.name for entry in manifest.corpora) if task.corpus is None else (task.corpus,),
        tuple(dict.fromkeys(name for code in languages for name in task.ids(settings, code))),
        recipe.repeats,
        (None, *recipe.controls),
        recipe.placed_depths(),
    )
