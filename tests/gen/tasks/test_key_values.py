"""Values of keys in lines, JSON and noise: wording, distinct lines, proofs that refuse damage, scoring."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from each import each
from family_checks import check_pairs
from of_families import ROWS
from proved import RowProver

import niah_gen
from niah_gen.errors import RecipeError
from niah_gen.recipe.read import load_recipe
from niah_gen.rows.plan import make_plan
from niah_gen.tasks.key_values import NUMBER_STRING, PASSKEY
from niah_gen.tasks.records import Item
from niah_score.contract import CorpusEntry, Manifest, Row, TokenizerEntry
from niah_score.metrics.keyword import judge_keyword
from niah_score.metrics.target import target_of

RECIPE: dict[str, Any] = {
    "name": "keys", "task": "key-values", "template": "key-values", "lengths": [1000, 2000], "depths": [0, 41, 100],
    "guide": False, "languages": ["en", "zh"],
}  # fmt: skip
# The options of RULER's eight tasks.
VARIANTS: dict[str, dict[str, Any]] = {
    "single_1": {"haystack": "noise"},
    "single_2": {"haystack": "essay"},
    "single_3": {"haystack": "essay", "value_type": "uuids"},
    "multikey_1": {"haystack": "essay", "keys": 4},
    "multikey_2": {"haystack": "needles"},
    "multikey_3": {"haystack": "needles", "key_type": "uuids", "value_type": "uuids"},
    "multivalue": {"haystack": "essay", "values": 4},
    "multiquery": {"haystack": "essay", "queries": 4},
}


def rows_of(options: dict[str, Any], **changes: Any) -> list[Row]:
    return list(niah_gen.iter_rows({**RECIPE, "options": options, **changes}))


def row_of(options: dict[str, Any], language: str, **changes: Any) -> Row:
    return rows_of(options, languages=[language], lengths=[1000], depths=[41], **changes)[0]


def test_one_value_is_asked_for_in_the_singular_and_several_in_the_plural() -> None:
    single = str(row_of({"haystack": "noise"}, "en")["prompt"])
    assert single.startswith("A special magic number is hidden within the following text. Make sure to memorize it.")
    assert "\nQuestion: What is the special magic number for " in single
    several = str(row_of({"haystack": "noise", "queries": 3}, "en")["prompt"])
    assert several.startswith(
        "Some special magic numbers are hidden within the following text. Make sure to memorize them."
    )
    question = several.splitlines()[-2]
    assert question.startswith("Question: What are all the special magic numbers for ")
    assert question.count(",") == 2
    assert ", and " in question
    assert ", and " not in str(row_of({"haystack": "noise", "queries": 2}, "en")["question"])
    assert "请记住它。" in str(row_of({"haystack": "noise"}, "zh")["prompt"])
    assert "请记住它们。" in str(row_of({"haystack": "noise", "values": 2}, "zh")["prompt"])


def test_the_asked_line_is_at_the_depth_and_the_others_are_spread_evenly() -> None:
    for row in rows_of({"keys": 4}, spread="even", lengths=[4000]):
        depth = row["depth_percent"] or 0.0
        expected = [depth + (100 - depth) * number / 4 for number in range(4)]
        assert row["needle_depths"] == pytest.approx(expected, abs=1.0)
        assert len(row["decoys"]) == 3
        assert row["metric"] == "correct"


def test_no_key_has_more_values_than_the_asked_one() -> None:
    row = row_of({"values": 4}, "en", tokenizer="o200k_base")
    keys = [line.split(" for ")[1].split(" is: ")[0] for line in str(row["prompt"]).splitlines() if " is: " in line]
    assert max(keys.count(key) for key in set(keys)) == 4


def test_the_absent_twin_expects_none_when_its_question_offers_it() -> None:
    for language, none in (("en", "none"), ("zh", "无")):
        row, twin = rows_of(
            {"offer_none": True, "keys": 2}, languages=[language], lengths=[1000], depths=[41], controls=["absent"]
        )
        assert twin["question"] == row["question"]
        assert none in str(row["question"])
        assert twin["answers"] == [none]
        assert row["answers"][0] not in str(twin["prompt"])
        assert len(twin["needles"]) == 1
        assert twin["haystack_id"] == row["haystack_id"]


def test_a_placement_is_refused_when_no_corpus_is_read() -> None:
    with pytest.raises(RecipeError, match="makes its own contexts; leave placement out"):
        load_recipe({**RECIPE, "placement": "gkamradt"})


def prover_of(recipe: dict[str, Any]) -> RowProver:
    plan = make_plan(load_recipe(recipe))
    tokenizer = TokenizerEntry(plan.tokenizer.name, plan.tokenizer.sha256)
    corpora: tuple[CorpusEntry, ...] = ()
    manifest = Manifest(1, "keys", "1.0.0", plan.digest, "", "", tokenizer, corpora, 3, 0, ())
    return RowProver(plan.recipe, [plan.parts[0].task], manifest, plan.tokenizer)


@each("language", ["en", "zh"])
@each(
    ("change", "message"),
    [
        (lambda lines: [*lines, lines[0].replace("1", "2")], "values, expected at most 1"),
        (lambda lines: [lines[0], with_value_of(lines[1], lines[2]), *lines[2:]], "is the value of two lines"),
    ],
)
def test_a_key_with_two_values_or_a_value_on_two_lines_is_refused(
    language: str, change: Callable[[list[str]], list[str]], message: str
) -> None:
    recipe = {**RECIPE, "languages": [language], "lengths": [1000], "depths": [100]}
    row: Any = next(iter(niah_gen.iter_rows(recipe)))
    prover = prover_of(recipe)
    assert prover.prove(row, f"{language}-1k").problems == ()
    opening, context, question = row["prompt"].split("\n\n")
    row["prompt"] = "\n\n".join([opening, "\n".join(change(context.split("\n"))), question])
    problems = prover.prove(row, f"{language}-1k").problems
    assert any(message in problem for problem in problems), problems


def with_value_of(line: str, other: str) -> str:
    """A line with its seven digits replaced by those of another."""
    at, there = (text.rstrip(".。") for text in (line, other))
    return line.replace(at[-7:], there[-7:])


def test_a_row_whose_truth_is_not_in_its_prompt_is_refused() -> None:
    recipe = {**RECIPE, "languages": ["en"], "lengths": [1000], "depths": [41], "options": {"keys": 2}}
    row: Any = next(iter(niah_gen.iter_rows(recipe)))
    value, decoy = row["keywords"][0][0], row["decoys"][0][0]
    row["prompt"] = row["prompt"].replace(value, "1000000").replace(decoy, "2000000")
    problems = prover_of(recipe).prove(row, "en-1k").problems
    assert any("but keywords are" in problem for problem in problems), problems
    assert any("decoys: no other key has the value" in problem for problem in problems), problems


ITEM = Item("uuid", "en", None, ("1",), (), "keyword")


def json_rows(**changes: Any) -> list[Row]:
    recipe = {
        "name": "json", "task": "json-key-values", "template": "key-values", "lengths": [1000, 4000], "guide": False,
        "depths": [0, 41, 100], "languages": ["en", "zh"],
    }  # fmt: skip
    return list(niah_gen.iter_rows({**recipe, **changes}))


def test_the_context_is_one_json_object_with_the_answer_under_the_asked_key() -> None:
    for row in json_rows(controls=["absent"]):
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
    row = json_rows(languages=["en"], lengths=[1000])[0]
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
    row = json_rows(languages=["en"], lengths=[1000], depths=[0])[0]
    assert list(check_pairs(row, ITEM)) == []
    damaged: Any = {**row, "prompt": change(row["prompt"])}
    problems = list(check_pairs(damaged, ITEM))
    assert any(message in problem for problem in problems), problems


def number_rows(task: str, **changes: Any) -> list[Row]:
    recipe = {"name": task, "task": task, "template": "key-values", "lengths": [1000], "depths": [0, 41, 100]}
    return list(niah_gen.iter_rows({**recipe, "guide": False, "languages": ["en", "zh"], **changes}))


@each(("task", "digits"), [("passkey", 5), ("number-string", 10)])
def test_the_number_occurs_twice_and_no_other_digits_occur(task: str, digits: int) -> None:
    for row in number_rows(task):
        number = row["answers"][0]
        assert len(number) == digits
        assert str(row["prompt"]).count(number) == 2
        assert "".join(filter(str.isdigit, str(row["prompt"]))) == number * 2


@each("task", ["passkey", "number-string"])
def test_no_two_repeats_have_the_same_number(task: str) -> None:
    rows = number_rows(task, repeats=300, depths=[50], languages=["en"])
    assert len({row["answers"][0] for row in rows}) == len({row["prompt"] for row in rows}) == 300


@each("task", ["passkey", "number-string"])
def test_only_the_whole_number_is_right(task: str) -> None:
    for row in number_rows(task, depths=[50]):
        target = target_of(row)
        number = row["answers"][0]
        assert judge_keyword(f"It is {number}.", target).value == 100
        for wrong in (number[:-1], number[1:], number + "1", "1" + number, f"{number[:-1]} {number[1:]}"):
            assert judge_keyword(f"It is {wrong}.", target).value == 0, wrong


@each("task", [PASSKEY, NUMBER_STRING])
def test_an_extra_number_in_the_prompt_is_refused(task: Any) -> None:
    item = Item("x", "en", None, ("1",), (), "keyword")
    for row in number_rows(task.name):
        assert list(ROWS[task.name](row, item)) == []
        damaged: Any = {**row, "prompt": str(row["prompt"]).replace("blue", "blue 4711", 1).replace("蓝", "蓝4711", 1)}
        assert list(ROWS[task.name](damaged, item))
