"""Mistakes in a task family: each is refused with a message that names the item, before any row is written."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from each import each

import niah_gen
from niah_gen.errors import RecipeError
from niah_gen.tasks.base import NoOptions, Task
from niah_gen.tasks.check_item import item_ids, item_of, shown_of
from niah_gen.tasks.records import Cell, Item, Settings

GOOD = Item("a", "en", "Which?", ("Red.",), (("red",),), "keyword", ("The gate is red.",))
SETTINGS = Settings(NoOptions())
CELL = Cell("en", "none", 1000, "a", 0, 50.0)


def changed(**fields: Any) -> Item:
    """The good item with some fields replaced by values of any type."""
    return GOOD._replace(**fields)


def family(item: Any = GOOD, ids: Any = ("a",), twin: Callable[[Item], Any] = lambda item: item) -> Task:
    return Task("t", 1, lambda settings, language: ids, lambda settings, cell: item, controls={"twin": twin})


def test_a_valid_item_is_returned_unchanged() -> None:
    assert item_of(family(), SETTINGS, CELL) is GOOD
    assert shown_of(family(), CELL, GOOD) is GOOD
    silent = GOOD._replace(question=None, keywords=(), hide=())
    assert item_of(family(silent), SETTINGS, CELL) is silent


@each(
    ("item", "message"),
    [
        (None, "expected an Item, found NoneType"),
        (changed(id="b"), "id is 'b', expected the cell's needle"),
        (changed(question=3), "question is 3, expected a text or None"),
        (changed(answers=()), r"answers are \(\), expected a tuple of texts, at least one"),
        (changed(answers="Red."), "answers are 'Red.', expected a tuple"),
        (changed(answers=(7,)), r"answers are \(7,\), expected a tuple of texts"),
        (changed(keywords=("red",)), "keywords are .*, expected a tuple of groups"),
        (changed(keywords=((),)), "keywords are .*, expected a tuple of groups"),
        (changed(hide="The gate"), "hide is 'The gate', expected a tuple of texts, none blank"),
        (changed(hide=(" ",)), "hide is .*, expected a tuple of texts, none blank"),
        (changed(hide=("One.", "One.")), "hide holds a text twice"),
        (changed(sets=(1, 0)), r"sets are \(1, 0\), expected numbers of at least 1 that cover all 1 texts of hide"),
        (changed(hide=("One.", "Two."), sets=(1,)), "sets are"),
        (changed(metric=None), "metric is None, expected a name"),
        (changed(metric="kw"), "metric 'kw' is unknown"),
    ],
)
def test_an_invalid_item_is_refused_with_the_field_at_fault(item: Any, message: str) -> None:
    with pytest.raises(RecipeError, match=f"task 't': .*\n  item 'a': {message}"):
        item_of(family(item), SETTINGS, CELL)
    with pytest.raises(RecipeError, match=f"task 't': .*\n  item 'a', control 'twin': {message}"):
        shown_of(family(twin=lambda _: item), CELL._replace(control="twin"), GOOD)


@each(
    ("ids", "message"),
    [(["a", "b", "a"], "id 'a' of en is given twice"), ([7], "an id of en is 7"), ([""], "an id of en is ''")],
)
def test_ids_that_are_repeated_empty_or_not_text_are_refused(ids: list[Any], message: str) -> None:
    with pytest.raises(RecipeError, match=message):
        item_ids(family(ids=ids), SETTINGS, "en")


def test_a_family_never_sees_the_depth_or_the_control() -> None:
    seen = set()

    def item(settings: Settings, cell: Cell) -> Item:
        seen.add((cell.depth, cell.control))
        return GOOD

    task = family()._replace(item=item)
    for depth, control in ((0.0, None), (100.0, "twin"), (33.0, None)):
        item_of(task, SETTINGS, CELL._replace(depth=depth, control=control))
    assert len(seen) == 1


def test_a_mistake_in_a_control_is_reported_before_anything_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(Path(__file__).parents[3] / "examples"))
    key_lines = importlib.import_module("key_lines")
    odd = key_lines.KEY_LINES._replace(controls={"absent": lambda item: item._replace(answers=())})
    monkeypatch.setitem(sys.modules, "odd_lines", type("odd_lines", (), {"ODD": odd}))
    recipe = {"task": "odd_lines:ODD", "lengths": [1000], "controls": ["absent"], "languages": ["en"]}
    with pytest.raises(RecipeError, match="item 'key-0', control 'absent': answers are"):
        niah_gen.build(recipe, tmp_path)
    assert list(tmp_path.iterdir()) == []
