"""Controls: what is left of an item, and the words for what the document does not state."""

from __future__ import annotations

from typing import Any

import pytest

import niah_gen
from niah_gen.errors import RecipeError
from niah_gen.prompts.templates import POSITIONS, template_library
from niah_gen.recipe.read import load_recipe
from niah_gen.tasks.controls import not_stated
from niah_gen.tasks.needle_library import needle_library
from niah_score.contract import Row
from niah_score.metrics import Chunk, Target
from niah_score.metrics.keyword import judge_keyword
from niah_score.scoring.findings import findings_of

FACTS = {"en": ("drawer 417", "417"), "zh": ("第283号铁柜", "283")}


@pytest.mark.parametrize("language", ["en", "zh"])
def test_our_templates_ask_for_the_words_that_the_control_absent_expects(language: str) -> None:
    words = not_stated(language).rstrip(".。")
    template = template_library()[f"niah-{language}"]
    assert set(template.wordings) == set(POSITIONS)
    for wording in template.wordings.values():
        for form in wording.forms():
            assert sum(message["content"].count(words) for message in wording.messages(form)) == 1


@pytest.mark.parametrize("language", ["en", "zh"])
def test_who_says_these_words_says_that_the_text_does_not_tell(language: str) -> None:
    words = not_stated(language)
    bare = words.rstrip(".。")
    fact, keyword = FACTS[language]
    answers = [words, bare, f"“{bare}”", f'"{bare}"', bare.lower(), f"**{bare}**"]
    for reference in (words, fact):
        target = Target((reference,), ((keyword,),), language=language)
        found = findings_of(Chunk(answers, [target] * len(answers)), ["ok"] * len(answers), [None] * len(answers), ())
        assert found == ["said_absent"] * len(answers)


RECIPE = {
    "lengths": [1000],
    "depths": [50],
    "needles": ["velden-archive", "quillerby-last-train"],
    "corpora": ["en_essays"],
    "options": {"distractors": 2},
    "paraphrase": True,
    "controls": ["absent", "no_context", "conflict", "literal"],
}


def rows_by_control() -> dict[tuple[str, str | None], Row]:
    return {(row["needle_id"] or "", row["control"]): row for row in niah_gen.iter_rows(RECIPE)}


def test_twins_share_their_rows_haystack_and_stand_where_it_stands() -> None:
    found = rows_by_control()
    for needle in ("velden-archive", "quillerby-last-train"):
        row = found[needle, None]
        for control in ("absent", "conflict", "literal"):
            twin = found[needle, control]
            assert twin["haystack_id"] == row["haystack_id"]
            assert (twin["length"], twin["depth_percent"], twin["seed"]) == (
                row["length"], row["depth_percent"], row["seed"],
            )  # fmt: skip
        assert found[needle, "absent"]["needles"] == row["needles"][1:]
        assert found[needle, "absent"]["question"] == row["question"]


def test_the_literal_question_is_the_needles_own() -> None:
    found = rows_by_control()
    needle = needle_library()["velden-archive"]
    assert found["velden-archive", None]["question"] == needle.paraphrase
    assert found["velden-archive", "literal"]["question"] == needle.question
    assert found["velden-archive", "literal"]["needles"] == found["velden-archive", None]["needles"]


def test_a_conflict_stands_behind_the_needle_and_both_facts_are_asked_for() -> None:
    twin = rows_by_control()["velden-archive", "conflict"]
    needle = needle_library()["velden-archive"]
    assert needle.conflict is not None
    assert twin["needles"][:2] == [needle.needles[0], needle.conflict.text]
    assert len(twin["keywords"]) == 2
    assert twin["keywords"][1] == list(needle.conflict.value)
    assert twin["metric"] == "keyword"
    target = Target(tuple(twin["answers"]), tuple(map(tuple, twin["keywords"])), language="en")
    both = f"{needle.answers[0]} or {needle.conflict.value[0]}"
    assert judge_keyword(both, target).value == 100
    assert judge_keyword(needle.answers[0], target).value == 50


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"controls": ["literal"], "paraphrase": False}, "already uses the needle's own words"),
        ({"controls": ["conflict"], "needles": ["ellersea-tram-shed"]}, "has no text that says otherwise"),
        ({"controls": ["absnet"]}, "has no control 'absnet'; did you mean 'absent'"),
    ],
)
def test_a_control_that_an_item_has_nothing_for_is_refused(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(RecipeError, match=words):
        list(niah_gen.iter_rows({**RECIPE, **changes}))


def test_recipes_hold_what_only_their_controls_need() -> None:
    table = load_recipe(RECIPE).table()
    assert all(needle.keys() >= {"literal", "conflict"} for needle in table["needles"])  # type: ignore[attr-defined]
    plain = load_recipe({**RECIPE, "controls": ["absent"]}).table()
    assert not any(needle.keys() & {"literal", "conflict"} for needle in plain["needles"])  # type: ignore[attr-defined]
    assert load_recipe(table) == load_recipe(RECIPE)


def test_a_chain_says_that_there_are_hops_where_it_is_to() -> None:
    recipe = {**RECIPE, "needles": ["chain-en", "list-en"], "controls": [], "lengths": [2000]}
    said = {**recipe, "options": {"distractors": 2, "say_hops": True}}
    for row, hinted in zip(niah_gen.iter_rows(recipe), niah_gen.iter_rows(said), strict=True):
        chain = needle_library()[row["needle_id"] or ""].kind == "chain"
        assert row["question"] is not None
        assert hinted["question"] == row["question"] + (
            " Several passages of the document have to be put together to find out." if chain else ""
        )
