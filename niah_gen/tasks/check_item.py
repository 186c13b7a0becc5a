"""Checks the items that task families make, so that a slip of a family ends in a sentence and not in wrong rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from niah_gen.errors import RecipeError
from niah_gen.tasks.base import Task
from niah_gen.tasks.records import Cell, Item, Settings
from niah_score.contract import METRIC_NAMES, unknown_metric
from niah_score.text.values import is_kind, kinds_expected


def item_of(task: Task, settings: Settings, cell: Cell) -> Item:
    """The item of a cell, which is the same at every depth. Raises RecipeError where it cannot make a row."""
    # A family never sees the depth or the control, so its items cannot depend on them.
    found = task.item(settings, cell._replace(depth=0.0, control=None))
    return _checked(task, cell, found)


def made_item_of(task: Task, ask: Callable[[Cell], Item], cell: Cell) -> Item:
    """The item that a family makes of the corpora's texts, the same at every depth.

    Raises RecipeError where it cannot make a row.
    """
    return _checked(task, cell, ask(cell._replace(depth=0.0, control=None)))


def shown_of(task: Task, cell: Cell, item: Item) -> Item:
    """What a row of a cell asks: the item, or its control's twin. Raises RecipeError where that cannot make a row."""
    return item if cell.control is None else _checked(task, cell, task.controls[cell.control](item))


def item_ids(task: Task, settings: Settings, language: str) -> Sequence[str]:
    """The items of a language, by id. Raises RecipeError where an id is no text or comes twice."""
    if task.languages and language not in task.languages:
        return []
    found = task.ids(settings, language)
    for name in found:
        if not isinstance(name, str) or not name:
            raise RecipeError([f"task {task.name!r}: an id of {language} is {name!r}; expected a text"])
    again = sorted({name for name in found if found.count(name) > 1})
    if again:
        raise RecipeError([f"task {task.name!r}: id {again[0]!r} of {language} comes twice; name every item once"])
    return found


def _checked(task: Task, cell: Cell, found: object) -> Item:
    problems = list(_wrong_item(cell, found))
    if problems or not isinstance(found, Item):
        what = f"item {cell.needle!r}" + (f", control {cell.control!r}" if cell.control else "")
        raise RecipeError([f"{what}: {problem}" for problem in problems], f"task {task.name!r}")
    return found


def _wrong_item(cell: Cell, item: object) -> Iterator[str]:
    if not isinstance(item, Item):
        yield f"expected an Item, found {type(item).__name__}"
        return
    if item.id != cell.needle:
        yield f"id is {item.id!r}, expected the cell's needle"
    if item.question is not None and not isinstance(item.question, str):
        yield f"question is {item.question!r}, expected a text or None"
    if not _texts(item.answers) or not item.answers:
        yield f"answers are {item.answers!r}, expected a tuple of texts, at least one"
    if not isinstance(item.keywords, tuple) or not all(group and _texts(group) for group in item.keywords):
        yield f"keywords are {item.keywords!r}, expected a tuple of groups, each a tuple of texts"
    for name in ("keyword_kinds", "rejects"):
        if len(getattr(item, name)) not in (0, len(item.keywords)):
            yield f"{name} are {len(getattr(item, name))}, expected one for each of {len(item.keywords)} keyword groups"
    if not all(map(is_kind, item.keyword_kinds)):
        yield f"keyword_kinds are {item.keyword_kinds!r}, expected {kinds_expected()}"
    if not all(isinstance(words, tuple) and all(map(_is_word, words)) for words in (*item.rejects, *item.decoys)):
        yield f"rejects are {item.rejects!r} and decoys {item.decoys!r}, expected tuples of tuples of texts"
    if not _texts(item.hide):
        yield f"hide is {item.hide!r}, expected a tuple of texts, none blank"
    elif len(set(item.hide)) < len(item.hide):
        yield "hide holds a text twice; every needle has to stand once"
    elif item.sets and (min(item.sets) < 1 or sum(item.sets) < len(item.hide)):
        yield f"sets are {item.sets!r}, expected numbers of at least 1, in all the {len(item.hide)} of hide"
    if not isinstance(item.metric, str):
        yield f"metric is {item.metric!r}, expected a name"
    elif item.metric not in METRIC_NAMES:
        yield unknown_metric(item.metric)


def _is_word(found: Any) -> bool:
    return isinstance(found, str) and bool(found.strip())


def _texts(found: Any) -> bool:
    return isinstance(found, tuple) and all(isinstance(text, str) and text.strip() for text in found)
