"""Task families: mistakes in items are refused by name before any row is written; what the shared controls change."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from proved import proved_rows

import niah_gen
from niah_gen.errors import RecipeError
from niah_gen.tasks.base import NoOptions, Task, item_ids, item_of, shown_of
from niah_gen.tasks.needle_library import needle_library
from niah_gen.tasks.records import Cell, Item, Settings
from niah_score.metrics import target_of
from niah_score.metrics.keyword import judge_keyword

GOOD = Item("a", "en", "Which?", ("Red.",), (("red",),), "keyword", ("The gate is red.",))
SETTINGS = Settings(NoOptions())
CELL = Cell("en", "none", 1000, "a", 0, 50.0)


def changed(**fields: Any) -> Item:
    """The good item with some fields replaced by values of any type."""
    return GOOD._replace(**fields)


def family(item: Any = GOOD, ids: Any = ("a",), twin: Callable[[Item], Any] = lambda item: item) -> Task:
    return Task("t", 1, lambda settings, language: ids, lambda settings, cell: item, controls={"twin": twin})


def test_an_invalid_item_is_refused_with_the_field_at_fault() -> None:
    cases: list[tuple[Any, str]] = [
        (None, "expected an Item, found NoneType"),
        (changed(id="b"), "id: expected the cell's needle or draw, found 'b'"),
        (changed(question=3), "question: expected a text or None, found 3"),
        (changed(answers=()), "answers: expected a tuple of texts, at least one, found ()"),
        (changed(keywords=("red",)), "keywords: expected a tuple of groups"),
        (changed(keyword_kinds=("colour",)), "keyword_kinds: expected "),
        (changed(rejects=((), ())), "rejects: expected one for each group, or none"),
        (changed(hide="The gate"), "hide: expected a tuple of texts, none blank"),
        (changed(hide=("One.", "One.")), "hide: expected every text only once"),
        (changed(hide=("One.", "Two."), sets=(1,)), "sets: expected numbers that cover all texts of hide"),
        (changed(metric="kw"), "metric 'kw' is unknown"),
    ]
    for item, message in cases:
        with pytest.raises(RecipeError, match=re.escape(f"\n  item 'a': {message}")):
            item_of(family(item), SETTINGS, CELL)
        with pytest.raises(RecipeError, match=re.escape(f"\n  item 'a', control 'twin': {message}")):
            shown_of(family(twin=lambda _, item=item: item), CELL._replace(control="twin"), GOOD)  # type: ignore[misc]


def test_ids_that_are_repeated_empty_or_not_text_are_refused() -> None:
    for ids, message in (
        (["a", "b", "a"], "id 'a' of en is given twice"), ([7], "id 7 of en is given as no text"),
        ([""], "id '' of en is given as no text"),
    ):  # fmt: skip
        with pytest.raises(RecipeError, match=message):
            item_ids(family(ids=ids), SETTINGS, "en")


# Controls -------------------------------------------------------------------------------------------------------------


CONTROLLED = {
    "lengths": [1000], "depths": [50], "needles": ["velden-archive", "quillerby-last-train"],
    "corpora": ["en_essays"], "paraphrase": True,
    "controls": ["absent", "no_context", "conflict", "literal"],
}  # fmt: skip


def test_twins_share_the_haystack_of_their_row_and_change_what_their_control_says() -> None:
    rows = {row["control"]: row for row in proved_rows({**CONTROLLED, "needles": ["velden-archive"]})}
    row, absent, literal, conflict = (rows[control] for control in (None, "absent", "literal", "conflict"))
    for twin in (absent, literal, conflict):
        assert (twin["haystack_id"], twin["seed"]) == (row["haystack_id"], row["seed"])
    velden = needle_library()["velden-archive"]
    assert velden.conflict is not None
    assert (absent["needles"], absent["question"]) == ([], row["question"])
    assert (row["question"], literal["question"]) == (velden.paraphrase, velden.question)
    assert literal["needles"] == row["needles"]
    assert conflict["needles"][:2] == [velden.needles[0], velden.conflict.text]
    target = target_of({**conflict})
    assert judge_keyword(f"{velden.answers[0]} or {velden.conflict.value[0]}", target).value == 100
    assert judge_keyword(velden.answers[0], target).value == 50


def test_a_control_that_an_item_does_not_support_is_refused() -> None:
    cases: list[tuple[dict[str, Any], str]] = [
        ({"controls": ["literal"], "paraphrase": False}, "already uses the needle's own words"),
        ({"controls": ["conflict"], "needles": ["ellersea-tram-shed"]}, "has no text that says otherwise"),
        ({"controls": ["absnet"]}, "has no control 'absnet'; did you mean 'absent'"),
    ]
    for changes, message in cases:
        with pytest.raises(RecipeError, match=message):
            list(niah_gen.iter_rows({**CONTROLLED, **changes}))
