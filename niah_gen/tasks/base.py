"""Defines what a task family is: a record of plain functions."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from niah_gen.tasks.hiding import FITTED_WHOLE, IN_FILLER, ContextKind
from niah_gen.tasks.records import Cell, Coordinates, GridAxes, Item, Replayed, Settings, Workbench
from niah_score.contract import draw_name

# Makes an item's twin, which measures what a model scores without the asked fact, or against one that contradicts it.
Control = Callable[[Item], Item]


@dataclass(frozen=True, slots=True)
class NoOptions:
    """The options of a family that has none."""


def no_wrong_settings(settings: Settings) -> Iterator[str]:
    """Accepts all settings."""
    yield from ()


def replayed(settings: Settings, cell: Cell) -> Item:
    """Stands in as the `item` of families that replay. Never called: a prompt and its truth are made together."""
    raise NotImplementedError("the items of a family that replays come with their prompts")


def asked_of_texts(settings: Settings, cell: Cell) -> Item:
    """Stands in as the `item` of families that ask for what a corpus says. Never called: `ask` makes their items."""
    raise NotImplementedError("the items of a family that asks for texts of a corpus are made from it")


class Settled(NamedTuple):
    """Options completed from the user's files. `told`: what to tell the user about the files, a sentence each."""

    options: Any
    told: tuple[str, ...] = ()


class Task(NamedTuple):
    """A task family.

    name, version: identify the family in its rows. Raise the version whenever the rows of the same settings change;
        version 1 adds nothing to family8 of the row ids.
    ids: the ids of a language's items: the needle axis of the grid.
    item: the truth of a cell, which must not depend on its depth.
    options: the frozen dataclass that the recipe's [options] are read into, with their defaults.
    hides_needles: whether its items are the recipe's needles; other families take none.
    corpus: the value of the column `corpus` for a family that reads no corpus; None if it reads the recipe's.
    context: how contexts are made.
    controls: the twins that a recipe can ask for in `controls`, by name.
    wrong_settings: what is wrong with a recipe's settings, a sentence each, which begins with the field.
    drawn: whether every length and repeat draws its own items: the needle_id of a row then names the draw, and
        intervals count each draw as a separate needle. Otherwise an id is the same needle in every row.
    coordinates: the rows of a language in order, for families whose rows are not the plain product of lengths, items,
        repeats and depths; None for those whose rows are. With it, `ids` only decides whether there are rows at all.
    ask: for families whose truth is in the corpora: returns the function that makes the items in one process, in
        place of `item`, which is `asked_of_texts`.
    replay: for families whose prompts are made whole by a published rule: returns the function that makes them in one
        process. Cells may come in any order but mostly come in that of the rows, so it may continue from the last one.
        `item` is `replayed`; our templates and budgets do not apply. With the context FITTED_WHOLE the rule is this
        project's: its prompts keep their budgets, and the family makes its own controls.
    languages: the languages it has wording for; no others are asked. Empty if its items bring their own wording.
    chosen: returns the family for given options, if its corpus, context or controls depend on them.
    settle: completes options that depend on the files they name; None if none do. It is called before rows are made,
        and the resolved recipe records its result. It may raise RecipeError.
    without_length: whether a recipe may ask for rows that have no length, `lengths = [0]`.
    """

    name: str
    version: int
    ids: Callable[[Settings, str], Sequence[str]]
    item: Callable[[Settings, Cell], Item]
    options: type = NoOptions
    hides_needles: bool = False
    corpus: str | None = None
    context: ContextKind = IN_FILLER
    controls: Mapping[str, Control] = {}
    wrong_settings: Callable[[Settings], Iterator[str]] = no_wrong_settings
    coordinates: Callable[[Settings, GridAxes, str], Iterator[Coordinates]] | None = None
    replay: Callable[[Workbench], Callable[[Cell], Replayed]] | None = None
    ask: Callable[[Workbench], Callable[[Cell], Item]] | None = None
    chosen: Callable[[Any], Task] | None = None
    drawn: bool = False
    settle: Callable[[Any], Settled] | None = None
    without_length: bool = False
    languages: tuple[str, ...] = ("en", "zh")

    def needle_id(self, cell: Cell) -> str:
        """The value of the column `needle_id` in the rows of a cell."""
        return draw_name(cell.needle, cell.length, cell.repeat) if self.drawn else cell.needle

    @property
    def reads_corpora(self) -> bool:
        """Whether it reads the documents of the corpora itself, in place of a placement's filler."""
        return self.replay is not None or self.ask is not None

    def with_options(self, options: Any) -> Task:
        """The family for given options, an instance of `self.options`."""
        return self.chosen(options) if self.chosen else self


def is_published(task: Task) -> bool:
    """Whether a family replays a published rule, with that rule's budgets, seeds and placement."""
    return task.replay is not None and task.context is not FITTED_WHOLE
