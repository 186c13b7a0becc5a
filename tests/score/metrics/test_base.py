"""What every metric promises: a judge of one answer, the parts it declares, and a fast version that agrees."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from properties import examples

from niah_score.metrics import METRICS, Chunk, Metric, Score, Target, default_metrics, judge_all

FAST = [name for name, metric in METRICS.items() if metric.many is not None]

texts = st.text("ab1, *小明。\n\u3000\u0301😀", max_size=12)
# Read as regular expressions, these are literals.
groups = st.lists(st.lists(st.text("ab1小明", min_size=1, max_size=3), min_size=1, max_size=2), max_size=3)
targets = st.builds(
    lambda answers, keywords, needles, prefix, language: Target(
        tuple(answers), tuple(map(tuple, keywords)), tuple(needles), prefix, language
    ),
    st.lists(texts, min_size=1, max_size=3),
    groups,
    st.lists(texts, max_size=3),
    st.none() | texts,
    st.sampled_from(["en", "zh"]),
)
rows_of_targets = st.lists(st.tuples(texts, targets), max_size=5)


def alone(metric: str, rows: list[tuple[str, Target]]) -> list[Score]:
    return [METRICS[metric].judge(text, target) for text, target in rows]


def together(metric: str, rows: list[tuple[str, Target]]) -> list[Score]:
    columns = judge_all(METRICS[metric], Chunk([text for text, _ in rows], [target for _, target in rows]))
    assert all(len(column) == len(rows) for column in (columns.values, *columns.parts.values()))
    return [
        Score(value, {name: column[place] for name, column in columns.parts.items()})
        for place, value in enumerate(columns.values)
    ]


def is_of(value: Any, kind: object) -> bool:
    """Whether a part is of its declared type; None is of every type."""
    if kind == list[bool]:
        return value is None or (type(value) is list and all(type(one) in (bool, type(None)) for one in value))
    return value is None or type(value) is kind


@pytest.mark.parametrize("metric", METRICS)
@examples(60)
@given(text=texts, target=targets)
def test_a_value_is_0_to_100_or_none_and_parts_are_those_declared(metric: str, text: str, target: Target) -> None:
    score = METRICS[metric].judge(text, target)
    assert score.value is None or 0 <= score.value <= 100
    assert list(score.parts) == list(METRICS[metric].parts)
    assert all(is_of(score.parts[name], kind) for name, kind in METRICS[metric].parts.items())


@pytest.mark.parametrize("metric", FAST)
@examples(60)
@given(rows=rows_of_targets)
def test_a_fast_version_agrees_with_judging_each_row_alone(metric: str, rows: list[tuple[str, Target]]) -> None:
    assert together(metric, rows) == alone(metric, rows)


@pytest.mark.parametrize("metric", FAST)
@examples(60)
@given(
    texts=st.lists(st.text("ab1 ,.中文字é😀", max_size=12), min_size=16, max_size=24),
    reference=st.text("ab1 .中文字é😀", min_size=1, max_size=8),
    other=st.text("ab1中", max_size=4),
)
def test_a_fast_version_agrees_with_judging_each_of_many_rows_of_one_target(
    metric: str, texts: list[str], reference: str, other: str
) -> None:
    target = Target((reference, other), (("a1", "中"), ("b",)), (reference, "b"))
    rows = [(text, target) for text in texts]
    assert together(metric, rows) == alone(metric, rows)


def test_every_default_metric_has_a_fast_version() -> None:
    assert set(default_metrics()) <= set(FAST)


def test_a_metric_without_a_fast_version_judges_one_row_after_another() -> None:
    def judge(answer: str, target: Target) -> Score:
        return Score(100.0 * (answer == target.answers[0]), {"size": len(answer)})

    columns = judge_all(Metric("own", "strict", judge, parts={"size": int}), Chunk(["a", "bb"], [Target(("a",))] * 2))
    assert columns == ([100.0, 0.0], {"size": [1, 2]})


def test_every_metric_is_registered_under_its_name() -> None:
    assert [metric.name for metric in METRICS.values()] == list(METRICS)


def test_the_default_metrics_are_those_of_the_design() -> None:
    assert default_metrics() == ["keyword", "exact", "edit", "char_f1", "cdme", "cdme_trim", "cdme_multi"]
