"""NeedleBench's names.json and needles.jsonl: how they are read, and how invalid files are reported."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from each import each
from needlebench import write_names, write_needles

from niah_gen.errors import RecipeError
from niah_gen.tasks.published.needlebench_files import NeedleLine, is_published, read_names, read_needles


def test_names_and_needles_are_read_in_file_order(tmp_path: Path) -> None:
    assert read_names(write_names(tmp_path, 3), "zh") == ("人物0000", "人物0001", "人物0002")
    first, second, *_ = read_needles(write_needles(tmp_path, 2))
    assert first == NeedleLine(
        "Hidden on Island00 is the legendary Item00.",
        "What legendary item is hidden on Island00?Please answer in the format of 'The legendary item hidden on the "
        "Island00 is ______.'",
        "Island00", "Item00", "en",
    )  # fmt: skip
    assert (second.language, second.keyword) == ("zh", "宝物00")


def test_names_are_not_stripped_just_as_in_the_published_code(tmp_path: Path) -> None:
    file = tmp_path / "names.json"
    file.write_text(json.dumps({"English": "Ann, Bob", "Chinese": "甲"}), "utf-8")
    assert read_names(file, "en") == ("Ann", " Bob")


def test_a_changed_file_is_read_again(tmp_path: Path) -> None:
    assert len(read_names(write_names(tmp_path, 3), "en")) == 3
    assert len(read_names(write_names(tmp_path, 4), "en")) == 4


def test_stand_ins_are_not_taken_for_the_published_files(tmp_path: Path) -> None:
    assert not is_published(write_names(tmp_path), "names.json")
    assert not is_published(write_needles(tmp_path), "needles.jsonl")


@each(
    ("text", "problem"),
    [
        ("[]", "options.names: names.json: expected"),
        ("{", "options.names: names.json: not JSON in UTF-8"),
        ('{"English": "Ann"}', "expected names joined by commas under 'Chinese'; found None"),
        ('{"English": ["Ann"], "Chinese": "甲"}', "expected names joined by commas under 'English'"),
    ],
)
def test_an_invalid_names_file_is_reported(tmp_path: Path, text: str, problem: str) -> None:
    file = tmp_path / "names.json"
    file.write_text(text, "utf-8")
    with pytest.raises(RecipeError) as caught:
        read_names(file, "en")
    assert problem in str(caught.value)


@each(
    ("line", "problem"),
    [
        ("", "options.needles: needles.jsonl has no needles"),
        ("{", "options.needles: needles.jsonl:2: not JSON"),
        ('{"needle": "x"}', "needles.jsonl:2: expected an object with the texts needle, retrieval_question"),
        (
            json.dumps({"needle": "x", "retrieval_question": "x", "arg1": "x", "arg2": "x", "language": "French"}),
            "needles.jsonl:2: language is 'French', expected English or Chinese",
        ),
    ],
)
def test_an_invalid_needles_file_is_reported_with_its_line(tmp_path: Path, line: str, problem: str) -> None:
    file = tmp_path / "needles.jsonl"
    file.write_text(f"\n{line}\n", "utf-8")
    with pytest.raises(RecipeError) as caught:
        read_needles(file)
    assert problem in str(caught.value)


def test_a_file_that_cannot_be_read_is_reported(tmp_path: Path) -> None:
    with pytest.raises(RecipeError, match=r"options.names: .* cannot be read"):
        read_names(tmp_path / "no.json", "en")
