"""p values adjusted for multiple tests, against the definitions."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from properties import examples

from niah_score.statistics.significance import benjamini_hochberg, holm

steady = examples(60)


@steady
@given(values=st.lists(st.floats(0, 1), min_size=1, max_size=8))
def test_holm_rejects_what_stepping_down_rejects(values: list[float]) -> None:
    adjusted = holm(values)
    for level in (0.01, 0.05, 0.3):
        ordered = sorted(values)
        kept = next((k for k, p in enumerate(ordered) if p * (len(values) - k) > level), len(values))
        rejected = set(ordered[:kept])
        assert {p for p, a in zip(values, adjusted, strict=True) if a <= level} == rejected


@steady
@given(values=st.lists(st.floats(0, 1), min_size=1, max_size=8))
def test_benjamini_and_hochberg_reject_what_stepping_up_rejects(values: list[float]) -> None:
    """The largest rank k with p(k) <= k / m * level, and all below it."""
    adjusted = benjamini_hochberg(values)
    for level in (0.01, 0.05, 0.3):
        ordered = sorted(values)
        reached = max((k for k, p in enumerate(ordered, 1) if p * (len(values) / k) <= level), default=0)
        assert sum(a <= level for a in adjusted) == sum(p <= (ordered[reached - 1] if reached else -1) for p in values)


def test_holm_and_benjamini_hochberg_match_values_by_hand() -> None:
    """By hand: 0.01 x 4/1, 0.02 x 4/2 and 0.03 x 4/3 are all 0.04; 0.5 stays."""
    assert benjamini_hochberg([0.03, 0.5, 0.01, 0.02]) == pytest.approx([0.04, 0.5, 0.04, 0.04])
    assert holm([0.03, 0.5, 0.01, 0.02]) == pytest.approx([0.06, 0.5, 0.04, 0.06])
    assert benjamini_hochberg([]) == holm([]) == []
