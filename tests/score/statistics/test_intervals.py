"""Variances, intervals and tests of clustered rows, against loops, formulas, exact tests and simulated needles."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence
from itertools import product
from statistics import NormalDist

import numpy as np
import pytest
from coverage import covered, design, told_apart
from each import each
from hypothesis import given
from hypothesis import strategies as st
from made_clusters import Row, clusters_of, difference_of, ends, of, some_rows, steady, these, values_of

from niah_score.statistics.intervals import (
    NOTHING,
    ONE_NEEDLE,
    Clusters,
    Figure,
    Spread,
    clopper_pearson,
    differences,
    distinct,
    interval_text,
    means,
    needles_note,
    weighted_means,
)

Z = NormalDist().inv_cdf(0.975)
# Two-sided 95 % quantiles of Student's t by degrees of freedom, as statistical tables print them.
T = {2: 4.302652729911275, 5: 2.570581835636314}


# Variances ------------------------------------------------------------------------------------------------------------


def spread(rows: Sequence[Row], lengths: Sequence[int] | None = None, weights: Sequence[float] | None = None) -> Spread:
    """The spread of one group, as single numbers."""
    return Spread(*(column[0] for column in clusters_of(rows, lengths, weights).spread(values_of(rows))))


def cluster_robust(rows: Sequence[Row]) -> float:
    """The variance of the mean of needles with equally many rows, by loops, as the module's docstring defines it."""
    mean = sum(row[0] for row in rows) / len(rows)

    def part(key: Callable[[Row], object]) -> float:
        sums: dict[object, float] = {}
        for row in rows:
            sums[key(row)] = sums.get(key(row), 0.0) + row[0] - mean
        k = len(sums)
        return sum(total**2 for total in sums.values()) * k / (k - 1) / len(rows) ** 2 if k > 1 else 0.0

    one, other, both = part(lambda row: row[1]), part(lambda row: row[2]), part(lambda row: row[1:])
    alone = sum((row[0] - mean) ** 2 for row in rows) / len(rows) / (len(rows) - 1)
    return max(one, other, one + other - both, alone)


def even(needles: int, haystacks: int, each: int, seed: int) -> list[Row]:
    """`each` rows for every pair of a needle and a haystack."""
    draw = random.Random(seed)
    return [
        (draw.gauss(50 + 9 * a - 4 * b, 9), f"n{a}", f"h{b}")
        for a, b, _ in product(range(needles), range(haystacks), range(each))
    ]


def test_the_variance_is_cluster_robust() -> None:
    for shape in ((3, 4, 3), (6, 6, 2), (1, 9, 3), (9, 1, 3), (20, 10, 1)):
        rows = even(*shape, 11)
        assert spread(rows).variance == pytest.approx(cluster_robust(rows)), shape


def test_the_variance_for_needles_of_unequal_weight_is_right_on_average() -> None:
    """Needles with 1, 2 and 9 rows, drawn 20,000 times: the estimate's mean is the variance of the mean."""
    sizes = (1, 2, 9)
    datasets = 20_000
    levels = np.random.default_rng(5).standard_normal((datasets, 3))
    needle = np.tile(np.repeat(np.arange(3), sizes), datasets)
    dataset = np.repeat(np.arange(datasets), sum(sizes))
    clusters = Clusters(dataset, datasets, needle, np.zeros_like(needle))
    estimates = clusters.spread(levels[dataset, needle])
    # With 20,000 draws the mean of squares is known to 1 %; four times that is allowed. Estimated by rows alone, the
    # variance would be smaller.
    assert np.mean(estimates.mean**2) == pytest.approx(sum(size**2 for size in sizes) / 144, rel=0.04)
    assert np.mean(estimates.variance) == pytest.approx(np.mean(estimates.mean**2), rel=0.06)
    assert clusters.even_needles[0] == pytest.approx(144 / 86)
    assert estimates.df[0] == 1


