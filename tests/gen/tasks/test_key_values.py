"""Values of keys in lines and noise: their wording, the depths of all lines, and what differs between repeats."""

from __future__ import annotations

from typing import Any

import pytest
from each import each

import niah_gen
from niah_score.contract import Row

RECIPE: dict[str, Any] = {
    "name": "keys", "template": "key-values", "lengths": [1000], "depths": [0, 41, 100], "guide": False,
    "languages": ["en", "zh"],
}  # fmt: skip


def rows_of(task: str, options: dict[str, Any] | None = None, **changes: Any) -> list[Row]:
    return list(niah_gen.iter_rows({**RECIPE, "task": task, "options": options or {}, **changes}))


def row_of(options: dict[str, Any], language: str, **changes: Any) -> Row:
    return rows_of("key-values", options, languages=[language], depths=[41], **changes)[0]


def test_one_value_is_asked_for_in_the_singular_and_several_in_the_plural() -> None:
    single = str(row_of({"haystack": "noise"}, "en")["prompt"])
    assert single.startswith("A special magic number is hidden within the following text. Make sure to memorize it.")
    assert "\nQuestion: What is the special magic number for " in single
    several = str(row_of({"haystack": "noise", "queries": 3}, "en")["prompt"])
    assert several.startswith("Some special magic numbers are hidden within the following text. Make sure to memorize")
    question = several.splitlines()[-2]
    assert question.startswith("Question: What are all the special magic numbers for ")
    assert (question.count(","), question.count(", and ")) == (2, 1)
    assert ", and " not in str(row_of({"haystack": "noise", "queries": 2}, "en")["question"])
    assert "请记住它。" in str(row_of({"haystack": "noise"}, "zh")["prompt"])
    assert "请记住它们。" in str(row_of({"haystack": "noise", "values": 2}, "zh")["prompt"])


def test_the_asked_line_is_at_the_depth_and_the_others_are_spread_evenly() -> None:
    for row in rows_of("key-values", {"keys": 4}, spread="even", lengths=[4000]):
        depth = row["depth_percent"] or 0.0
        expected = [depth + (100 - depth) * number / 4 for number in range(4)]
        assert row["needle_depths"] == pytest.approx(expected, abs=1.0)
        assert (len(row["decoys"]), row["metric"]) == (3, "correct")


def test_the_absent_twin_expects_none_when_its_question_offers_it() -> None:
    for language, none in (("en", "none"), ("zh", "无")):
        options = {"offer_none": True, "keys": 2}
        row, twin = rows_of("key-values", options, languages=[language], depths=[41], controls=["absent"])
        assert none in str(row["question"])
        assert (twin["question"], twin["answers"], len(twin["needles"])) == (row["question"], [none], 1)
        assert row["answers"][0] not in str(twin["prompt"])


@each("task", ["passkey", "number-string"])
def test_each_repeat_has_its_own_number(task: str) -> None:
    repeats = rows_of(task, repeats=30, depths=[50], languages=["en"])
    assert len({row["answers"][0] for row in repeats}) == 30
