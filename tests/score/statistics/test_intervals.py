"""How far means can be trusted: against formulas, plain loops and resampling by hand."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from made_clusters import Row, ends, graded, of, some_rows, steady

from niah_score.statistics import intervals
from niah_score.statistics.bootstrap import Resamples
from niah_score.statistics.intervals import NOTHING, grouped, interval, wilson

Z = 1.959963984540054


@steady
@given(n=st.integers(1, 5000), data=st.data())
def test_wilsons_interval_ends_where_the_share_is_z_standard_errors_away(n: int, data: st.DataObject) -> None:
    share = data.draw(st.integers(0, n)) / n
    a, b, c = 1 + Z * Z / n, -(2 * share + Z * Z / n), share * share
    root = math.sqrt(max(0.0, b * b - 4 * a * c))
    low, high = wilson(share * n, n)
    assert low == pytest.approx(100 * (-b - root) / (2 * a), abs=1e-6)
    assert high == pytest.approx(100 * (-b + root) / (2 * a), abs=1e-6)


@pytest.mark.parametrize("n", [10, 40, 200])
def test_wilsons_interval_holds_the_true_share_19_times_of_20(n: int) -> None:
    """Exactly, by the binomial distribution: 95 % on average over shares, and never much less in the middle."""
    shares = [k / 100 for k in range(5, 96)]
    covered = []
    for p in shares:
        chances = [math.comb(n, k) * p**k * (1 - p) ** (n - k) for k in range(n + 1)]
        found = [wilson(k, n) for k in range(n + 1)]
        covered.append(
            sum(
                chance
                for chance, (low, high) in zip(chances, found, strict=True)
                if low is not None and high is not None and low <= 100 * p <= high
            )
        )
    assert 0.94 < sum(covered) / len(covered) < 0.97
    assert min(covered) > 0.83


def test_no_rows_have_no_interval() -> None:
    assert wilson(0, 0) == (None, None)
    assert interval([], [], [], "") == NOTHING
    assert interval([None], ["n"], ["h"], "") == NOTHING


@steady
@given(rows=some_rows)
def test_an_interval_lies_between_0_and_100_and_holds_the_mean(rows: list[Row]) -> None:
    found = of(rows)
    low, high = ends(found)
    assert found.n == len(rows)
    assert found.mean == pytest.approx(sum(row[0] for row in rows) / len(rows))
    assert found.mean is not None
    assert 0 <= low <= found.mean <= high <= 100


@steady
@given(rows=some_rows, seed=st.integers(0, 99))
def test_the_order_of_rows_and_rows_without_a_score_make_no_difference(rows: list[Row], seed: int) -> None:
    mixed = random.Random(seed).sample(rows, len(rows))
    assert of(mixed) == of(rows)
    values, needles, haystacks = zip(*rows, strict=True)
    assert interval([*values, None], [*needles, "n1"], [*haystacks, "h9"], "seed") == of(rows)


@steady
@given(parts=st.lists(some_rows, min_size=1, max_size=5))
def test_many_groups_at_once_are_what_each_is_alone(parts: list[list[Row]]) -> None:
    rows = sorted((number, value, n or "", h or "") for number, part in enumerate(parts) for value, n, h in part)
    columns = list(zip(*rows, strict=True))
    names = [sorted(set(column)) for column in columns[2:]]
    needles, haystacks = (
        np.array([known.index(name) for name in column]) for known, column in zip(names, columns[2:], strict=True)
    )
    together = grouped(
        np.array(columns[0]), len(parts) + 1, np.array(columns[1]), needles, haystacks, Resamples("seed")
    )
    assert together[-1] == NOTHING
    for found, part in zip(together, parts, strict=False):
        alone = of(part)
        assert (found.n, found.method) == (alone.n, alone.method)
        assert found[:3] == pytest.approx(alone[:3], abs=1e-9)


def cluster_robust(rows: Sequence[Row]) -> float:
    """The variance of the mean by loops, as the module's docstring has it."""
    mean = sum(row[0] for row in rows) / len(rows)

    def part(key: Callable[[Row], object]) -> float:
        sums: dict[object, float] = {}
        for row in rows:
            sums[key(row)] = sums.get(key(row), 0.0) + row[0] - mean
        k = len(sums)
        return sum(total**2 for total in sums.values()) * k / (k - 1) / len(rows) ** 2 if k > 1 else 0.0

    one, other, both = part(lambda row: row[1]), part(lambda row: row[2]), part(lambda row: row[1:])
    return max(one, other, one + other - both)


