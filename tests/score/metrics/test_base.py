"""What every metric promises: a judge of one answer, the parts it declares, and targets that do not mix."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from judged import odd
from properties import examples

from niah_score.metrics import METRICS, Target, default_metrics

texts = st.text("ab1, *小明。\n\u3000\u0301😀", max_size=12) | odd
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


def is_of(value: Any, kind: object) -> bool:
    """Whether a part is of its declared type; None is of every type."""
    if kind == list[bool]:
        return value is None or (type(value) is list and all(type(one) in (bool, type(None)) for one in value))
    return value is None or type(value) is kind


@examples(100)
@given(text=texts, target=targets)
def test_a_value_is_0_to_100_or_none_and_parts_are_those_declared(text: str, target: Target) -> None:
    for name, metric in METRICS.items():
        score = metric.judge(text, target)
        assert score.value is None or 0 <= score.value <= 100, name
        assert list(score.parts) == list(metric.parts), name
        assert all(is_of(score.parts[part], kind) for part, kind in metric.parts.items()), name


def test_the_default_metrics_are_those_of_the_design() -> None:
    assert default_metrics() == ["keyword", "exact", "edit", "char_f1", "cdme", "cdme_trim", "cdme_multi"]