def test_scores_that_fall_with_length_are_not_mistaken_for_differing_haystacks() -> None:
    """By hand: 4 needles, 1 point apart, and 3 lengths with 2 haystacks each, 2 points apart.

    Needles deviate by 1.5, 0.5, 0.5 and 1.5, so V is 5 / 4^2 x 4/3; haystacks by 1 within their length, 6 / 6^2 x 6/3;
    needle and haystack by both, 24 x (5/4 + 1) / 24^2 x 24/21.
    """
    places = list(product(range(3), range(2), range(4), range(100)))
    rows: list[Row] = [(95.0 - 40 * a - 2 * h - n, f"n{n}", f"h{a}-{h}") for a, h, n, _ in places]
    lengths = [length for length, *_ in places]
    assert clusters_of(rows, lengths).haystack_df.tolist() == [3]
    assert spread(rows, lengths).variance == pytest.approx(5 / 12 + 1 / 3 - 54 / 24 / 21)
    assert spread(rows).variance > 200


@steady
@given(counts=st.lists(st.integers(1, 4), min_size=12, max_size=12), seed=st.integers(0, 20))
def test_a_row_of_weight_k_counts_like_k_rows_of_its_needle_and_haystack(counts: list[int], seed: int) -> None:
    """In the mean, the degrees of freedom, and the variance if clusters vary more than rows."""
    rows: list[Row] = [
        (value + 60 * (needle == "n1"), needle, haystack) for value, needle, haystack in even(4, 3, 1, seed)
    ]
    weighted = spread(rows, weights=[float(count) for count in counts])
    repeated = spread([row for row, count in zip(rows, counts, strict=True) for _ in range(count)])
    assert weighted[:2] == pytest.approx(repeated[:2])
    assert weighted.df == pytest.approx(repeated.df)


# Intervals of means ---------------------------------------------------------------------------------------------------


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
    clusters, none = clusters_of([], count=2), clusters_of([], count=0)
    assert means(clusters, np.zeros(0)) == weighted_means(clusters, none, np.zeros(0), np.zeros(0)) == [NOTHING] * 2
    assert [(one["n"], one["mean"], one["p"]) for one in differences(clusters, np.zeros(0))] == [(0, None, None)] * 2


@steady
@given(rows=some_rows, seed=st.integers(0, 99))
def test_intervals_contain_the_mean_and_are_narrower_for_these_needles_in_any_order(rows: list[Row], seed: int) -> None:
    one = of(rows)
    assert one.n == len(rows)
    assert one.mean == pytest.approx(sum(row[0] for row in rows) / len(rows))
    low, high = these(one)
    assert 0 <= low <= (one.mean or 0.0) <= high <= 100
    if {row[1] for row in rows} - {None} and len({row[1] for row in rows}) == 1:
        assert (one.low, one.high, one.method) == (None, None, ONE_NEEDLE)
    else:
        assert 0 <= ends(one)[0] <= low + 1e-6
        assert high - 1e-6 <= ends(one)[1] <= 100
    _almost_equal(one, of(random.Random(seed).sample(rows, len(rows))))


def _almost_equal(one: Figure, other: Figure) -> None:
    for a, b in zip(one, other, strict=True):
        assert a == (b if b is None or isinstance(b, str) else pytest.approx(b, abs=1e-5))


@steady
@given(parts=st.lists(some_rows, min_size=1, max_size=5))
def test_many_groups_at_once_agree_with_each_group_alone(parts: list[list[Row]]) -> None:
    rows = [row for part in parts for row in part]
    groups = [number for number, part in enumerate(parts) for _ in part]
    *together, last = means(clusters_of(rows, groups=groups, count=len(parts) + 1), values_of(rows))
    assert last == NOTHING
    for one, part in zip(together, parts, strict=True):
        _almost_equal(one, of(part))


