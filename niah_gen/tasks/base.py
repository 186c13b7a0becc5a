"""Defines what a task family is: a record of plain functions."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from niah_gen.tasks.hiding import FITTED_WHOLE, IN_FILLER, ContextKind
from niah_gen.tasks.records import Cell, Coordinates, GridAxes, Item, Replayed, Settings, Workbench
from niah_gen.tokenizers.find import Tokenizer
from niah_score.contract import Row, draw_name

# Makes an item's twin, which shows what a model scores without, or against, the fact that is asked for.
Control = Callable[[Item], Item]


@dataclass(frozen=True, slots=True)
class NoOptions:
    """The options of a family that has none."""


def no_wrong_settings(settings: Settings) -> Iterator[str]:
    """Every setting will do."""
    yield from ()


def nothing_more(row: Row, item: Item) -> Iterator[str]:
    """A row's columns prove nothing beyond what every family's rows prove."""
    yield from ()


def replayed(settings: Settings, cell: Cell) -> Item:
    """The `item` of families that replay: the prompt and its truth are made together, so it is never called."""
    raise NotImplementedError("the items of a family that replays come with their prompts")


def asked_of_texts(settings: Settings, cell: Cell) -> Item:
    """The `item` of families that ask for what a corpus says, which is never called: `ask` makes their items."""
    raise NotImplementedError("the items of a family that asks for texts of a corpus are made from it")


class Settled(NamedTuple):
    """Options as the user's own files make them, and what the user is told of these, a sentence each."""

    options: Any
    told: tuple[str, ...] = ()


class Task(NamedTuple):
    """A task family.

    name, version: both name the rows. The version is raised whenever the rows of the same settings change; version 1
        adds nothing to family8 of the row ids.
    ids: the items of a language, by id: the needle axis of the grid.
    item: the truth of a cell, which must not depend on its depth.
    options: the frozen dataclass that the recipe's [options] are read into; its fields' defaults are the options'.
    hides_needles: whether its items are the recipe's needles; other families take none.
    corpus: what stands in the column `corpus` of a family that reads none; None for one that reads the recipe's.
    context: how contexts are made and proved.
    controls: the twins that a recipe can ask for in `controls`, by name.
    wrong_settings: what is wrong with a recipe's settings, a sentence each, which begins with the field.
    drawn: whether every length and repeat draws items of its own: the needle_id of a row then says which draw it is,
        and intervals take each for a needle of its own. Else an id is one needle wherever it stands.
    check: what is wrong with a row, from its columns, beyond what `verify --full` proves of every family's rows. Where
        prompts are replayed, the item is what the row says of itself.
    coordinates: the rows of a language in their order, for families whose rows are no plain product of lengths, items,
        repeats and depths; None for those that are. Of `ids` it then only counts whether there are any.
    ask: for families whose truth stands in the corpora: returns the function that makes the items in one process, in
        place of `item`, which is `asked_of_texts`. Corpora may be lacking where rows are proved, so there the item is
        what the row says of itself, and `check` and `context` prove the truth from the prompt.
    replay: for families whose prompts are made whole by a published rule: returns the function that one process makes
        them with. It is asked for cells in any order, mostly in that of the rows, so it may go on where it stands.
        `item` is `replayed`; there is no template and no budget of ours. With the context FITTED_WHOLE the rule is this
        project's: its prompts keep their budgets, and controls are the family's to make.
    languages: those that it has words for, so that nothing is asked in another; empty where its items bring their own.
    chosen: the family as some options make it, where its corpus, context, controls or check depend on them.
    settle: what becomes of options that leave something to the files that they name; None where they leave nothing. It
        is asked where rows are to be made, and a resolved recipe holds what it says. It may raise RecipeError.
    without_length: whether a recipe may ask for rows that have no length, `lengths = [0]`.
    in_order: for families whose rows prove each other: returns the function of one proof, which is given the family's
        rows in order, then None, and says what is wrong with each row after those before it.
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
    check: Callable[[Row, Item], Iterator[str]] = nothing_more
    coordinates: Callable[[Settings, GridAxes, str], Iterator[Coordinates]] | None = None
    replay: Callable[[Workbench], Callable[[Cell], Replayed]] | None = None
    ask: Callable[[Workbench], Callable[[Cell], Item]] | None = None
    chosen: Callable[[Any], Task] | None = None
    drawn: bool = False
    settle: Callable[[Any], Settled] | None = None
    without_length: bool = False
    in_order: Callable[[Tokenizer], Callable[[Row | None], Iterator[str]]] | None = None
    languages: tuple[str, ...] = ("en", "zh")

    def needle_id(self, cell: Cell) -> str:
        """What the column of that name says in the rows of a cell."""
        return draw_name(cell.needle, cell.length, cell.repeat) if self.drawn else cell.needle

    @property
    def reads_corpora(self) -> bool:
        """Whether it reads the documents of the corpora itself, so that no filler of a placement does."""
        return self.replay is not None or self.ask is not None

    def with_options(self, options: Any) -> Task:
        """The family as options, an instance of its own, make it."""
        return self.chosen(options) if self.chosen else self


def is_published(task: Task) -> bool:
    """Whether a family replays a published rule, whose budgets, seeds and places are its own."""
    return task.replay is not None and task.context is not FITTED_WHOLE
