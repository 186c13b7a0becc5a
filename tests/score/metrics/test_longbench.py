"""LongBench's metrics agree with an independent statement of the published formulas on any texts."""

from __future__ import annotations

import published_answers as published
import pytest
from each import each
from hypothesis import given
from hypothesis import strategies as st
from judged import judged, value
from properties import examples

english = st.text("ab the.,-\n'AN#`/ 1é", max_size=24)
worded = st.lists(
    st.sampled_from(["a", "the", "boat", "lamp", "ship", "An", ".", ". ", "x.y", "\n", "  "]), max_size=12
).map(" ".join)
chinese = st.text("船灯塔在港口，。！ a1.", max_size=14)
texts = english | worded


def assert_score(metric: str, answer: str, golds: list[str], expected: float) -> None:
    assert value(metric, answer, *golds) == pytest.approx(100 * expected, abs=1e-9)


@examples(150)
@given(answer=texts, golds=st.lists(texts, min_size=1, max_size=3))
def test_english_f1_rouge_and_code_metrics_match_the_published_formulas(answer: str, golds: list[str]) -> None:
    assert_score("longbench_qa_f1", answer, golds, published.best(published.qa_f1, answer, golds))
    assert_score("longbench_rouge", answer, golds, published.best(published.rouge, answer, golds))
    assert_score("longbench_code_sim", answer, golds, published.best(published.code_sim, answer, golds))
    line = published.first_line(answer)
    assert_score("longbench_qa_f1_line", answer, golds, published.best(published.qa_f1, line, golds))
    assert_score("longbench_rouge_line", answer, golds, published.best(published.rouge, line, golds))


@examples(80)
@given(answer=chinese, golds=st.lists(chinese, min_size=1, max_size=2))
def test_chinese_metrics_match_the_published_formulas(answer: str, golds: list[str]) -> None:
    assert_score("longbench_qa_f1_zh", answer, golds, published.best(published.qa_f1_zh, answer, golds))
    assert_score("longbench_rouge_zh", answer, golds, published.best(published.rouge_zh, answer, golds))


names = st.text("abc", min_size=1, max_size=3)


@examples(200)
@given(answer=st.text("abc \n", max_size=12), gold=names, others=st.lists(names, max_size=6))
def test_classification_matches_the_published_formula_slip_included(answer: str, gold: str, others: list[str]) -> None:
    wrong = [name for name in dict.fromkeys(others) if name != gold]
    expected = published.classification(published.first_line(answer), gold, [*wrong, gold])
    actual = value("longbench_classification", answer, gold, decoys=tuple((name,) for name in wrong))
    assert actual == pytest.approx(100 * expected)


@each(
    ("metric", "answer", "gold", "expected"),
    [
        ("longbench_retrieval", "Paragraph 15", "Paragraph 15", 100),
        ("longbench_retrieval", "15", "Paragraph 15", 100),
        ("longbench_retrieval", "Paragraph 15 of the 30", "Paragraph 15", 50),
        ("longbench_retrieval", "15.0", "Paragraph 15", 50),
        ("longbench_retrieval", "15, 15, 3", "Paragraph 15", 200 / 3),
        ("longbench_retrieval", "Paragraph 015", "Paragraph 15", 0),
        ("longbench_retrieval", "fifteen", "Paragraph 15", 0), ("longbench_retrieval", "段落15", "段落15", 100),
        ("longbench_retrieval", "段落十五", "段落15", 0), ("longbench_retrieval", "段落１５", "段落15", 0),
        ("longbench_retrieval", "1,024", "Paragraph 1024", 0), ("longbench_retrieval", "", "Paragraph 15", 0),
        ("longbench_retrieval", "15", "the fifteenth", None), ("longbench_retrieval", "15", "paragraph 15", None),
        ("longbench_retrieval", "3 3 3 4", "Paragraph 4, not Paragraph 3", 25), ("longbench_count", "17", "17", 100),
        ("longbench_count", "There are 17 of 20", "17", 50), ("longbench_count", "17.0", "17", 50),
        ("longbench_count", "017", "17", 0), ("longbench_count", "", "17", 0),
    ],
)  # fmt: skip
def test_the_formulas_forgive_some_differences_and_not_others(
    metric: str, answer: str, gold: str, expected: float | None
) -> None:
    score = value(metric, answer, gold)
    assert score == (None if expected is None else pytest.approx(expected, abs=1e-5))


def test_a_long_text_without_a_full_stop_has_a_score_where_the_package_crashes() -> None:
    """The package runs out of stack."""
    text = " ".join(f"w{number}" for number in range(1200))
    assert value("longbench_rouge", text, text) == pytest.approx(100, abs=1e-5)


def test_longbench_takes_the_best_of_several_answers() -> None:
    assert value("longbench_count", "3 3 3 4", "4", "3") == 75
    assert value("longbench_retrieval", "3 3 3 4", "Paragraph 4", "Paragraph 3") == 75
    assert value("longbench_retrieval", "3 3 3 4", "none", "Paragraph 4") == 25


@examples(300)
@given(
    parts=st.lists(
        st.sampled_from(["The correct answer is ", "the correct answer is ", *"(ABE)* \n", "**"]),
        max_size=12,
    ),
    right=st.sampled_from("AB"),
)
def test_version_2_judges_the_letter_that_its_own_rule_extracts(parts: list[str], right: str) -> None:
    letter = published.longbench_v2_letter("".join(parts))
    score, found = judged("longbench_v2", "".join(parts), right, "an option")
    assert (score, found) == (100 * (letter == right), {"parsed": bool(letter)})


@each(
    ("answer", "expected"),
    [("**The correct answer is (B)**.", 100), ("The correct answer is B", 100), ("The correct answer is Boston", 100),
     ("The correct answer is (A). No: The correct answer is (B)", 0), ("The correct answer is A (B)", 0),
     ("The correct answer is A. The correct answer is (B)", 100), ("the correct answer is (B)", 0), ("B", 0),
     ("The correct answer is: B", 0), ("The correct answer is b", 0), ("", 0)],
)  # fmt: skip
def test_version_2_takes_the_first_letter_in_brackets_and_else_the_first(answer: str, expected: float) -> None:
    assert value("longbench_v2", answer, "B") == expected