def test_the_interval_is_exact_for_the_number_of_rows_that_needles_are_worth() -> None:
    """By hand: six needles with 12 to 18 of 20 right, so V is that of the mean of their shares, and t has 5 df."""
    shares = np.array([12, 18, 15, 13, 17, 14]) / 20
    one = of(by_needle(12, 18, 15, 13, 17, 14, of_rows=20))
    mean, variance = shares.mean(), shares.var(ddof=1) / 6
    rows_worth = mean * (1 - mean) / variance * (Z / T[5]) ** 2
    assert 6 < rows_worth < 120
    assert ends(one) == pytest.approx(exact(mean * rows_worth, rows_worth), abs=1e-5)
    assert these(one) == pytest.approx(exact(89, 120), abs=1e-5)
    assert one.method == "clopper-pearson: 6 needles, rough"


@each("needles", [2, 3, 6, 34])
@each("level", [0, 100])
def test_needles_that_all_agree_count_as_one_trial_each(needles: int, level: int) -> None:
    """All of k needles are right with a chance of 2.5 % if each is right with a chance of the k-th root of 2.5 %,
    however many rows a needle has.

    Of these needles alone, each row is a trial.
    """
    one = of(by_needle(*[168 * (level == 100)] * needles, of_rows=168))
    far, near = (100 * 0.025 ** (1 / size) for size in (needles, 168 * needles))
    expected = ((far, 100), (near, 100)) if level else ((0, 100 - far), (0, 100 - near))
    assert ends(one) == pytest.approx(expected[0], abs=1e-5)
    assert these(one) == pytest.approx(expected[1], abs=1e-5)


def test_few_wrong_rows_and_few_haystacks_are_worth_few_trials() -> None:
    """w wrong rows of k needles k x w, needles that are all right or all wrong one each, rows of a haystack one."""
    assert ends(of(by_needle(100, 100, 99, 100, 99, 99, of_rows=100))) == pytest.approx(
        exact(18 * 597 / 600, 18), abs=1e-5
    )
    assert ends(of(by_needle(*[100] * 5, 99, of_rows=100))) == pytest.approx(exact(6 * 599 / 600, 6), abs=1e-5)
    assert ends(of(by_needle(20, 20, 0, of_rows=20))) == pytest.approx(exact(2, 3), abs=1e-5)
    one = of([(100.0 * (h < 8), None, f"h{h:02}") for h in range(12) for _ in range(5)])
    assert (one.method, one.n) == ("clopper-pearson: 60 rows, 12 haystacks", 60)
    assert ends(one) == pytest.approx(exact(8, 12), abs=1e-5)


def test_independent_rows_have_the_exact_interval_of_their_number() -> None:
    """Rows are independent if they do not say which needle they have, or if each has one of its own."""
    for needles in (False, True):
        one = of([(100.0 * (k < 7), f"n{k:02}" if needles else None, None) for k in range(12)])
        assert ends(one) == these(one) == pytest.approx(exact(7, 12), abs=1e-5)
        assert one.method == f"clopper-pearson: 12 {'needles' if needles else 'rows'}"
    assert ends(of([(100.0, None, None)])) == pytest.approx((2.5, 100), abs=1e-5)


def test_one_needle_has_an_interval_of_its_own_and_ten_are_not_rough() -> None:
    one = of([(100.0 * (k < 30), "n", f"h{k % 4}") for k in range(40)])
    assert (one.low, one.high, one.method) == (None, None, "one needle: no interval over needles")
    assert these(one) == pytest.approx(exact(30, 40), abs=1e-5)
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


# Weighted means of parts ----------------------------------------------------------------------------------------------

EACH = (0.5, 2.0, 1.25)
parted = st.lists(
    st.tuples(
        st.sampled_from([0.0, 100.0, 100 / 3]), st.sampled_from("abcdef"), st.sampled_from("pqrs"),
        st.integers(0, 2), st.integers(0, 2), st.integers(0, 1), st.sampled_from([1.0, 0.25, 3.0]),
    ),
    min_size=1, max_size=40,
)  # fmt: skip


