"""Checks the items that task families make, so that a mistake in a family is reported instead of making wrong rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from niah_gen.errors import RecipeError
from niah_gen.tasks.base import Task
from niah_gen.tasks.records import Cell, Item, Settings
from niah_score.contract import METRIC_NAMES, unknown_metric
from niah_score.text.values import is_kind, kinds_expected


def item_of(task: Task, settings: Settings, cell: Cell) -> Item:
    """The item of a cell, which is the same at every depth. Raises RecipeError if it cannot make a row."""
    # A family never sees the depth or the control, so its items cannot depend on them.
    assert callable(task.item), f"the items of task {task.name!r} are made from the corpora"
    return _checked(task, cell, task.item(settings, cell._replace(depth=0.0, control=None)))


def made_item_of(task: Task, ask: Callable[[Cell], Item], cell: Cell) -> Item:
    """The item that a family makes from the corpora's texts, the same at every depth.

    Raises RecipeError if it cannot make a row.
    """
    return _checked(task, cell, ask(cell._replace(depth=0.0, control=None)))


def shown_of(task: Task, cell: Cell, item: Item) -> Item:
    """What a row of a cell asks: the item, or its control's twin. Raises RecipeError if that cannot make a row."""
    return item if cell.control is None else _checked(task, cell, task.controls[cell.control](item))


def item_ids(task: Task, settings: Settings, language: str) -> Sequence[str]:
    """The ids of a language's items. Raises RecipeError if one is not a text or is given twice."""
    ids = task.ids(settings, language)
    for name in ids:
        if not isinstance(name, str) or not name:
            raise RecipeError([f"task {task.name!r}: an id of {language} is {name!r}; expected a text"])
    repeated = sorted({name for name in ids if ids.count(name) > 1})
    if repeated:
        raise RecipeError(
            [f"task {task.name!r}: id {repeated[0]!r} of {language} is given twice; give every item its own id"]
        )
    return ids


def _checked(task: Task, cell: Cell, item: object) -> Item:
    problems = list(_wrong_item(cell, item))
    if problems or not isinstance(item, Item):
        what = f"item {cell.needle!r}" + (f", control {cell.control!r}" if cell.control else "")
        raise RecipeError([f"{what}: {problem}" for problem in problems], f"task {task.name!r}")
    return item


def _wrong_item(cell: Cell, item: object) -> Iterator[str]:
    if not isinstance(item, Item):
        yield f"expected an Item, found {type(item).__name__}"
        return
    if item.id not in (cell.needle, cell.draw):
        yield f"id is {item.id!r}, expected the cell's needle or draw"
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
    if not all(map(_texts, (*item.rejects, *item.decoys))):
        yield f"rejects are {item.rejects!r} and decoys {item.decoys!r}, expected tuples of tuples of texts"
    if not _texts(item.hide):
        yield f"hide is {item.hide!r}, expected a tuple of texts, none blank"
    elif len(set(item.hide)) < len(item.hide):
        yield "hide holds a text twice; every needle must occur only once"
    elif item.sets and (min(item.sets) < 1 or sum(item.sets) < len(item.hide)):
        yield f"sets are {item.sets!r}, expected numbers of at least 1 that cover all {len(item.hide)} texts of hide"
    if not isinstance(item.metric, str):
        yield f"metric is {item.metric!r}, expected a name"
    elif item.metric not in METRIC_NAMES:
        yield unknown_metric(item.metric)


def _texts(value: Any) -> bool:
    return isinstance(value, tuple) and all(isinstance(text, str) and text.strip() for text in value)
