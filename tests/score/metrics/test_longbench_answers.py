"""LongBench's metrics of answers: the published formulas, stated once more, give the same of any texts."""

from __future__ import annotations

import published_answers as published
import pytest
from hypothesis import given
from hypothesis import strategies as st
from judged import value
from properties import examples

english = st.text("ab the.,-\n'AN#`/ 1é", max_size=24)
worded = st.lists(
    st.sampled_from(["a", "the", "boat", "lamp", "ship", "An", ".", ". ", "x.y", "\n", "  "]), max_size=12
).map(" ".join)
chinese = st.text("船灯塔在港口，。！ a1.", max_size=14)
texts = english | worded


def same(metric: str, said: str, golds: list[str], expected: float) -> None:
    assert value(metric, said, *golds) == pytest.approx(100 * expected, abs=1e-9)


@examples(150)
@given(said=texts, golds=st.lists(texts, min_size=1, max_size=3))
def test_word_f1_rouge_and_code_are_the_published_formulas(said: str, golds: list[str]) -> None:
    same("longbench_qa_f1", said, golds, published.best(published.qa_f1, said, golds))
    same("longbench_rouge", said, golds, published.best(published.rouge, said, golds))
    same("longbench_code_sim", said, golds, published.best(published.code_sim, said, golds))
    line = published.first_line(said)
    same("longbench_qa_f1_line", said, golds, published.best(published.qa_f1, line, golds))
    same("longbench_rouge_line", said, golds, published.best(published.rouge, line, golds))


@examples(80)
@given(said=chinese, golds=st.lists(chinese, min_size=1, max_size=2))
def test_chinese_metrics_are_the_published_formulas(said: str, golds: list[str]) -> None:
    same("longbench_qa_f1_zh", said, golds, published.best(published.qa_f1_zh, said, golds))
    same("longbench_rouge_zh", said, golds, published.best(published.rouge_zh, said, golds))


names = st.text("abc", min_size=1, max_size=3)


@examples(200)
@given(said=st.text("abc \n", max_size=12), gold=names, others=st.lists(names, max_size=6))
def test_classification_is_the_published_formula_slip_and_all(said: str, gold: str, others: list[str]) -> None:
    wrong = [name for name in dict.fromkeys(others) if name != gold]
    expected = published.classification(published.first_line(said), gold, [*wrong, gold])
    found = value("longbench_classification", said, gold, decoys=tuple((name,) for name in wrong))
    assert found == pytest.approx(100 * expected)


@examples(100)
@given(said=worded, gold=worded)
def test_rouge_is_that_of_the_package_itself(said: str, gold: str) -> None:
    package = pytest.importorskip("rouge", reason="needs the package rouge")
    try:
        expected = package.Rouge().get_scores([said], [gold], avg=True)["rouge-l"]["f"]
    except Exception:  # LongBench catches whatever it raises
        expected = 0.0
    same("longbench_rouge", said, [gold], expected)


@pytest.mark.parametrize(
    ("metric", "said", "gold", "wanted"),
    [
        ("longbench_qa_f1", "The answer is Ida Holt.", "Ida Holt", 200 * 0.5 / 1.5),
        ("longbench_qa_f1", "ida-holt", "Ida Holt", 0),
        ("longbench_qa_f1", "", "Ida", 0),
        ("longbench_qa_f1_line", "\n\nIda\nHolt", "Ida", 100),
        ("longbench_qa_f1_zh", "答案是灯塔。", "灯塔", 50),
        ("longbench_rouge", "a boat a boat", "a boat", 100),
        ("longbench_rouge", "the lamp . was lit", "the lamp was lit", 100),
        ("longbench_code_sim", "```python\n# no\nx = 1\ny = 2", "x = 1", 100),
        ("longbench_code_sim", "`x`", "x = 1", 0),
    ],
)
def test_what_the_formulas_forgive_and_what_they_do_not(metric: str, said: str, gold: str, wanted: float) -> None:
    assert value(metric, said, gold) == pytest.approx(wanted, abs=1e-5)


def test_a_class_that_is_named_beside_others_earns_its_share() -> None:
    decoys = (("City",), ("Country",))
    assert value("longbench_classification", "Date", "Date", decoys=decoys) == 100
    assert value("longbench_classification", "Date or City", "Date", decoys=decoys) == 50
    assert value("longbench_classification", "City", "Date", decoys=decoys) == 0
    assert value("longbench_classification", "Other City", "Other City", decoys=decoys) == 100


def test_a_long_text_without_a_full_stop_has_a_score_where_the_package_runs_out_of_stack() -> None:
    text = " ".join(f"w{number}" for number in range(1200))
    assert value("longbench_rouge", text, text) == pytest.approx(100, abs=1e-5)
