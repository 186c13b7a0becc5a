"""Numbers the coordinates that a recipe asks for in row order."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from niah_gen.corpora.declarations import LANGUAGES
from niah_gen.recipe.read_part import settings_of
from niah_gen.recipe.recipe import Part, Recipe
from niah_gen.rows.grid import Grid
from niah_gen.tasks.base import Task
from niah_gen.tasks.check_item import item_ids
from niah_gen.tasks.records import Cell
from niah_score.contract import Manifest

# What rows are sorted by: language, length, part, and the place within the part.
Rank = tuple[int, int, int, int]


@dataclass(frozen=True)
class Axes:
    """The coordinates that a part asks for; its rows are in the order of these fields, the last one changing fastest.

    number: of the part in the recipe. lengths: those of the whole recipe; the part's are `grid.part.lengths`.
    """

    number: int
    languages: tuple[str, ...]
    lengths: tuple[int, ...]
    corpora: tuple[str, ...]
    grid: Grid

    @property
    def part(self) -> Part:
        """The part that asks."""
        return self.grid.part

    @cached_property
    def controls(self) -> tuple[str | None, ...]:
        """The controls, and None for the rows that they are twins of."""
        return (None, *self.part.controls)

    @cached_property
    def depths(self) -> tuple[float, ...]:
        """The depths that rows are made for, in percent."""
        return self.part.placed_depths()

    @cached_property
    def _places(self) -> Mapping[str, tuple[dict[object, int], ...]]:
        """Of each language: the number of every value on each axis behind language and length."""
        return {
            language: tuple(
                {value: number for number, value in enumerate(axis)}
                for axis in (
                    self.corpora, self.grid.needles[language], range(self.part.repeats), self.controls, self.depths,
                )
            )
            for language in self.languages
        }  # fmt: skip

    def holds(self, cell: Cell) -> bool:
        """Whether the values of some coordinates are all on the axes."""
        return (
            cell.language in self._places
            and cell.length in self.part.lengths
            and all(value in places for value, places in zip(_behind(cell), self._places[cell.language], strict=True))
        )

    def rank(self, cell: Cell) -> Rank | None:
        """Numbers that grow in row order; None for coordinates that are not asked for."""
        if not self.holds(cell) or not self.grid.asks(cell):
            return None
        rank = 0
        for value, places in zip(_behind(cell), self._places[cell.language], strict=True):
            rank = rank * len(places) + places[value]
        return self.languages.index(cell.language), self.lengths.index(cell.length), self.number, rank

    def corpus_and_language(self, rank: Rank) -> tuple[str, str]:
        """The corpus and the language of a rank."""
        language = self.languages[rank[0]]
        each = math.prod(map(len, self._places[language][1:]))
        return self.corpora[rank[3] // each], language

    def cells(self) -> Iterator[Cell]:
        """All cells, if every corpus had every language."""
        for language in self.languages:
            for length in self.part.lengths:
                yield from self.grid.cells(language, length, self.corpora)


def _behind(cell: Cell) -> tuple[object, ...]:
    return cell.corpus, cell.needle, cell.repeat, cell.control, cell.depth


def axes_of(recipe: Recipe, tasks: Sequence[Task], manifest: Manifest) -> dict[str | None, Axes]:
    """The axes of each part of a resolved recipe, by the part's name. tasks: the family of each part."""
    languages = tuple(code for code in LANGUAGES if code in (recipe.languages or LANGUAGES))
    there = {entry.name for entry in manifest.corpora}
    found: dict[str | None, Axes] = {}
    for number, (part, task) in enumerate(zip(recipe.parts, tasks, strict=True)):
        corpora = tuple(name for name in part.corpora if name in there) if task.corpus is None else (task.corpus,)
        settings = settings_of(part, task)
        grid = Grid(part, {code: item_ids(task, settings, code) for code in languages})
        found[part.name] = Axes(number, languages, recipe.lengths, corpora, grid)
    return found
