"""Intervals and tests of means and differences, against formulas, exact tests and simulated needles."""

from __future__ import annotations

import math
import random
from statistics import NormalDist

import numpy as np
import pytest
from coverage import covered, design, told_apart
from each import each
from hypothesis import given
from hypothesis import strategies as st
from made_clusters import Row, difference_of, ends, graded, of, some_rows, steady, these

from niah_score.statistics.clusters import Clusters
from niah_score.statistics.intervals import (
    NOTHING,
    ONE_NEEDLE,
    Interval,
    clopper_pearson,
    differences,
    interval_text,
    means,
    needles_note,
)

Z = NormalDist().inv_cdf(0.975)
# Two-sided 95 % quantiles of Student's t by degrees of freedom.
T = {2: 4.302652729911275, 5: 2.570581835636314}


def exact(right: float, n: float) -> tuple[float, float]:
    """Clopper and Pearson's interval in percent."""
    low, high = clopper_pearson(np.array([right / n]), np.array([float(n)]))
    return 100 * float(low[0]), 100 * float(high[0])


def by_needle(*right: int, of_rows: int) -> list[Row]:
    """Rows of needles with `of_rows` rows each; `right` counts each needle's right ones."""
    return [(100.0 * (k < count), f"n{a}", f"h{a}") for a, count in enumerate(right) for k in range(of_rows)]


@steady
@given(n=st.integers(1, 300), data=st.data())
def test_the_exact_interval_ends_where_binomial_tails_are_2_5_percent(n: int, data: st.DataObject) -> None:
    right = data.draw(st.integers(0, n))
    low, high = (end / 100 for end in exact(right, n))

    def tail(p: float, first: int, last: int) -> float:
        return math.fsum(math.comb(n, k) * p**k * (1 - p) ** (n - k) for k in range(first, last + 1))

    assert low == 0 if right == 0 else tail(low, right, n) == pytest.approx(0.025, rel=1e-6)
    assert high == 1 if right == n else tail(high, 0, right) == pytest.approx(0.025, rel=1e-6)


def test_no_rows_have_no_interval() -> None:
    empty = np.zeros(0, np.int64)
    clusters = Clusters(empty, 2, empty, empty)
    assert means(clusters, np.zeros(0)) == [NOTHING, NOTHING]
    assert differences(clusters, np.zeros(0)) == [(NOTHING, None)] * 2


@steady
@given(rows=some_rows)
def test_intervals_are_within_0_to_100_contain_the_mean_and_are_narrower_for_these_needles(
    rows: list[Row],
) -> None:
    interval = of(rows)
    assert interval.n == len(rows)
    assert interval.mean == pytest.approx(sum(row[0] for row in rows) / len(rows))
    assert interval.mean is not None
    low, high = these(interval)
    assert 0 <= low <= interval.mean <= high <= 100
    if {row[1] for row in rows} - {None} and len({row[1] for row in rows}) == 1:
        assert (interval.low, interval.high, interval.method) == (None, None, ONE_NEEDLE)
    else:
        assert 0 <= ends(interval)[0] <= low + 1e-6
        assert high - 1e-6 <= ends(interval)[1] <= 100


@steady
@given(rows=some_rows, seed=st.integers(0, 99))
def test_the_order_of_rows_changes_only_the_last_digits(rows: list[Row], seed: int) -> None:
    mixed = of(random.Random(seed).sample(rows, len(rows)))
    for one, other in zip(of(rows), mixed, strict=True):
        assert one == (other if other is None or isinstance(other, str) else pytest.approx(other, abs=1e-5))