def weighted(
    rows: Sequence[tuple[float, str, str, int, int, int, float]], each: Sequence[float] = EACH
) -> list[Figure]:
    """The means of groups of rows: score, needle, haystack, group, part, length and the row's own weight."""
    named: list[Row] = [row[:3] for row in rows]
    group, part, length, weights = (list(column) for column in zip(*(row[3:] for row in rows), strict=True))
    present, place = distinct(np.array(group) * 10 + np.array(part))
    of_parts = clusters_of(named, length, weights, place.tolist(), len(present))
    return weighted_means(
        clusters_of(named, length, weights, group, 3), of_parts, values_of(named), np.array([each[k] for k in part])
    )


@steady
@given(rows=parted)
def test_a_weighted_mean_agrees_with_loops_over_its_rows(
    rows: list[tuple[float, str, str, int, int, int, float]],
) -> None:
    for group, one in enumerate(weighted(rows)):
        own = [row for row in rows if row[3] == group]
        if not own:
            assert one == NOTHING
            continue
        counts = [EACH[row[4]] * row[6] for row in own]
        total = math.fsum(count * row[0] for count, row in zip(counts, own, strict=True))
        assert one.n == len(own)
        assert one.mean == pytest.approx(total / math.fsum(counts))
        assert 0 <= these(one)[0] <= (one.mean or 0.0) <= these(one)[1] <= 100
        if len({row[4] for row in own}) == 1:
            alone = clusters_of([row[:3] for row in own], [row[5] for row in own], [row[6] for row in own])
            _almost_equal(one, means(alone, np.array([row[0] for row in own]))[0])


def of_parts(*parts: tuple[int, int, float], shared: bool = False) -> tuple[Figure, Figure]:
    """The mean of parts of equal weight, and of the same rows as if parts were drawn, too.

    A part is (needles, rows of each, share of right needles).
    """
    rows = [
        (100.0 * (n < share * needles), f"n{n}" if shared else f"n{part}-{n}", f"h{part}-{n}-{k}", 0, part, 0, 1.0)
        for part, (needles, count, share) in enumerate(parts)
        for n, k in product(range(needles), range(count))
    ]
    each = [1 / (needles * count) for needles, count, _ in parts]
    named: list[Row] = [row[:3] for row in rows]
    alike = clusters_of(named, weights=[each[row[4]] for row in rows])
    return weighted(rows, each)[0], means(alike, values_of(named))[0]


def width(one: Figure) -> float:
    return ends(one)[1] - ends(one)[0]


def test_differences_between_parts_do_not_widen_the_interval_and_shared_needles_do() -> None:
    one, as_rows = of_parts((40, 4, 0.9), (40, 4, 0.1))
    assert one.mean == pytest.approx(50)
    assert width(one) < 0.75 * width(as_rows)
    apart, together = (of_parts((20, 3, 0.5), (20, 3, 0.5), shared=shared)[0] for shared in (False, True))
    assert width(together) == pytest.approx(math.sqrt(2) * width(apart), rel=0.01)
    assert together.low_these == apart.low_these


def test_the_reach_of_two_parts_is_the_root_of_the_sum_of_squares_and_one_needle_could_have_any_mean() -> None:
    whole = of_parts((20, 3, 0.8), (30, 3, 0.4))[0]
    alone = [of_parts((20, 3, 0.8))[0], of_parts((30, 3, 0.4))[0]]
    for name, sign in (("low", -1), ("high", 1), ("low_these", -1), ("high_these", 1)):
        reaches = [getattr(part, name) - part.mean for part in alone]
        assert getattr(whole, name) == pytest.approx(60 + sign * math.hypot(*(reach / 2 for reach in reaches)))
    assert whole.method == "square-and-add: 2 parts"
    whole = of_parts((20, 3, 0.5), (1, 60, 1.0))[0]
    assert whole.method == "square-and-add: 2 parts, rough"
    assert whole.mean == pytest.approx(75)
    assert ends(whole)[0] < 75 - 50
    assert ends(whole)[1] < 90
    assert these(whole)[0] > 60


# Differences ----------------------------------------------------------------------------------------------------------