@pytest.mark.parametrize("shape", [(3, 4, 3), (6, 6, 2), (1, 9, 3), (9, 1, 3), (40, 20, 1)])
def test_beyond_many_clusters_the_interval_is_the_mean_and_196_cluster_robust_errors(
    shape: tuple[int, int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(intervals, "MOST_CLUSTERS", 1)
    rows = graded(*shape, 11)
    found = of(rows)
    assert found.method.startswith("normal: ")
    low, high = ends(found)
    assert found.mean is not None
    assert high - found.mean == pytest.approx(Z * math.sqrt(cluster_robust(rows)))
    assert found.mean - low == pytest.approx(Z * math.sqrt(cluster_robust(rows)))


def test_at_many_clusters_bootstrap_and_normal_limit_meet(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ends of 1,000 resamples have a standard error of 8 % of the mean's; four of them, of a half width of 1.96."""
    rows = graded(1, 400, 2, 12)
    low, high = ends(of(rows))
    monkeypatch.setattr(intervals, "MOST_CLUSTERS", 1)
    other_low, other_high = ends(of(rows))
    half = (other_high - other_low) / 2
    assert abs(low - other_low) < 0.2 * half
    assert abs(high - other_high) < 0.2 * half


@steady
@given(right=st.integers(0, 12), wrong=st.integers(0, 12), needles=st.booleans())
def test_independent_right_and_wrong_rows_have_wilsons_interval(right: int, wrong: int, *, needles: bool) -> None:
    n = right + wrong
    if not n:
        return
    rows: list[Row] = [(100.0 * (k < right), f"n{k:02}" if needles else None, None) for k in range(n)]
    found = of(rows)
    assert found.method == "wilson"
    assert ends(found) == pytest.approx(wilson(right, n))


def test_rows_that_repeat_their_haystack_count_as_little_more_than_its_one() -> None:
    """5 rows of each of 12 haystacks that all agree: n is 60 x 11 / 59 and not 60."""
    rows: list[Row] = [(100.0 * (h < 8), None, f"h{h:02}") for h in range(12) for _ in range(5)]
    found = of(rows)
    n = 60 * 11 / 59
    low, high = ends(found)
    share = 8 / 12
    middle, half = (
        (share + Z * Z / 2 / n) / (1 + Z * Z / n),
        Z / (1 + Z * Z / n) * math.sqrt(share * (1 - share) / n + Z * Z / 4 / n**2),
    )
    assert (low, high) == pytest.approx((100 * (middle - half), 100 * (middle + half)))
    assert found.method == "wilson: haystacks"
    assert found.n == 60


def test_rows_that_all_say_the_same_are_not_taken_for_certain() -> None:
    assert ends(of([(100.0, "n", "h")] * 9)) == pytest.approx(wilson(9, 9))
    assert ends(of([(50.0, f"n{k}", None) for k in range(9)])) == pytest.approx(wilson(4.5, 9))
    assert ends(of([(37.5, "n", "h")])) == pytest.approx(wilson(0.375, 1))


def test_needles_and_haystacks_that_split_the_rows_alike_are_one_factor() -> None:
    rows = graded(9, 1, 3, 13)
    assert of([(value, needle, needle) for value, needle, _ in rows]) == of([(v, n, None) for v, n, _ in rows])


def test_differences_are_never_right_or_wrong_and_reach_from_minus_100_to_100() -> None:
    codes = np.arange(6)
    apart = np.array([-100.0, 0, 0, 0, 0, -100])
    found = grouped(np.zeros(6, np.int64), 1, apart, codes, codes, Resamples("seed"), signed=True)[0]
    assert found.method == "bootstrap: needles"
    assert found.low is not None
    assert found.low < -50
    assert found.high == 0
