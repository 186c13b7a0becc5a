"""Strict JSON: duplicate keys, encodings, numbers and nesting."""

from __future__ import annotations

import json

import pytest
from answer_files import GOOD, Read, between, problem, texts

from niah_score.formats import Answer


@pytest.mark.parametrize(
    "line",
    [
        '{"id": "a", "prediction": "x", "prediction": "y"}',
        '{"id": "a", "id": "b", "prediction": "x"}',
        '{"id": "a", "prediction" : "x", "prediction": "y: \\":"}',
        '{"id": "a", "prediction": "\\u003a\\u0022:", "prediction"\t:"z"}',
        '{"id": "a", "prediction": ":", "prediction": "y"}',
        '{"id": "a", "prediction": "x", "usage": {"n": 1, "n": 2}}',
        '{"id": "a", "prediction": "x", "predictio\\u006e": "y"}',
        '{"id": "a", "prediction": [{"type": "text", "text": "x", "text": "y"}]}',
    ],
)
def test_a_duplicate_key_is_malformed_and_the_last_value_does_not_win(read: Read, line: str) -> None:
    assert "twice" in problem(read(between(line)))
    array = "[" + ",".join([GOOD, line, GOOD]) + "]"
    assert "twice" in problem(read(array))


def test_a_duplicate_key_in_a_batch_line_is_malformed(read: Read) -> None:
    choice = '{"message": {"content": "42"}, "finish_reason": null}'
    good = '{"custom_id": "good", "response": {"body": {"choices": [' + choice + "]}}}\n"
    bad = good.replace('"content": "42"', '"content": "42", "content": "43"')
    assert "'content' appears twice" in problem(read(good + bad + good))


@pytest.mark.parametrize("form", ["lines", "array"])
def test_half_of_a_surrogate_pair_becomes_the_replacement_character(read: Read, form: str) -> None:
    line = '{"id": "a\\udc00", "prediction": "x\\ud800y \\ud83d\\ude42", "reasoning": "\\udfff"}'
    (answer,) = read(line + "\n" if form == "lines" else f"[\n{line}]")
    assert isinstance(answer, Answer)
    assert (answer.id, answer.text, answer.reasoning) == ("a\ufffd", "x\ufffdy 🙂", "\ufffd")


def test_an_unterminated_string_of_escapes_is_scanned_once(read: Read) -> None:
    # Searching for its end again from every quote inside it would take hours.
    line = '{"id": "a", "prediction": [' + "[" * 64 + '"' + '\\"' * 500_000
    assert problem(read(between(line))).startswith("nesting deeper than 64")
    assert "Unterminated string" in problem(read(between('{"id": "a", "prediction": "' + "[" * 65 + '\\"' * 500_000)))


def test_an_escaped_nul_is_kept_and_a_raw_nul_is_malformed(read: Read) -> None:
    assert texts(read('{"id": "a", "prediction": "x\\u0000y"}')) == {"a": "x\0y"}
    assert "Invalid control character" in problem(read(between('{"id": "a", "prediction": "x\0y"}')))


def test_nan_in_an_unused_field_is_ignored(read: Read) -> None:
    assert texts(read('{"id": "a", "prediction": "x", "score": NaN}')) == {"a": "x"}


@pytest.mark.parametrize("number", [2**53 + 1, 2**63, 2**64 - 1, 2**64 + 1, -(2**63) - 1, 10**40])
def test_large_integer_ids_are_exact(read: Read, number: int) -> None:
    record = {"id": number, "prediction": "x"}
    assert texts(read(json.dumps(record) + "\n" + GOOD)) == {str(number): "x", "good": "42"}
    assert texts(read(json.dumps([{"id": "good", "prediction": "42"}, record]))) == {str(number): "x", "good": "42"}
    assert texts(read(json.dumps({"uid": {"n": number}, "prediction": "x"}), id_field="uid.n")) == {str(number): "x"}


@pytest.mark.parametrize("depth", [65, 300, 1_000, 2_000, 100_000])
@pytest.mark.parametrize("pair", ["[]", "{}"])
def test_deep_nesting_is_malformed(read: Read, depth: int, pair: str) -> None:
    deep = "[" * depth + "]" * depth if pair == "[]" else '{"a":' * depth + "1" + "}" * depth
    message = problem(read(between(f'{{"id": "a", "prediction": "x", "more": {deep}}}')))
    assert message.startswith("nesting deeper than 64")


def test_brackets_in_a_text_are_not_nesting(read: Read) -> None:
    text = "[{" * 5000
    assert texts(read(json.dumps({"id": "a", "prediction": text}) + "\n")) == {"a": text}
    near = json.loads("[" * 62 + "]" * 62)
    assert texts(read(json.dumps({"id": "a", "prediction": "x", "more": near}))) == {"a": "x"}


def test_a_number_of_thousands_of_digits_is_malformed(read: Read) -> None:
    assert "thousands of digits" in problem(read(between(f'{{"id": {"7" * 5000}, "prediction": "x"}}')))
    assert "thousands of digits" in problem(read(between(f'{{"id": "a", "prediction": {"7" * 5000}}}')))
