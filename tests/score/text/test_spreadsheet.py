"""Texts in CSV files cannot become formulas, and are read back unchanged."""

from __future__ import annotations

from each import each
from hypothesis import given
from hypothesis import strategies as st
from properties import examples

from niah_score.text.spreadsheet import FORMULA_MARKS, as_plain_cell, from_plain_cell

texts = st.text(st.sampled_from("=+-@'\t\rab"), max_size=4)


@each("text", ["=1+1", "+1", "-1", "@x", "\tx", "\rx"])
def test_a_text_that_looks_like_a_formula_gets_a_leading_apostrophe(text: str) -> None:
    assert as_plain_cell(text) == f"'{text}"


@examples(60)
@given(texts)
def test_no_cell_begins_like_a_formula_and_other_texts_are_unchanged(text: str) -> None:
    cell = as_plain_cell(text)
    assert not cell.startswith(FORMULA_MARKS)
    assert cell == text or text.startswith(FORMULA_MARKS)


@examples(60)
@given(texts.filter(lambda text: not text.startswith("'")))
def test_a_text_is_read_back_unchanged(text: str) -> None:
    assert from_plain_cell(as_plain_cell(text)) == text
