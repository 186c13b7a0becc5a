"""Quantiles, against sums of the binomial distribution, closed formulas and printed tables."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from properties import examples

from niah_score.statistics.quantiles import beta_quantile, incomplete_beta, t_quantile, t_tail

steady = examples(100)

# Two-sided 95 % quantiles of Student's t as statistical tables print them.
TABLE = {1: 12.706, 2: 4.303, 3: 3.182, 4: 2.776, 5: 2.571, 9: 2.262, 19: 2.093, 33: 2.035, 100: 1.984, 1000: 1.962}


def below(x: float, a: float, b: float) -> float:
    return float(incomplete_beta(np.array([x]), np.array([a]), np.array([b]))[0])


def quantile(share: float, a: float, b: float) -> float:
    return float(beta_quantile(np.array([share]), np.array([a]), np.array([b]))[0])


@steady
@given(a=st.integers(1, 80), b=st.integers(1, 80), x=st.floats(0.001, 0.999))
def test_incomplete_beta_is_a_binomial_tail(a: int, b: int, x: float) -> None:
    """The chance that a or more of a + b - 1 trials are right, each with chance x."""
    trials = a + b - 1
    tail = math.fsum(math.comb(trials, k) * x**k * (1 - x) ** (trials - k) for k in range(a, trials + 1))
    assert below(x, a, b) == pytest.approx(tail, rel=1e-9, abs=1e-300)


@steady
@given(x=st.floats(1e-9, 1 - 1e-9), k=st.floats(0.01, 1e5))
def test_incomplete_beta_is_a_power_if_b_is_1_and_its_sides_add_up(x: float, k: float) -> None:
    assert below(x, k, 1) == pytest.approx(x**k, rel=1e-7, abs=1e-300)
    assert below(x, k, 2.5) + below(1 - x, 2.5, k) == pytest.approx(1, abs=1e-9)


@steady
@given(
    share=st.sampled_from([0.025, 0.975, 0.5, 0.95, 1e-6]),
    a=st.floats(0.05, 1e6),
    b=st.floats(0.05, 1e6),
)
def test_the_share_below_a_beta_quantile_is_the_requested_share(share: float, a: float, b: float) -> None:
    """To within 1e-11: the requested share is between the shares just below and just above the quantile."""
    x = quantile(share, a, b)
    assert 0 <= x <= 1
    step = 1e-11 + 1e-9 * min(x, 1 - x)
    assert below(max(x - step, 0), a, b) <= share + 1e-8
    assert below(min(x + step, 1), a, b) >= share - 1e-8


def test_t_quantiles_match_printed_tables() -> None:
    quantiles = t_quantile(np.array(list(TABLE), np.float64), 0.95)
    assert quantiles.round(3).tolist() == list(TABLE.values())


def test_t_quantiles_are_exact_where_there_is_a_formula() -> None:
    """One degree of freedom is the Cauchy distribution; for two, t = (2p - 1) / sqrt(2 p (1 - p))."""
    one, two = t_quantile(np.array([1.0, 2.0]), 0.95)
    assert one == pytest.approx(math.tan(math.pi * 0.475), rel=1e-9)
    assert two == pytest.approx(0.95 / math.sqrt(2 * 0.975 * 0.025), rel=1e-9)


@steady
@given(df=st.floats(0.5, 1e5), t=st.floats(0, 50))
def test_the_t_quantile_inverts_the_tail_of_t(df: float, t: float) -> None:
    (tail,) = t_tail(np.array([t]), np.array([df]))
    if tail < 1e-6 or t < 1e-6:
        return
    (back,) = t_quantile(np.array([df]), 1 - tail)
    assert back == pytest.approx(t, rel=1e-5, abs=1e-6)


def test_far_tails_of_t_keep_their_precision() -> None:
    """For two degrees of freedom the tail is 1 - t / sqrt(2 + t^2), which is 1 / t^2 far out."""
    assert t_tail(np.array([1e5]), np.array([2.0]))[0] == pytest.approx(1e-10, rel=1e-6)
