"""The draws of NeedleBench v2: they follow its own seeds alone, whatever was drawn before."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from each import each
from hypothesis import given
from hypothesis import strategies as st
from needlebench import write_needles
from properties import examples

from niah_gen.errors import RecipeError
from niah_gen.tasks.published.needlebench_draws import (
    ATC_KINDS,
    ancestry,
    atc_asked,
    fill,
    parallel_needles,
    parallel_question,
    prompts,
    single_needle,
)
from niah_gen.tasks.published.needlebench_files import NeedleLine, read_needles

NAMES = [f"Name{number}" for number in range(40)]
WORDS = ("father", "mother", "dad", "mom")


@examples(60)
@given(seed=st.integers(0, 10**6), count=st.integers(1, 30))
def test_a_line_of_relatives_has_the_requested_length_and_counts_its_generations(seed: int, count: int) -> None:
    state = random.getstate()
    drawn = ancestry(random.Random(seed), NAMES, count, "en")
    assert random.getstate() == state
    assert len(set(drawn.people)) == count + 1 == len(drawn.facts) + 1
    generations = 0
    for elder, younger in zip(drawn.people, drawn.people[1:], strict=False):
        (fact,) = (
            fact for fact in drawn.facts
            if {word.strip(".,;'s") for word in fact.split()} >= {elder, younger}
        )  # fmt: skip
        generations += 1 if any(f" {word}" in fact and "grand" not in fact for word in WORDS) else 2
    assert drawn.generations == generations


def test_each_repeat_has_the_same_needles_in_its_own_order(tmp_path: Path) -> None:
    lines = read_needles(write_needles(tmp_path))
    orders = [parallel_needles(lines, "en", repeat, 8) for repeat in range(6)]
    assert len({frozenset(order) for order in orders}) == 1
    assert len(set(orders)) == 6
    assert parallel_needles(lines, "en", 3, 8) == orders[3]


def test_needles_of_one_prompt_differ_in_subject_and_keyword() -> None:
    lines = [
        NeedleLine(f"{subject} {keyword}", "?", subject, keyword, "en")
        for subject, keyword in (("a", "1"), ("a", "2"), ("b", "1"), ("c", "3"), ("c", "4"))
    ]
    chosen = parallel_needles(lines, "en", 0, 2)
    assert len({line.subject for line in chosen}) == len({line.keyword for line in chosen}) == 2
    with pytest.raises(RecipeError, match="differ in arg1 and arg2, too few for 4 depths"):
        parallel_needles(lines, "en", 0, 4)


def test_a_language_without_needles_is_reported(tmp_path: Path) -> None:
    lines = [line for line in read_needles(write_needles(tmp_path)) if line.language == "en"]
    with pytest.raises(RecipeError, match="no line is in 'zh'"):
        single_needle(lines, "zh", 0)


def test_a_question_about_several_needles_joins_their_questions_and_answer_formats(tmp_path: Path) -> None:
    lines = read_needles(write_needles(tmp_path, 2))
    english, chinese = ([line for line in lines if line.language == code] for code in ("en", "zh"))
    assert parallel_question(english, "en") == (
        "What legendary item is hidden on Island00?、What legendary item is hidden on Island01?Please answer in the "
        "format of 'The legendary item hidden on the Island00 is ______、"
        "The legendary item hidden on the Island01 is ______'"
    )
    assert parallel_question(chinese, "zh") == (
        "岛屿00上隐藏着什么传说中的物品？、岛屿01上隐藏着什么传说中的物品？"
        "请按照'岛屿00上隐藏着传说中的______、岛屿01上隐藏着传说中的______'的格式回答。"
    )


@each("language", ["en", "zh"])
@each("kind", ATC_KINDS)
def test_every_field_of_a_prompt_is_filled(kind: str, language: str) -> None:
    asked = atc_asked(NAMES, language, kind, 0, 5)
    assert asked.question in asked.prompt
    assert "".join(asked.ancestry.facts) in asked.prompt
    assert not any(
        f"{{{name}}}" in asked.prompt for name in ("person", "person_a", "n", "last_person", "shuffled_story")
    )


def test_braces_of_latex_and_of_values_are_left_alone() -> None:
    assert fill(r"\boxed{5} {a} {b}", {"a": "{b}", "b": "x"}) == r"\boxed{5} {b} x"


def test_both_languages_have_the_same_prompts_with_one_context_field() -> None:
    assert prompts()["en"].keys() == prompts()["zh"].keys()
    for code in ("en", "zh"):
        for name in ("single_end", "single_start", "parallel_end", "parallel_start", "reasoning_end"):
            assert prompts()[code][name].count("{context}") == 1
