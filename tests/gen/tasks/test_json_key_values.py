"""JSON key-values: the context is one object of UUIDs, and the question asks for the value of one key."""

from __future__ import annotations

import json
from typing import Any

import pytest
from each import each
from family_checks import check_pairs

import niah_gen
from niah_gen.tasks.records import Item
from niah_score.contract import Row
from niah_score.metrics.keyword import judge_keyword
from niah_score.metrics.target import target_of

ITEM = Item("uuid", "en", None, ("1",), (), "keyword")


def rows_of(**changes: Any) -> list[Row]:
    recipe = {
        "name": "json", "task": "json-key-values", "template": "key-values", "lengths": [1000, 4000], "guide": False,
        "depths": [0, 41, 100], "languages": ["en", "zh"],
    }  # fmt: skip
    return list(niah_gen.iter_rows({**recipe, **changes}))


def test_the_context_is_one_json_object_with_the_answer_under_the_asked_key() -> None:
    for row in rows_of(controls=["absent"]):
        context = str(row["prompt"]).split("\n\n")[1]
        assert context.startswith("{")
        assert context.endswith("}")
        pairs = json.loads(context, object_pairs_hook=list)
        asked = [value for key, value in pairs if key in str(row["question"])]
        assert asked == (row["answers"] if row["control"] is None else [])
        every = [text for pair in pairs for text in pair]
        assert len(set(every)) == len(every)
        if row["control"] is None:
            assert 0 <= (row["length"] or 0) - 200 - row["prompt_tokens"] <= 100
            place = next(number for number, (key, _) in enumerate(pairs) if key in str(row["question"]))
            assert row["needle_depths"][0] == pytest.approx(100 * place / (len(pairs) - 1), abs=1.5)


def test_only_the_whole_value_is_accepted() -> None:
    row = rows_of(languages=["en"], lengths=[1000])[0]
    target = target_of(row)
    value = row["answers"][0]
    assert judge_keyword(f'"{value}"', target).value == 100
    assert judge_keyword(value.upper(), target).value == 100
    for wrong in (value[:-1], value[1:], value[:18], value + "0"):
        assert judge_keyword(wrong, target).value == 0, wrong


@each(
    ("change", "message"),
    [
        (lambda text: text.replace("{", "{{", 1), "not a JSON object"),
        (lambda text: text.replace('",\n"', '",\n"x": "x",\n"', 1), "are repeated"),
        (lambda text: text.replace('": "', '": "0', 1), "for the asked key"),
    ],
)
def test_a_damaged_object_is_refused(change: Any, message: str) -> None:
    row = rows_of(languages=["en"], lengths=[1000], depths=[0])[0]
    assert list(check_pairs(row, ITEM)) == []
    damaged: Any = {**row, "prompt": change(row["prompt"])}
    problems = list(check_pairs(damaged, ITEM))
    assert any(message in problem for problem in problems), problems
