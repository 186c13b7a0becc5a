"""Ids, texts and errors: what counts as one, in whatever format they stand."""

from __future__ import annotations

import json

import pytest
from answer_files import Read, between, problem, texts

from niah_score.formats import Answer


@pytest.mark.parametrize("value", ["NaN", "Infinity", "-Infinity", "1e999", "1.5", "0", "true", "false", "{}", '["x"]'])
def test_what_is_not_text_is_malformed(read: Read, value: str) -> None:
    message = problem(read(between(f'{{"id": "a", "prediction": {value}}}')))
    assert message.startswith("the answer is not text: prediction is ")


def test_integer_ids_are_their_digits_and_001_stays(read: Read) -> None:
    lines = [1, "1", "001", -7]
    found = read("".join(json.dumps({"id": name, "prediction": "x"}) + "\n" for name in lines))
    assert [record.id for record in found if isinstance(record, Answer)] == ["1", "1", "001", "-7"]


@pytest.mark.parametrize("value", ["null", "true", "1.5", "1e3", '""', "[]", "{}", "NaN"])
def test_what_is_no_id_is_malformed(read: Read, value: str) -> None:
    assert problem(read(between(f'{{"id": {value}, "prediction": "x"}}'))).startswith("id is ")


def test_an_id_like_a_date_is_text(read: Read) -> None:
    assert texts(read('{"id": "2024-01-01", "prediction": "2024-01-01"}')) == {"2024-01-01": "2024-01-01"}


def test_null_is_no_answer_and_parts_are_joined(read: Read) -> None:
    parts = [{"type": "text", "text": "a"}, {"type": "image_url", "image_url": {}}, {"type": "text", "text": "b"}]
    chat = [{"role": "assistant", "content": "no"}, {"role": "assistant", "content": parts}, {"role": "user"}]
    values = {"n": None, "p": parts, "e": [], "c": chat}
    lines = "".join(json.dumps({"id": name, "prediction": value}) + "\n" for name, value in values.items())
    assert texts(read(lines)) == {"n": None, "p": "ab", "e": "", "c": "ab"}


@pytest.mark.parametrize(
    "value", ['[{"role": "user", "content": "x"}]', '[{"type": "text"}]', '["x", {"type": "text"}]']
)
def test_lists_without_an_answer_are_malformed(read: Read, value: str) -> None:
    assert "the answer is not text" in problem(read(between(f'{{"id": "a", "prediction": {value}}}')))


def test_errors_keep_one_line_and_500_characters(read: Read) -> None:
    (found,) = read(json.dumps({"id": "a", "error": "x\n\ty " * 1000}))
    assert isinstance(found, Answer)
    assert found.error is not None
    assert found.error.startswith("x y x y")
    assert len(found.error) == 500
    assert found.text is None
