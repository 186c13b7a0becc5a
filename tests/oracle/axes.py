"""Numbers the coordinates that a recipe asks for in row order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from niah_gen.recipe.part import settings_of
from niah_gen.recipe.recipe import Part, Recipe
from niah_gen.rows.grid import Grid, grid_of
from niah_gen.tasks.base import Task
from niah_gen.tasks.records import Cell
from niah_score.contract import Manifest
from niah_score.text.language import language_codes


@dataclass(frozen=True)
class Axes:
    """The coordinates that a part asks for; its rows are in the order of these fields, the last one changing fastest.

    number: the part's place in the recipe. lengths: those of the whole recipe; the part's own are `grid.lengths`.
    """

    number: int
    languages: tuple[str, ...]
    lengths: tuple[int, ...]
    corpora: tuple[str, ...]
    grid: Grid

    @property
    def part(self) -> Part:
        """The part of the recipe."""
        return self.grid.part

    @cached_property
    def controls(self) -> tuple[str | None, ...]:
        """None for the ordinary rows, then the controls that are their twins."""
        return (None, *self.part.controls)

    @property
    def depths(self) -> tuple[float | None, ...]:
        """The depths of the rows, in percent; None for rows without one."""
        return self.grid.depths

    @cached_property
    def needles(self) -> Mapping[str, tuple[str, ...]]:
        """The items of each language."""
        return {code: tuple(dict.fromkeys(row.needle for row in rows)) for code, rows in self.grid.rows.items()}

    @cached_property
    def repeats(self) -> int:
        """The most repeats that a row has."""
        return max((row.repeat + 1 for rows in self.grid.rows.values() for row in rows), default=0)

    @cached_property
    def _places(self) -> Mapping[str, tuple[dict[object, int], ...]]:
        """For each language, the number of every value on each axis after language and length."""
        return {
            language: tuple(
                {value: number for number, value in enumerate(axis)}
                for axis in (
                    self.corpora, self.needles[language], range(self.repeats), self.controls, self.depths,
                )
            )
            for language in self.languages
        }  # fmt: skip

    def holds(self, cell: Cell) -> bool:
        """Whether every coordinate of a cell is on its axis."""
        return (
            cell.language in self._places
            and cell.length in self.grid.lengths
            and all(value in places for value, places in zip(_inner(cell), self._places[cell.language], strict=True))
        )


def _inner(cell: Cell) -> tuple[object, ...]:
    """The coordinates after language and length."""
    return cell.corpus, cell.needle, cell.repeat, cell.control, cell.depth


def axes_of(recipe: Recipe, tasks: Sequence[Task], manifest: Manifest) -> dict[str | None, Axes]:
    """The axes of each part of a resolved recipe, by the part's name. tasks: the family of each part."""
    languages = tuple(code for code in language_codes() if code in (recipe.languages or language_codes()))
    built_from = {entry.name for entry in manifest.corpora}
    grids = [
        grid_of(part, task, settings_of(part, task), languages) for part, task in zip(recipe.parts, tasks, strict=True)
    ]
    lengths = tuple(sorted({length for grid in grids for length in grid.lengths}))
    axes: dict[str | None, Axes] = {}
    for number, (grid, task) in enumerate(zip(grids, tasks, strict=True)):
        part = grid.part
        corpora = tuple(name for name in part.corpora if name in built_from) if task.corpus is None else (task.corpus,)
        axes[part.name] = Axes(number, languages, lengths, corpora, grid)
    return axes
