"""p values against their definitions: exact tests, sign flips, and adjustments for there being several."""

from __future__ import annotations

import math
import random
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from properties import examples

from niah_score.statistics.significance import _sign_flips, benjamini_hochberg, holm, mcnemar, p_values

steady = examples(60)


@steady
@given(one=st.integers(0, 60), other=st.integers(0, 60))
def test_mcnemar_is_the_exact_binomial_test(one: int, other: int) -> None:
    trials = one + other
    tail = sum(math.comb(trials, k) for k in range(min(one, other) + 1)) / 2**trials
    assert mcnemar(one, other) == pytest.approx(min(1.0, 2 * tail), rel=1e-9)


def test_mcnemar_of_many_rows_is_near_its_normal_limit() -> None:
    """With the correction for continuity, half a row."""
    one, other = 250_000, 251_000
    z = (other - one - 1) / math.sqrt(one + other)
    assert mcnemar(one, other) == pytest.approx(math.erfc(z / math.sqrt(2)), rel=1e-3)
    assert mcnemar(0, 0) == mcnemar(70_000, 70_000) == 1.0


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
@given(sums=st.lists(st.integers(-9, 9), min_size=1, max_size=9))
def test_few_clusters_have_their_signs_flipped_in_all_ways(sums: list[int]) -> None:
    codes = np.arange(len(sums))
    found = _sign_flips(np.zeros(len(sums), np.int64), 1, np.array(sums, np.float64), codes, codes, np.array([0]))
    ways = [abs(sum(s * v for s, v in zip(signs, sums, strict=True))) for signs in product((1, -1), repeat=len(sums))]
    assert found[0] == pytest.approx(sum(way >= abs(sum(sums)) for way in ways) / len(ways))


@pytest.mark.parametrize("count", [60, 400, 900])
def test_random_flips_of_many_clusters_are_near_the_normal_limit(count: int) -> None:
    """10,000 flips have a standard error of 0.5 % at most; four of them."""
    draw = random.Random(count)
    apart = np.array([draw.gauss(1, 12) for _ in range(count)])
    codes = np.arange(count)
    found = _sign_flips(np.zeros(count, np.int64), 1, apart, codes, codes, np.array([0]))[0]
    limit = math.erfc(abs(float(apart.sum())) / math.sqrt(2 * float((apart**2).sum())))
    assert found == pytest.approx(limit, abs=0.02)


@steady
@given(values=st.lists(st.floats(0, 1), min_size=1, max_size=8))
def test_benjamini_and_hochberg_reject_what_stepping_up_rejects(values: list[float]) -> None:
    """The largest rank k with p(k) <= k / m * level, and all below it."""
    adjusted = benjamini_hochberg(values)
    for level in (0.01, 0.05, 0.3):
        ordered = sorted(values)
        reached = max((k for k, p in enumerate(ordered, 1) if p * (len(values) / k) <= level), default=0)
        assert sum(a <= level for a in adjusted) == sum(p <= (ordered[reached - 1] if reached else -1) for p in values)


def test_benjamini_and_hochberg_in_numbers() -> None:
    """By hand: 0.01 x 4/1, 0.02 x 4/2 and 0.03 x 4/3 are all 0.04; 0.5 stays."""
    assert benjamini_hochberg([0.03, 0.5, 0.01, 0.02]) == pytest.approx([0.04, 0.5, 0.04, 0.04])
    assert holm([0.03, 0.5, 0.01, 0.02]) == pytest.approx([0.06, 0.5, 0.04, 0.06])
    assert benjamini_hochberg([]) == holm([]) == []


def test_weighted_right_and_wrong_rows_have_their_signs_flipped() -> None:
    """Three rows that only one run has right, one of them counting double: 2 of 8 ways are as far apart."""
    codes, rows = np.zeros(3, np.int64), np.arange(3)
    one, other = np.array([100.0, 100.0, 100.0]), np.zeros(3)
    ((p, test),) = p_values(codes, 1, one, other, rows, rows)
    assert p == pytest.approx(0.25)
    assert test == "mcnemar"
    assert p_values(codes, 1, one, other, rows, rows, np.array([2.0, 0.5, 0.5])) == [(0.25, "sign flips")]
    # 200 - 50 - 50 is the least apart that they can be.
    mixed = np.array([0.0, 100.0, 100.0])
    assert p_values(codes, 1, mixed, 100 - mixed, rows, rows, np.array([2.0, 0.5, 0.5])) == [(1.0, "sign flips")]