@steady
@given(parts=st.lists(some_rows, min_size=1, max_size=5))
def test_many_groups_at_once_agree_with_each_group_alone(parts: list[list[Row]]) -> None:
    rows = [(number, *row) for number, part in enumerate(parts) for row in part]
    named = sorted({row[2] for row in rows if row[2]})
    haystacks = sorted({row[3] or "" for row in rows})
    together = means(
        Clusters(
            np.array([row[0] for row in rows]),
            len(parts) + 1,
            np.array([named.index(row[2]) if row[2] else len(named) + k for k, row in enumerate(rows)]),
            np.array([haystacks.index(row[3] or "") for row in rows]),
            named=len(named),
        ),
        np.array([row[1] for row in rows]),
    )
    assert together[-1] == NOTHING
    for interval, part in zip(together, parts, strict=False):
        alone = of(part)
        assert (interval.n, interval.method) == (alone.n, alone.method)
        for one, other in zip(interval, alone, strict=True):
            assert one == (other if other is None or isinstance(other, str) else pytest.approx(other, abs=1e-5))


def test_the_interval_is_exact_for_the_number_of_rows_that_needles_are_worth() -> None:
    """By hand: six needles with 12 to 18 of 20 right, so V is that of the mean of their shares, and t has 5 df."""
    shares = np.array([12, 18, 15, 13, 17, 14]) / 20
    interval = of(by_needle(12, 18, 15, 13, 17, 14, of_rows=20))
    mean, variance = shares.mean(), shares.var(ddof=1) / 6
    rows_worth = mean * (1 - mean) / variance * (Z / T[5]) ** 2
    assert 6 < rows_worth < 120
    assert ends(interval) == pytest.approx(exact(mean * rows_worth, rows_worth), abs=1e-5)
    assert these(interval) == pytest.approx(exact(89, 120), abs=1e-5)
    assert interval.method == "clopper-pearson: 6 needles, rough"


def test_needles_that_are_all_right_or_all_wrong_count_as_one_row_each() -> None:
    assert ends(of(by_needle(20, 20, 0, of_rows=20))) == pytest.approx(exact(2, 3), abs=1e-5)


@each("needles", [2, 3, 6, 34])
@each("level", [0, 100])
def test_needles_that_all_agree_count_as_one_trial_each(needles: int, level: int) -> None:
    """All of k needles are right with a chance of 2.5 % if each is right with a chance of the k-th root of 2.5 %,
    however many rows a needle has.

    Of these needles alone, each row is a trial.
    """
    interval = of(by_needle(*[168 * (level == 100)] * needles, of_rows=168))
    far, near = (100 * 0.025 ** (1 / size) for size in (needles, 168 * needles))
    expected = ((far, 100), (near, 100)) if level else ((0, 100 - far), (0, 100 - near))
    assert ends(interval) == pytest.approx(expected[0], abs=1e-5)
    assert these(interval) == pytest.approx(expected[1], abs=1e-5)


def test_w_wrong_rows_of_k_needles_are_worth_at_most_k_times_w_trials() -> None:
    low, high = ends(of(by_needle(100, 100, 99, 100, 99, 99, of_rows=100)))
    assert (low, high) == pytest.approx(exact(18 * 597 / 600, 18), abs=1e-5)
    fewer = ends(of(by_needle(*[100] * 5, 99, of_rows=100)))
    assert fewer == pytest.approx(exact(6 * 599 / 600, 6), abs=1e-5)


def test_independent_rows_have_the_exact_interval_of_their_number() -> None:
    """Rows are independent if they do not say which needle they have, or if each has one of its own."""
    for needles in (False, True):
        rows: list[Row] = [(100.0 * (k < 7), f"n{k:02}" if needles else None, None) for k in range(12)]
        interval = of(rows)
        assert ends(interval) == these(interval) == pytest.approx(exact(7, 12), abs=1e-5)
        assert interval.method == f"clopper-pearson: 12 {'needles' if needles else 'rows'}"
    assert ends(of([(100.0, None, None)])) == pytest.approx((2.5, 100), abs=1e-5)


