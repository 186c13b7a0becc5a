"""rouge_l: the longest common subsequence of words, as F1."""

from __future__ import annotations

import published_answers as published
import pytest
from each import each
from hypothesis import given
from hypothesis import strategies as st
from judged import value
from properties import examples

from niah_score.metrics.f1 import words_of
from niah_score.text import fold

worded = st.lists(st.sampled_from(["a", "the", "boat", "lamp", "Ship", "left", ".", "1"]), max_size=12).map(" ".join)


@examples(150)
@given(answer=worded, golds=st.lists(worded, min_size=1, max_size=3))
def test_rouge_l_is_the_f1_of_a_longest_common_subsequence(answer: str, golds: list[str]) -> None:
    def f1(gold: str) -> float:
        one, other = words_of(fold(answer), "en"), words_of(fold(gold), "en")
        if not one and not other:
            return 100.0
        return 200 * len(published.longest_common(tuple(one), tuple(other))) / (len(one) + len(other))

    assert value("rouge_l", answer, *golds) == pytest.approx(max(map(f1, golds)))


@examples(100)
@given(answer=worded, gold=worded)
def test_rouge_l_agrees_with_the_rouge_score_package(answer: str, gold: str) -> None:
    package = pytest.importorskip("rouge_score.rouge_scorer", reason="needs the package rouge-score")
    if not words_of(fold(answer), "en") and not words_of(fold(gold), "en"):
        return  # an empty answer to an empty reference: 100 here, 0 there
    scorer = package.RougeScorer(["rougeL"], use_stemmer=False)
    assert value("rouge_l", answer, gold) == pytest.approx(100 * scorer.score(gold, answer)["rougeL"].fmeasure)


@each(
    ("answer", "gold", "language", "expected"),
    [
        ("Ida lit the lamp.", "ida LIT the lamp", "en", 100),
        ("the lamp Ida lit", "Ida lit the lamp", "en", 50),
        ("the boat", "Ida lit the lamp", "en", 100 / 3),
        ("", "Ida", "en", 0),
        ("灯塔在港口。", "灯塔在港口", "zh", 100),
        ("港口在灯塔", "灯塔在港口", "zh", 100 / 3),
    ],
)
def test_word_order_matters_and_case_and_punctuation_do_not(
    answer: str, gold: str, language: str, expected: float
) -> None:
    assert value("rouge_l", answer, gold, language=language) == pytest.approx(expected)
