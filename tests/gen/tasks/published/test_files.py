"""Files of users: a wrong field is named with what it holds and what was expected; a changed file is read again."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from niah_gen.errors import RecipeError
from niah_gen.tasks.published.files import field, json_lines, json_of, read_once


def test_a_wrong_field_is_named_with_its_place_what_it_holds_and_what_was_expected() -> None:
    kinds: Any
    for kinds, right, wrongs in (
        ("a text", "x", (None, " ", 3, ["x"])),
        ("a list of texts", ["x"], (None, "x", [1])),
        ("texts by name", {"a": "x"}, (None, ["x"], {"a": 1})),
        ("objects by name", {"a": {}}, (None, {"a": "x"})),
    ):
        assert field({"f": right}, "f", kinds, "file:3") == right
        assert field({"f": type(right)()}, "f", kinds, "file:3", "usual") == "usual"
        for wrong in wrongs:
            with pytest.raises(RecipeError) as caught:
                field({"f": wrong}, "f", kinds, "file:3")
            assert caught.value.problems == (f"file:3: f is {wrong!r}; expected {kinds}",)
    with pytest.raises(RecipeError, match=r"file:3: expected an object with f; found \[\]"):
        field([], "f", "a text", "file:3")


def test_what_is_not_json_in_utf8_is_refused_with_its_line(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_bytes(b'\xef\xbb\xbf{"a": 1}\n\n[2]\n')
    assert list(json_lines(tmp_path / "a.jsonl", "file")) == [
        ({"a": 1}, "options.file: a.jsonl:1"), ([2], "options.file: a.jsonl:3"),
    ]  # fmt: skip
    for data in (b"{", b'"\xff"', '"\\ud800"', "[" * 100_000, ""):
        with pytest.raises(RecipeError, match="here: not JSON in UTF-8"):
            json_of(data, "here")


def test_a_file_is_read_again_only_when_it_changes(tmp_path: Path) -> None:
    reads: list[str] = []

    @read_once
    def read(path: Path, more: str) -> Any:
        reads.append(more)
        return json.loads(path.read_text())

    file = tmp_path / "a.json"
    for text, time in (("1", 1), ("1", 1), ("2", 2)):
        file.write_text(text)
        os.utime(file, (time, time))
        assert (read(file, "a"), read(file, "b")) == (int(text), int(text))
    assert reads == ["a", "b"] * 2