def test_rows_of_the_same_haystack_count_as_one_row() -> None:
    """5 rows of each of 12 haystacks that all agree: V is that of 12 rows, with 11 degrees of freedom."""
    interval = of([(100.0 * (h < 8), None, f"h{h:02}") for h in range(12) for _ in range(5)])
    assert ends(interval) == pytest.approx(exact(8, 12), abs=1e-5)
    assert interval.method == "clopper-pearson: 60 rows, 12 haystacks"
    assert interval.n == 60


def test_graded_scores_that_differ_little_have_nearly_the_t_interval_of_needles() -> None:
    interval = of([(50.0 + level + k / 10, f"n{level}", None) for level in (-1, 0, 1) for k in range(20)])
    assert interval.mean is not None
    low, high = ends(interval)
    reach = T[2] * math.sqrt(1 / 3)
    assert interval.mean - low == pytest.approx(reach, rel=0.03)
    assert high - interval.mean == pytest.approx(reach, rel=0.03)


def test_identical_rows_do_not_make_the_mean_certain() -> None:
    assert ends(of([(50.0, f"n{k % 6}", None) for k in range(90)])) == pytest.approx(exact(3, 6), abs=1e-5)
    assert these(of([(37.5, "n", "h")])) == pytest.approx(exact(0.375, 1), abs=1e-5)


def test_one_needle_has_an_interval_of_its_own_and_none_over_needles() -> None:
    interval = of([(100.0 * (k < 30), "n", f"h{k % 4}") for k in range(40)])
    assert (interval.low, interval.high, interval.method) == (None, None, "one needle: no interval over needles")
    assert these(interval) == pytest.approx(exact(30, 40), abs=1e-5)


def test_ten_needles_are_not_rough_and_fewer_haystacks_than_needles_are_named() -> None:
    assert of([(100.0 * (k % 3 > 0), f"n{k % 10}", None) for k in range(70)]).method == "clopper-pearson: 10 needles"
    crossed = [(100.0 * ((a + b) % 3 > 0), f"n{a:02}", f"h{b}") for a in range(20) for b in range(4)]
    assert of(crossed).method.startswith("clopper-pearson: 20 needles, 4 haystacks")


@each("graded", [False, True])
def test_intervals_of_three_needles_cover_the_mean_of_all_such_needles(graded: bool) -> None:
    """In 93 % of datasets of 504 rows, with means of 80 % and needles that differ by a logit; plain t covers fewer.

    For 2,000 datasets the share has a standard error of 0.57 % if it is 93 %: three of them are allowed.
    """
    shares = covered(design(2_000, 3), 0.8, 1.0, np.random.default_rng(7), graded=graded)
    assert shares.ours >= 93 - 3 * 0.57
    assert shares.plain < shares.ours - 2


def test_intervals_of_scores_near_100_cover_the_mean_far_more_often_than_t() -> None:
    """With means of 95 % and needles that differ by two logits."""
    shares = covered(design(600, 3), 0.95, 2.0, np.random.default_rng(8), graded=False)
    assert shares.ours > shares.plain + 15
    assert shares.ours >= 95


def test_equal_runs_that_find_different_needles_hard_rarely_differ_significantly() -> None:
    """By chance 5 % of 600 pairs do, and three standard errors are 2.7 %. With rows as trials, half of them do."""
    for needles in (3, 6):
        shares = told_apart(design(600, needles), 0.8, 1.0, 0.7, 0.0, np.random.default_rng(9))
        assert shares.ours <= 7.7
        assert shares.mcnemar > 40


def test_p_and_interval_are_those_of_the_paired_t_test_over_the_means_of_needles() -> None:
    """By hand: 3 needles that fell by 8, 20 and 11 points; with 2 df, p is 1 - t / sqrt(2 + t^2)."""
    levels = np.array([-8.0, -20.0, -11.0])
    rows: list[Row] = [(float(level) + k - 2, f"n{a}", f"h{a}") for a, level in enumerate(levels) for k in range(5)]
    interval, p = difference_of(rows)
    error = math.sqrt(levels.var(ddof=1) / 3)
    t = 13 / error
    assert interval.mean == pytest.approx(-13)
    assert p == pytest.approx(1 - t / math.sqrt(2 + t * t), rel=1e-6)
    assert ends(interval) == pytest.approx((-13 - T[2] * error, -13 + T[2] * error), abs=1e-5)
    assert interval.method == "t: 3 needles, rough"


