"""Defines what a task family is: a record of plain functions."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, runtime_checkable

from niah_gen.tasks.hiding import FITTED_WHOLE, IN_FILLER, ContextKind
from niah_gen.tasks.records import Cell, Coordinates, GridAxes, Item, Replayed, Settings, Workbench

# Makes an item's twin, which measures what a model scores without the asked fact, or against one that contradicts it.
Control = Callable[[Item], Item]


# The languages that families of the package have words for.
LANGUAGES = ("en", "zh")


@dataclass(frozen=True, slots=True)
class NoOptions:
    """The options of a family that has none."""


@runtime_checkable
class FromFiles(Protocol):
    """Options that depend on the user's files that they name."""

    def completed(self) -> tuple[Any, Sequence[str]]:
        """The options as the resolved recipe records them, and what to tell the user about the files.

        Called before rows are made. Raises RecipeError with everything that is wrong with the files.
        """


class AskedOfTexts(NamedTuple):
    """Items whose truth is in the corpora. `ask`: returns the function that makes them in one process."""

    ask: Callable[[Workbench], Callable[[Cell], Item]]


class Replay(NamedTuple):
    """Items that come with their prompts, made whole by a published rule; our templates and budgets do not apply.

    make: returns the function that makes them in one process. Cells may come in any order but mostly come in that of
        the rows, so it may continue from the last one.
    corpus: the value of the column `corpus` if the rule reads no corpus; None if it reads the recipe's.

    With the context FITTED_WHOLE the rule is this project's: its prompts keep their budgets, and the family makes its
    own controls.
    """

    make: Callable[[Workbench], Callable[[Cell], Replayed]]
    corpus: str | None = None


def needle_ids(settings: Settings, language: str) -> Sequence[str]:
    """The `ids` of families whose items are the recipe's needles; a recipe gives needles to no others."""
    return [needle.id for needle in settings.needles if settings.any_language or needle.language == language]


class Task(NamedTuple):
    """A task family.

    name, version: identify the family in its rows. Raise the version whenever the rows of the same settings change;
        version 1 adds nothing to family8 of the row ids.
    ids: the ids of a language's items, the needle axis of the grid; none in a language that it has no words for.
    item: the truth of a cell, which must not depend on its depth; or what makes it from the corpora, or by a published
        rule together with the prompt.
    options: the frozen dataclass that the recipe's [options] are read into, with their defaults. It raises ValueError
        for values that do not go together, and may be `FromFiles`.
    context: how contexts are made, and from what text.
    controls: the twins that a recipe can ask for in `controls`, by name.
    coordinates: the rows of a language in order, for families whose rows are not the plain product of lengths, items,
        repeats and depths; None for those whose rows are. With it, `ids` only decides whether there are rows at all.
    chosen: returns the family for given options, if its context or controls depend on them.
    """

    name: str
    version: int
    ids: Callable[[Settings, str], Sequence[str]]
    item: Callable[[Settings, Cell], Item] | AskedOfTexts | Replay
    options: type = NoOptions
    context: ContextKind = IN_FILLER
    controls: Mapping[str, Control] = {}
    coordinates: Callable[[Settings, GridAxes, str], Iterator[Coordinates]] | None = None
    chosen: Callable[[Any], Task] | None = None

    @property
    def hides_needles(self) -> bool:
        """Whether its items are the recipe's needles."""
        return self.ids is needle_ids

    @property
    def corpus(self) -> str | None:
        """The value of the column `corpus` if it reads no corpus; None if it reads the recipe's."""
        return self.item.corpus if isinstance(self.item, Replay) else self.context.corpus

    @property
    def replays(self) -> bool:
        """Whether its prompts are made whole."""
        return isinstance(self.item, Replay)

    @property
    def reads_corpora(self) -> bool:
        """Whether it reads the documents of the corpora itself, in place of a placement's filler."""
        return isinstance(self.item, AskedOfTexts | Replay)


def is_published(task: Task) -> bool:
    """Whether a family replays a published rule, with that rule's budgets, seeds and placement."""
    return task.replays and task.context is not FITTED_WHOLE
