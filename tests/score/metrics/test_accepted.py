"""The strict metrics that compare with accepted answers: what all of them forgive, and which answer counts."""

from __future__ import annotations

import unicodedata
from collections import Counter

import pytest
from each import each
from hypothesis import given
from hypothesis import strategies as st
from judged import judged, odd, value
from properties import examples

from niah_score.text import fold


@pytest.mark.parametrize("metric", ["exact", "char_f1", "word_f1"])
@examples(150)
@given(one=odd, other=odd)
def test_answer_and_reference_are_interchangeable(metric: str, one: str, other: str) -> None:
    assert value(metric, one, other) == value(metric, other, one)


@pytest.mark.parametrize("metric", ["exact", "edit", "char_f1", "word_f1"])
@examples(150)
@given(text=odd)
def test_a_text_scores_100_against_itself_in_any_case_and_spacing(metric: str, text: str) -> None:
    for spelling in (text, text.upper(), f" {text}\n", unicodedata.normalize("NFD", text)):
        assert value(metric, spelling, text) == 100


@pytest.mark.parametrize("metric", ["exact", "char_f1", "word_f1"])
@examples(150)
@given(text=odd, answers=st.lists(odd, min_size=1, max_size=4))
def test_the_best_of_the_accepted_answers_counts(metric: str, text: str, answers: list[str]) -> None:
    assert value(metric, text, *answers) == max(value(metric, text, answer) for answer in answers)


@each("metric", ["exact", "edit", "char_f1", "word_f1"])
def test_accepted_answers_that_begin_with_the_prefix_also_count_without_it(metric: str) -> None:
    """MRCR's accepted answers begin with it; an extracted answer does not repeat it."""
    assert value(metric, "A poem of snow", "aYooSG8CQgA poem of snow", prefix="aYooSG8CQg") == 100
    assert value(metric, "aYooSG8CQgA poem of snow", "aYooSG8CQgA poem of snow", prefix="aYooSG8CQg") == 100
    assert value(metric, "A poem of snow", "aYooSG8CQgA poem of snow") < 100


def test_exact_edit_char_f1_and_word_f1_neither_need_nor_use_keywords() -> None:
    for metric in ("exact", "edit", "char_f1", "word_f1"):
        assert judged(metric, "a b", "a b") == judged(metric, "a b", "a b", keywords=(("zzz",),)) == (100, {})


def test_emoji_and_combining_marks_count_as_characters() -> None:
    assert value("char_f1", "😀😀", "😀") == pytest.approx(200 / 3)
    assert Counter(fold("ε\u0301")) == {"έ": 1}
    assert value("edit", "I say 👩‍👩‍👧 here", "👩‍👩‍👧") == 100
