"""Needle sets in NoLiMa's form: the questions they ask, and how invalid sets are refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from each import each

from niah_gen.errors import RecipeError
from niah_gen.tasks.published.nolima_needles import read_pairs

ENTRY: dict[str, Any] = {
    "id": "0101",
    "needle": "{CHAR} keeps {1}.",
    "questions": {"onehop": "Who has {2}?", "direct": "Who keeps {1}?"},
    "character_set": ["Wenna", "Ansel"],
    "tests": {"T1": {"input_args": ["a goose", "a bird"]}, "T2": {"input_args": ["an oar", "wood"]}},
}


def pairs(folder: Path, entries: Any, *types: str) -> Any:
    file = folder / "set.json"
    file.write_text(entries if isinstance(entries, str) else json.dumps(entries), "utf-8")
    return read_pairs(file, types)


def test_each_test_and_question_type_makes_a_pair(tmp_path: Path) -> None:
    by_id = pairs(tmp_path, [ENTRY])
    assert list(by_id) == ["0101_T1_onehop", "0101_T2_onehop"]
    pair = by_id["0101_T2_onehop"]
    assert (pair.needle_about("Wenna"), pair.question, pair.number) == ("Wenna keeps an oar.", "Who has wood?", 101)
    assert (pair.system, pair.answers, pair.distractor) == ("You are a helpful assistant", (), None)
    assert "book snippet" in pair.template


def test_the_direct_question_is_asked_when_its_type_is_named(tmp_path: Path) -> None:
    assert list(pairs(tmp_path, [ENTRY], "direct")) == ["0101_T1_direct", "0101_T2_direct"]
    with pytest.raises(RecipeError, match="no question of type threehop"):
        pairs(tmp_path, [ENTRY], "threehop")


@each(
    ("change", "problem"),
    [
        ({"id": 101}, "entry 1: id is 101, expected a text"),
        ({"id": "A101"}, "id is 'A101', expected it to begin with four digits"),
        ({"needle": " "}, "needle is ' ', expected a text"),
        ({"questions": ["Who?"]}, "questions is ['Who?'], expected texts by question type"),
        ({"tests": None}, "tests is None, expected objects by test id"),
        ({"tests": {"T1": {"input_args": "a goose"}}}, "expected input_args and, optionally, gold_answers as lists"),
        ({"character_set": "Wenna"}, "character_set is 'Wenna', expected names"),
        ({"character_set": None}, "test 'T1' has no gold_answers, and the entry has no character_set"),
        ({"task_template": "Read {haystack}."}, "task_template must have {question}"),
        ({"system_prompt": 3}, "system_prompt is 3, expected a text"),
    ],
)
def test_an_invalid_entry_is_refused_with_the_reason(tmp_path: Path, change: dict[str, Any], problem: str) -> None:
    with pytest.raises(RecipeError) as caught:
        pairs(tmp_path, [{**ENTRY, **change}])
    assert problem in str(caught.value)


def test_a_file_that_is_not_a_needle_set_is_refused(tmp_path: Path) -> None:
    for text, problem in (
        ("[", "not JSON in UTF-8"),
        ("{}", "expected a list of entries"),
        ("[]", "no question"),
        (json.dumps([ENTRY, ENTRY]), "entry 2: '0101_T1_onehop' occurs twice"),
    ):
        with pytest.raises(RecipeError) as caught:
            pairs(tmp_path, text)
        assert problem in str(caught.value)
    with pytest.raises(RecipeError, match="cannot be read"):
        read_pairs(tmp_path / "no.json", ())
