"""Defines a task family, a record of plain functions, with the controls that families share; checks their items."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, runtime_checkable

from niah_gen.errors import RecipeError
from niah_gen.tasks.hiding import FITTED_WHOLE, IN_FILLER, ContextKind
from niah_gen.tasks.records import Cell, Coordinates, GridAxes, Item, Replayed, Settings, Workbench
from niah_score.contract import METRIC_NAMES, unknown_metric
from niah_score.text import group_of
from niah_score.text.language import find_language
from niah_score.text.values import is_kind, kinds_expected

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
    chosen: returns the family for given options, if its context, controls or template depend on them.
    template: the only template that its prompts can be made with, and the usual one; None if any will do.
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
    template: str | None = None

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


def item_of(task: Task, settings: Settings, cell: Cell, ask: Callable[[Cell], Item] | None = None) -> Item:
    """The item of a cell, which is the same at every depth. `ask`: makes it, if the family makes it from texts.

    Raises RecipeError if it cannot make a row, so that a mistake in a family is reported instead of making wrong rows.
    """
    # A family never sees the depth or the control, so its items cannot depend on them.
    plain = cell._replace(depth=0.0, control=None)
    if ask is not None:
        return _checked(task, cell, ask(plain))
    assert callable(task.item), f"the items of task {task.name!r} are made from the corpora"
    return _checked(task, cell, task.item(settings, plain))


def shown_of(task: Task, cell: Cell, item: Item) -> Item:
    """What a row of a cell asks: the item, or its control's twin. Raises RecipeError if that cannot make a row."""
    return item if cell.control is None else _checked(task, cell, task.controls[cell.control](item))


def item_ids(task: Task, settings: Settings, language: str) -> Sequence[str]:
    """The ids of a language's items. Raises RecipeError if one is not a text or is given twice."""
    ids = task.ids(settings, language)
    for name, count in Counter(ids).items():
        if not isinstance(name, str) or not name or count > 1:
            what = f"id {name!r} of {language} is given {'twice' if count > 1 else 'as no text'}"
            raise RecipeError([f"task {task.name!r}: {what}; give every item its own id"])
    return ids


def _checked(task: Task, cell: Cell, item: object) -> Item:
    problem = _wrong_item(cell, item) if isinstance(item, Item) else f"expected an Item, found {type(item).__name__}"
    if problem or not isinstance(item, Item):
        what = f"item {cell.needle!r}" + (f", control {cell.control!r}" if cell.control else "")
        raise RecipeError([f"{what}: {problem}"], f"task {task.name!r}")
    return item


def _wrong_item(cell: Cell, item: Item) -> str | None:
    """The first thing that is wrong with an item; None if nothing is."""
    rules: tuple[tuple[str, Callable[[], object], str], ...] = (
        ("id", lambda: item.id in (cell.needle, cell.draw), "the cell's needle or draw"),
        ("question", lambda: item.question is None or isinstance(item.question, str), "a text or None"),
        ("answers", lambda: item.answers and _texts(item.answers), "a tuple of texts, at least one"),
        ("keywords", lambda: _groups(item.keywords) and all(item.keywords), "a tuple of groups, each a tuple of texts"),
        ("keyword_kinds", lambda: all(map(is_kind, item.keyword_kinds)), kinds_expected()),
        ("rejects", lambda: _groups(item.rejects), "a tuple of tuples of texts"),
        ("decoys", lambda: _groups(item.decoys), "a tuple of tuples of texts"),
        ("hide", lambda: _texts(item.hide), "a tuple of texts, none blank"),
        ("hide", lambda: len(set(item.hide)) == len(item.hide), "every text only once"),
        ("sets", lambda: not item.sets or min(item.sets) >= 1, "numbers of at least 1"),
        ("sets", lambda: not item.sets or sum(item.sets) >= len(item.hide), "numbers that cover all texts of hide"),
        ("metric", lambda: isinstance(item.metric, str), "a name"),
        ("keyword_kinds", lambda: len(item.keyword_kinds) in (0, len(item.keywords)), "one for each group, or none"),
        ("rejects", lambda: len(item.rejects) in (0, len(item.keywords)), "one for each group, or none"),
    )
    for name, is_right, expected in rules:
        if not is_right():
            return f"{name}: expected {expected}, found {getattr(item, name)!r}"
    return None if item.metric in METRIC_NAMES else unknown_metric(item.metric)


def _texts(value: Any) -> bool:
    return isinstance(value, tuple) and all(isinstance(text, str) and text.strip() for text in value)


def _groups(value: Any) -> bool:
    return isinstance(value, tuple) and all(map(_texts, value))


# Controls -------------------------------------------------------------------------------------------------------------

# The control whose prompts are the question alone, once for each question.
NO_CONTEXT = "no_context"


def not_stated(language: str) -> str:
    """What an answer should say if the document does not state the fact; prompts ask for these words."""
    return find_language(language).prompt.not_stated


def absent(item: Item) -> Item:
    """Leaves out the needles and keeps the distractors: the right answer is that the document does not say."""
    distractors = item.hide[len(item.hide) - item.distractors :]
    return item._replace(hide=distractors, answers=(not_stated(item.asked_in or item.language),))


def no_context(item: Item) -> Item:
    """Asks the question alone: a model that answers it has guessed or already knew."""
    return item._replace(hide=(), distractors=0)


def literal(item: Item) -> Item:
    """Asks in the needle's own words: a model that fails here did not even find the needle."""
    if not item.literal:
        raise RecipeError([f"controls: the question of {item.id!r} already uses the needle's own words"])
    return item._replace(question=item.literal)


def conflict(item: Item) -> Item:
    """Adds a text that says otherwise, with no sign of which is right: the answer should name both."""
    if item.conflict is None:
        raise RecipeError([f"controls: {item.id!r} has no text that says otherwise; give the needle a conflict"])
    text, value = item.conflict
    last = len(item.hide) - item.distractors
    return item._replace(
        hide=(*item.hide[:last], text, *item.hide[last:]), answers=(f"{item.answers[0]} {value[0]}",),
        keywords=(*item.keywords, value), keyword_kinds=(*item.kinds, group_of(value).kind),
        rejects=(*map(tuple, item.rejected), ()), metric="keyword",
    )  # fmt: skip


CONTROLS: Mapping[str, Control] = {
    "absent": absent, NO_CONTEXT: no_context, "literal": literal, "conflict": conflict,
}  # fmt: skip
