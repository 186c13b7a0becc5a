"""Strict JSON: keys that appear twice, encodings, numbers and nesting."""

from __future__ import annotations

import json

import pytest
from answer_files import GOOD, Read, between, problem, texts
from hypothesis import given
from hypothesis import strategies as st
from properties import examples

from niah_score.errors import ScoreError
from niah_score.formats import Answer
from niah_score.formats.record import UnreadableError
from niah_score.formats.strict_json import parse

TWICE = [
    '{"id": "a", "prediction": "x", "prediction": "y"}',
    '{"id": "a", "prediction": "\\u003a\\u0022:", "prediction"\t:"z"}',
    '{"id": "a", "prediction": "x", "usage": {"n": 1, "n": 2}}',
    '{"id": "a", "prediction": "x", "predictio\\u006e": "y"}',
]


def test_a_key_that_appears_twice_is_malformed_and_the_last_value_does_not_win(read: Read) -> None:
    for line in TWICE:
        assert "twice" in problem(read(between(line)))
        with pytest.raises(ScoreError, match="twice"):
            read("[" + ",".join([GOOD, line, GOOD]) + "]")


# JSON in every spelling: keys that appear twice, white space anywhere, quotes and colons as escapes.
_SPACE = st.sampled_from(["", "", " ", "\t", "\r"])
_PIECES = ["a", ":", '\\"', "\\u003a", "\\u003A", "\\u0022", "\\u0061", "\\\\", " "]
_STRING = st.lists(st.sampled_from(_PIECES), max_size=4).map(lambda pieces: '"' + "".join(pieces) + '"')


def _spelled(values: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    pair = st.tuples(_SPACE, _STRING, _SPACE, st.just(":"), _SPACE, values).map("".join)
    objects = st.lists(pair).map(lambda items: "{" + ",".join(items) + "}")
    return objects | st.lists(values, max_size=3).map(lambda items: "[" + ",".join(items) + "]")


@examples(150)
@given(text=st.recursive(_STRING | st.just("1"), _spelled, max_leaves=12))
def test_every_duplicate_key_is_reported_and_other_texts_are_parsed(text: str) -> None:
    twice = False

    def seen(pairs: list[tuple[str, object]]) -> dict[str, object]:
        nonlocal twice
        twice = twice or len(dict(pairs)) < len(pairs)
        return dict(pairs)

    expected = json.loads(text, object_pairs_hook=seen)
    if twice:
        with pytest.raises(UnreadableError, match="appears twice"):
            parse(text.encode())
    else:
        assert parse(text.encode()) == expected


def test_half_of_a_surrogate_pair_becomes_the_replacement_character(read: Read) -> None:
    line = '{"id": "a\\udc00", "prediction": "x\\ud800y \\ud83d\\ude42", "reasoning": "\\udfff"}'
    for text in (line + "\n", f"[\n{line}]"):
        (answer,) = read(text)
        assert isinstance(answer, Answer)
        assert (answer.id, answer.text, answer.reasoning) == ("a\ufffd", "x\ufffdy 🙂", "\ufffd")


def test_an_unterminated_string_of_escapes_is_scanned_once(read: Read) -> None:
    # Searching for its end again from every quote inside it would take hours.
    line = '{"id": "a", "prediction": [' + "[" * 64 + '"' + '\\"' * 500_000
    assert problem(read(between(line))).startswith("its brackets are nested more than 64 deep")
    assert "Unterminated string" in problem(read(between('{"id": "a", "prediction": "' + "[" * 65 + '\\"' * 500_000)))


def test_an_escaped_nul_is_kept_a_raw_one_is_malformed_and_nan_in_an_unused_field_is_ignored(read: Read) -> None:
    assert texts(read('{"id": "a", "prediction": "x\\u0000y"}')) == {"a": "x\0y"}
    assert "Invalid control character" in problem(read(between('{"id": "a", "prediction": "x\0y"}')))
    assert texts(read('{"id": "a", "prediction": "x", "score": NaN}')) == {"a": "x"}


def test_large_integer_ids_are_exact(read: Read) -> None:
    for number in (2**53 + 1, 2**63, 2**64 - 1, 2**64 + 1, -(2**63) - 1, 10**40):
        record, good = {"id": number, "prediction": "x"}, {"id": "good", "prediction": "42"}
        for text in (json.dumps(record) + "\n" + GOOD, json.dumps([record, good], indent=1)):
            assert texts(read(text)) == {str(number): "x", "good": "42"}
        assert texts(read({"uid": {"n": number}, "prediction": "x"}, id_field="uid.n")) == {str(number): "x"}


def test_deep_nesting_is_malformed_and_brackets_in_a_text_are_not_nesting(read: Read) -> None:
    for depth in (65, 300, 2_000, 100_000):
        for deep in ("[" * depth + "]" * depth, '{"a":' * depth + "1" + "}" * depth):
            message = problem(read(between(f'{{"id": "a", "prediction": "x", "more": {deep}}}')))
            assert message.startswith("its brackets are nested more than 64 deep")
    text = "[{" * 5000
    assert texts(read(json.dumps({"id": "a", "prediction": text}) + "\n")) == {"a": text}
    near = json.loads("[" * 62 + "]" * 62)
    assert texts(read(json.dumps({"id": "a", "prediction": "x", "more": near}))) == {"a": "x"}


def test_a_number_of_thousands_of_digits_is_malformed(read: Read) -> None:
    for line in (f'{{"id": {"7" * 5000}, "prediction": "x"}}', f'{{"id": "a", "prediction": {"7" * 5000}}}'):
        assert "thousands of digits" in problem(read(between(line)))