def test_equal_runs_that_find_different_needles_hard_rarely_differ_significantly() -> None:
    """By chance 5 % of 600 pairs do, and three standard errors are 2.7 %. With rows as trials, half of them do."""
    for needles in (3, 6):
        assert told_apart(design(600, needles), 0.8, 1.0, 0.7, 0.0, np.random.default_rng(9)) <= 7.7


def test_p_and_interval_are_those_of_the_paired_t_test_over_the_means_of_needles() -> None:
    """By hand: 3 needles that fell by 8, 20 and 11 points; with 2 df, p is 1 - t / sqrt(2 + t^2)."""
    levels = np.array([-8.0, -20.0, -11.0])
    one = difference_of([(float(level) + k - 2, f"n{a}", f"h{a}") for a, level in enumerate(levels) for k in range(5)])
    error = math.sqrt(levels.var(ddof=1) / 3)
    t = 13 / error
    assert one.test == "t: 3 needles, rough"
    assert one.mean == pytest.approx(-13)
    assert one.p == pytest.approx(1 - t / math.sqrt(2 + t * t), rel=1e-6)
    assert ends(one) == pytest.approx((-13 - T[2] * error, -13 + T[2] * error), abs=1e-5)


@steady
@given(
    rows=st.lists(
        st.tuples(st.sampled_from([-100.0, 0.0, 0.0, 100.0, 37.5]), st.sampled_from(["a", "b", "c", None]),
                  st.sampled_from(["p", "q", "r"])),
        min_size=2, max_size=30,
    )
)  # fmt: skip
def test_the_interval_of_a_difference_contains_0_unless_p_is_below_5_percent(rows: list[Row]) -> None:
    one, other = difference_of(rows), difference_of([(-value, needle, haystack) for value, needle, haystack in rows])
    assert (one.p is None) == (one.low is None) == (one.test == "one needle: no test")
    assert one.p == other.p
    if one.p is not None:
        low, high = ends(one)
        assert -100 <= low <= high <= 100
        assert ends(other) == pytest.approx((-high, -low), abs=1e-9)
        if abs(one.p - 0.05) > 1e-6:
            assert (low <= 0 <= high) == (one.p >= 0.05)


def test_equal_scores_differ_by_0_and_a_few_falls_or_one_needle_prove_nothing() -> None:
    same = difference_of([(0.0, f"n{k % 3}", None) for k in range(30)])
    assert (same.mean, same.low, same.high, same.p) == (0, 0, 0, 1)
    # With one more row that did not fall, t is 3 / sqrt(3) x sqrt(2), with 2 degrees of freedom.
    assert difference_of([(-100.0, f"n{k}", None) for k in range(3)]).p == pytest.approx(1 - math.sqrt(6 / 8), rel=1e-6)
    assert 0 < (difference_of([(-100.0, f"n{k % 3}", None) for k in range(300)]).p or 0) < 1e-4
    one = difference_of([(-50.0, "n", f"h{k % 9}") for k in range(90)])
    assert (one.p, one.low, one.high, one.test) == (None, None, None, "one needle: no test")
    assert these(one)[1] < -48


def test_texts_give_both_intervals_at_the_ends_and_note_few_needles() -> None:
    for ends_of, text in (
        ((90.0, 80.0, 95.0, "x", 85.0, 93.0), "[80.00, 95.00]"),
        ((100.0, 54.07, 100.0, "x", 99.62, 100.0), "[54.07, 100.00], of these needles [99.62, 100.00]"),
        ((100.0, 54.07, 100.0, "x", 54.07, 100.0), "[54.07, 100.00]"),
        ((90.0, None, None, ONE_NEEDLE, 85.0, 93.0), "[85.00, 93.00] of this needle alone"),
        (NOTHING[3:], "no interval"),
    ):
        assert interval_text(Figure(9, 9, 0, *ends_of)._asdict()) == text
    assert needles_note("t: 6 needles, rough") == "6 needles: intervals over fewer than ten are rough"
    assert needles_note("t: 34 needles") is None
    assert str(needles_note(ONE_NEEDLE)).startswith("One needle: ")
