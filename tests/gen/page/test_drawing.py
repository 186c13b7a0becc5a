"""How a row is drawn: everything in its prompt is marked at its place, and never more is shown than fits."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hostile import HOSTILE, SURROGATES
from hypothesis import given
from hypothesis import strategies as st
from properties import examples

import niah_gen
from niah_gen.page.drawing import drawn
from niah_score.contract import COLUMNS
from niah_score.html.document import as_json

CHARS = st.characters() | st.sampled_from("\u2028\u202e😀é\u0301文 ")


@pytest.fixture(scope="module")
def rows() -> list[dict[str, Any]]:
    """A key and its value among three near-equal ones, the twin without it, and one with the question alone."""
    recipe = {
        "task": "key-values",
        "lengths": [1500],
        "depths": [50],
        "languages": ["en"],
        "controls": ["absent", "no_context"],
        "options": {"keys": 4},
    }
    return [dict(row) for row in niah_gen.iter_rows(recipe)]


def test_needle_near_misses_and_question_are_marked_at_their_places(rows: list[dict[str, Any]]) -> None:
    row = rows[0]
    drawing = drawn(row, 1300)
    for kind, message, start, end, number, depth, sound in drawing["marks"]:
        text = row["prompt"][start:end]
        if kind == "question":
            assert text == row["question"]
        else:
            at = row["needles"].index(text)
            assert (kind, number) == (("needle", 1) if at == 0 else ("near miss", None))
            assert depth == round(row["needle_depths"][at], 2)
        assert (message, sound) == (0, True)
    assert [mark[2] for mark in drawing["marks"]] == sorted(mark[2] for mark in drawing["marks"])
    pieces = drawing["messages"][0][2]
    marked = [piece[1] for piece in pieces if isinstance(piece, list)]
    assert sorted(marked) == sorted([*row["needles"], row["question"]])
    assert (drawing["tokens"], drawing["budget"]) == (row["prompt_tokens"], 1300)


@examples(100)
@given(
    content=st.text(CHARS, max_size=900),
    ends=st.lists(st.tuples(st.integers(-5, 1000), st.integers(-5, 600)), max_size=12),
)
def test_pieces_and_gaps_add_up_to_every_prompt(content: str, ends: list[tuple[int, int]]) -> None:
    spans = [{"start": start, "end": start + length} for start, length in ends]
    drawing = drawn({"prompt": content, "needle_spans": spans, "needles": []}, None)
    at = 0
    for piece in drawing["messages"][0][2]:
        text = piece[1] if isinstance(piece, list) else piece
        if isinstance(piece, list):
            assert drawing["marks"][piece[0]].start <= at <= at + len(text) <= drawing["marks"][piece[0]].end
        assert isinstance(text, int) or content[at : at + len(text)] == text
        at += text if isinstance(text, int) else len(text)
    assert at == len(content) == drawing["messages"][0][1]


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.sampled_from([*HOSTILE, *SURROGATES]),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["start", "end", "role", "content"]), inner)
    ),
    max_leaves=6,
)


@examples(100)
@given(row=st.dictionaries(st.sampled_from(COLUMNS), VALUES))
def test_a_row_with_values_of_any_type_is_drawn_without_an_error(row: dict[str, Any]) -> None:
    text = as_json(drawn(row, None))
    assert json.loads(text)["messages"] is not None
    text.encode()
