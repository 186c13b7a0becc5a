"""Pass keys and number strings: one number hidden in noise, and only the whole number is right."""

from __future__ import annotations

from typing import Any

from each import each
from of_families import ROWS

import niah_gen
from niah_gen.tasks.passkeys import NUMBER_STRING, PASSKEY
from niah_gen.tasks.records import Item
from niah_score.contract import Row
from niah_score.metrics.keyword import judge_keyword
from niah_score.metrics.target import target_of


def rows_of(task: str, **changes: Any) -> list[Row]:
    recipe = {"name": task, "task": task, "template": "key-values", "lengths": [1000], "depths": [0, 41, 100]}
    return list(niah_gen.iter_rows({**recipe, "guide": False, "languages": ["en", "zh"], **changes}))


@each(("task", "digits"), [("passkey", 5), ("number-string", 10)])
def test_the_number_occurs_twice_and_no_other_digits_occur(task: str, digits: int) -> None:
    for row in rows_of(task):
        number = row["answers"][0]
        assert len(number) == digits
        assert str(row["prompt"]).count(number) == 2
        assert "".join(filter(str.isdigit, str(row["prompt"]))) == number * 2


@each("task", ["passkey", "number-string"])
def test_no_two_repeats_have_the_same_number(task: str) -> None:
    rows = rows_of(task, repeats=300, depths=[50], languages=["en"])
    assert len({row["answers"][0] for row in rows}) == len({row["prompt"] for row in rows}) == 300


@each("task", ["passkey", "number-string"])
def test_only_the_whole_number_is_right(task: str) -> None:
    for row in rows_of(task, depths=[50]):
        target = target_of(row)
        number = row["answers"][0]
        assert judge_keyword(f"It is {number}.", target).value == 100
        for wrong in (number[:-1], number[1:], number + "1", "1" + number, f"{number[:-1]} {number[1:]}"):
            assert judge_keyword(f"It is {wrong}.", target).value == 0, wrong


@each("task", [PASSKEY, NUMBER_STRING])
def test_an_extra_number_in_the_prompt_is_refused(task: Any) -> None:
    item = Item("x", "en", None, ("1",), (), "keyword")
    for row in rows_of(task.name):
        assert list(ROWS[task.name](row, item)) == []
        damaged: Any = {**row, "prompt": str(row["prompt"]).replace("blue", "blue 4711", 1).replace("蓝", "蓝4711", 1)}
        assert list(ROWS[task.name](damaged, item))
