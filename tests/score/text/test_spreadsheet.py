"""Texts in CSV files are no formulas, and are read back as they were."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from properties import examples

from niah_score.text.spreadsheet import FORMULA_MARKS, as_plain_cell, from_plain_cell

texts = st.text(st.sampled_from("=+-@'\t\rab"), max_size=4)


@pytest.mark.parametrize("text", ["=1+1", "+1", "-1", "@x", "\tx", "\rx"])
def test_what_a_spreadsheet_would_take_for_a_formula_begins_with_an_apostrophe(text: str) -> None:
    assert as_plain_cell(text) == f"'{text}"


@examples(60)
@given(texts)
def test_no_text_begins_like_a_formula_and_most_stay_as_they_are(text: str) -> None:
    found = as_plain_cell(text)
    assert not found.startswith(FORMULA_MARKS)
    assert found == text or text.startswith(FORMULA_MARKS)


@examples(60)
@given(texts.filter(lambda text: not text.startswith("'")))
def test_a_text_is_read_back_as_it_was(text: str) -> None:
    assert from_plain_cell(as_plain_cell(text)) == text