@steady
@given(
    rows=st.lists(
        st.tuples(st.sampled_from([-100.0, 0.0, 0.0, 100.0, 37.5]), st.sampled_from(["a", "b", "c", None]),
                  st.sampled_from(["p", "q", "r"])),
        min_size=2, max_size=30,
    )
)  # fmt: skip
def test_the_interval_of_a_difference_contains_0_unless_p_is_below_5_percent(rows: list[Row]) -> None:
    interval, p = difference_of(rows)
    assert (p is None) == (interval.low is None) == (interval.method == ONE_NEEDLE)
    if p is not None:
        low, high = ends(interval)
        assert -100 <= low <= high <= 100
        if abs(p - 0.05) > 1e-6:
            assert (low <= 0 <= high) == (p >= 0.05)
    other, same = difference_of([(-value, needle, haystack) for value, needle, haystack in rows])
    assert same == p
    assert (other.low, other.high) == (
        (None, None) if p is None else pytest.approx((-ends(interval)[1], -ends(interval)[0]), abs=1e-9)
    )


def test_equal_scores_differ_by_0_and_a_few_falls_prove_nothing() -> None:
    same, p = difference_of([(0.0, f"n{k % 3}", None) for k in range(30)])
    assert (same.mean, same.low, same.high, p) == (0, 0, 0, 1)
    # With one more row that did not fall, t is 3 / sqrt(3) x sqrt(2), with 2 degrees of freedom.
    _, p = difference_of([(-100.0, f"n{k}", None) for k in range(3)])
    assert p == pytest.approx(1 - math.sqrt(6 / 8), rel=1e-6)
    _, p = difference_of([(-100.0, f"n{k % 3}", None) for k in range(300)])
    assert p is not None
    assert 0 < p < 1e-4


def test_one_needle_has_no_test() -> None:
    interval, p = difference_of([(-50.0, "n", f"h{k % 9}") for k in range(90)])
    assert (p, interval.low, interval.high, interval.method) == (None, None, None, ONE_NEEDLE)
    assert these(interval)[1] < -48


def test_texts_give_both_intervals_at_the_ends_and_note_few_needles() -> None:
    assert interval_text(Interval(90.0, 80.0, 95.0, 9, "x", 85.0, 93.0)) == "[80.00, 95.00]"
    assert interval_text(Interval(100.0, 54.07, 100.0, 9, "x", 99.62, 100.0)) == (
        "[54.07, 100.00], of these needles [99.62, 100.00]"
    )
    assert interval_text(Interval(100.0, 54.07, 100.0, 9, "x", 54.07, 100.0)) == "[54.07, 100.00]"
    assert interval_text(Interval(90.0, None, None, 9, ONE_NEEDLE, 85.0, 93.0)) == "[85.00, 93.00] of this needle alone"
    assert interval_text(NOTHING) == "no interval"
    assert needles_note("t: 6 needles, rough") == "6 needles: intervals over fewer than ten are rough"
    assert needles_note("t: 34 needles") is None
    assert str(needles_note(ONE_NEEDLE)).startswith("One needle: ")


def test_weights_of_1_give_the_same_means_as_no_weights() -> None:
    rows = graded(6, 4, 3, 11)
    needles, haystacks = (np.array([int(str(row[at])[1:]) for row in rows]) for at in (1, 2))
    values, groups = np.array([row[0] for row in rows]), np.zeros(len(rows), np.int64)
    plain = means(Clusters(groups, 1, needles, haystacks), values)
    assert means(Clusters(groups, 1, needles, haystacks, np.ones(len(rows))), values) == plain
