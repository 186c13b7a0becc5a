"""Controls: how each changes an item, and the phrase that says the document does not state the answer."""

from __future__ import annotations

from typing import Any

import pytest
from each import each
from rendering import library

import niah_gen
from niah_gen.errors import RecipeError
from niah_gen.prompts.templates import POSITIONS
from niah_gen.recipe.read import load_recipe
from niah_gen.tasks.base import not_stated
from niah_gen.tasks.needle_library import needle_library
from niah_score.contract import Row
from niah_score.metrics import Chunk, Target
from niah_score.metrics.keyword import judge_keyword
from niah_score.scoring.findings import findings_of

FACTS = {"en": ("drawer 417", "417"), "zh": ("第283号铁柜", "283")}


@each("language", ["en", "zh"])
def test_our_templates_ask_for_the_phrase_that_the_absent_control_expects(language: str) -> None:
    phrase = not_stated(language).rstrip(".。")
    template = library(f"niah-{language}")
    assert set(template.wordings) == set(POSITIONS)
    for wording in template.wordings.values():
        for form in wording.forms():
            assert sum(message["content"].count(phrase) for message in wording.messages(form)) == 1


@each("language", ["en", "zh"])
def test_the_phrase_in_quotes_bold_or_lower_case_counts_as_said_absent(language: str) -> None:
    phrase = not_stated(language)
    bare = phrase.rstrip(".。")
    fact, keyword = FACTS[language]
    answers = [phrase, bare, f"“{bare}”", f'"{bare}"', bare.lower(), f"**{bare}**"]
    for reference in (phrase, fact):
        target = Target((reference,), ((keyword,),), language=language)
        findings = findings_of(Chunk(answers, [target] * len(answers)), ["ok"] * len(answers))
        assert findings == ["said_absent"] * len(answers)


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


def test_twins_share_the_haystack_length_depth_and_seed_of_their_row() -> None:
    rows = rows_by_control()
    for needle in ("velden-archive", "quillerby-last-train"):
        row = rows[needle, None]
        for control in ("absent", "conflict", "literal"):
            twin = rows[needle, control]
            assert twin["haystack_id"] == row["haystack_id"]
            assert (twin["length"], twin["depth_percent"], twin["seed"]) == (
                row["length"], row["depth_percent"], row["seed"],
            )  # fmt: skip
        assert rows[needle, "absent"]["needles"] == row["needles"][1:]
        assert rows[needle, "absent"]["question"] == row["question"]


def test_the_literal_control_asks_the_needles_own_question() -> None:
    rows = rows_by_control()
    needle = needle_library()["velden-archive"]
    assert rows["velden-archive", None]["question"] == needle.paraphrase
    assert rows["velden-archive", "literal"]["question"] == needle.question
    assert rows["velden-archive", "literal"]["needles"] == rows["velden-archive", None]["needles"]


def test_a_conflict_follows_the_needle_and_both_facts_are_expected() -> None:
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


@each(
    ("changes", "message"),
    [
        ({"controls": ["literal"], "paraphrase": False}, "already uses the needle's own words"),
        ({"controls": ["conflict"], "needles": ["ellersea-tram-shed"]}, "has no text that says otherwise"),
        ({"controls": ["absnet"]}, "has no control 'absnet'; did you mean 'absent'"),
    ],
)
def test_a_control_that_an_item_does_not_support_is_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(RecipeError, match=message):
        list(niah_gen.iter_rows({**RECIPE, **changes}))


def test_a_resolved_recipe_stores_control_texts_only_if_a_control_needs_them() -> None:
    table = load_recipe(RECIPE).table()
    assert all(needle.keys() >= {"literal", "conflict"} for needle in table["needles"])  # type: ignore[attr-defined]
    plain = load_recipe({**RECIPE, "controls": ["absent"]}).table()
    assert not any(needle.keys() & {"literal", "conflict"} for needle in plain["needles"])  # type: ignore[attr-defined]
    assert load_recipe(table) == load_recipe(RECIPE)


@pytest.mark.slow
def test_say_hops_adds_a_hint_to_the_questions_of_chains_only() -> None:
    recipe = {**RECIPE, "needles": ["chain-en", "list-en"], "controls": [], "lengths": [2000]}
    hinting = {**recipe, "options": {"distractors": 2, "say_hops": True}}
    for row, hinted in zip(niah_gen.iter_rows(recipe), niah_gen.iter_rows(hinting), strict=True):
        chain = needle_library()[row["needle_id"] or ""].kind == "chain"
        assert row["question"] is not None
        assert hinted["question"] == row["question"] + (
            " Several passages of the document have to be put together to find out." if chain else ""
        )
