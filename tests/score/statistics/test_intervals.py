"""How far means can be trusted: against formulas, plain loops and resampling by hand."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from properties import examples

from niah_score.statistics import intervals
from niah_score.statistics.intervals import (
    NOTHING,
    RESAMPLES,
    Interval,
    Resamples,
    grouped,
    interval,
    pair_sums,
    wilson,
)

steady = examples(60)
Z = 1.959963984540054
PINNED = [[1, 0, 0, 1, 0, 1], [1, 2, 1, 2, 0, 0], [1, 1, 2, 0, 3, 2]]

Row = tuple[float, str | None, str | None]
some_rows = st.lists(
    st.tuples(
        st.sampled_from([0.0, 100.0, 100.0, 100 / 3, 62.5]),
        st.sampled_from([None, "n1", "n2", "n3"]),
        st.sampled_from([None, "h1", "h2", "h3", "h4"]),
    ),
    min_size=1,
    max_size=30,
)


def of(rows: Sequence[Row], seed: str = "seed") -> Interval:
    """The interval of some rows."""
    values, needles, haystacks = zip(*rows, strict=True)
    return interval(values, needles, haystacks, seed)


def ends(found: Interval) -> tuple[float, float]:
    """Its low and high end."""
    assert found.low is not None
    assert found.high is not None
    return found.low, found.high


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


def two_way(rows: Sequence[Row], draw: random.Random) -> float | None:
    """The mean of a resample: needles and haystacks drawn with replacement, each on its own."""
    counts = []
    for at in (1, 2):
        names = sorted({row[at] or "" for row in rows})
        drawn = draw.choices(names, k=len(names))
        counts.append({name: drawn.count(name) for name in names})
    weights = [counts[0][row[1] or ""] * counts[1][row[2] or ""] for row in rows]
    if not sum(weights):
        return None
    return sum(w * row[0] for w, row in zip(weights, rows, strict=True)) / sum(weights)


def by_rows(rows: Sequence[Row], draw: random.Random) -> float | None:
    """The mean of as many rows drawn with replacement."""
    drawn = draw.choices(rows, k=len(rows))
    return sum(row[0] for row in drawn) / len(rows)


def graded(needles: int, haystacks: int, most: int, seed: int) -> list[Row]:
    """Rows of needles and haystacks that differ in how hard they are, up to `most` of a pair."""
    draw = random.Random(seed)
    hard = [[draw.gauss(0, 12) for _ in range(count)] for count in (needles, haystacks)]
    return [
        (min(100.0, max(0.0, 55 + hard[0][a] + hard[1][b] + draw.gauss(0, 8))), f"n{a:03}", f"h{b:03}")
        for a in range(needles)
        for b in range(haystacks)
        for _ in range(draw.randint(0, most))
    ]


@pytest.mark.parametrize(
    ("rows", "resample", "method"),
    [
        (graded(3, 4, 3, 1), two_way, "bootstrap: needles, haystacks"),
        (graded(8, 5, 2, 2), two_way, "bootstrap: needles, haystacks"),
        (graded(1, 6, 4, 3), two_way, "bootstrap: haystacks"),
        ([(value, needle, None) for value, needle, _ in graded(5, 1, 4, 4)], two_way, "bootstrap: needles"),
        ([(value, None, None) for value, _, _ in graded(1, 9, 2, 5)], by_rows, "bootstrap: rows"),
        (graded(1, 160, 1, 6), two_way, "bootstrap: haystacks"),
    ],
)
def test_the_bootstrap_is_resampling_by_hand(
    rows: list[Row], resample: Callable[[Sequence[Row], random.Random], float | None], method: str
) -> None:
    """Its ends lie at the 2.5th and 97.5th percentile of resamples by hand, give or take what chance there is.

    The share of resamples below a percentile of 1,000 has a standard error of 0.5 %: 4 of them, and the same again for
    4,000 by hand and for ties.
    """
    found = of(rows)
    assert found.method == method
    draw = random.Random(7)
    by_hand = [mean for mean in (resample(rows, draw) for _ in range(4000)) if mean is not None]
    low, high = ends(found)
    assert sum(mean <= low + 1e-6 for mean in by_hand) / len(by_hand) > 0.005
    assert sum(mean < low - 1e-6 for mean in by_hand) / len(by_hand) < 0.055
    assert sum(mean >= high - 1e-6 for mean in by_hand) / len(by_hand) > 0.005
    assert sum(mean > high + 1e-6 for mean in by_hand) / len(by_hand) < 0.055


def test_resamples_draw_as_many_clusters_as_there_are_and_of_many_about_as_many() -> None:
    resamples = Resamples("seed")
    exact = resamples.weights("needles", 7)
    assert exact.shape == (7, RESAMPLES)
    assert set(exact.sum(axis=0).tolist()) == {7.0}
    many = resamples.weights("needles", 500)
    # The sum of 500 of 2,000 clusters drawn together has a standard deviation of 19; a mean of 1,000 of them, 0.6.
    assert abs(many.sum(axis=0).mean() - 500) < 3
    assert abs(many.sum(axis=0).std() - 19.4) < 2
    assert (resamples.weights("haystacks", 7) != exact).any()


def test_the_same_seed_draws_the_same_whatever_the_release_of_numpy() -> None:
    drawn = Resamples("seed").weights("needles", 3)
    assert drawn[:, :6].astype(int).tolist() == PINNED
    assert (Resamples("another").weights("needles", 3) != drawn).any()


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
    monkeypatch.setattr(intervals, "_MOST_CLUSTERS", 1)
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
    monkeypatch.setattr(intervals, "_MOST_CLUSTERS", 1)
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


@steady
@given(rows=some_rows, counts=st.lists(st.integers(1, 4), min_size=30, max_size=30))
def test_a_row_of_weight_k_counts_like_k_rows(rows: list[Row], counts: list[int]) -> None:
    """In pair sums, where rows of one needle and haystack come together."""
    needles = np.array([int((needle or "n0")[1:]) for _, needle, _ in rows])
    haystacks = np.array([int((haystack or "h0")[1:]) for _, _, haystack in rows])
    if len({row[1:] for row in rows}) == 1:
        return
    values, times = np.array([row[0] for row in rows]), np.array(counts[: len(rows)])
    group = np.zeros(len(rows), np.int64)
    weighted = pair_sums(group, 1, values, needles, haystacks, times.astype(np.float64))
    group, values, needles, haystacks = (np.repeat(column, times) for column in (group, values, needles, haystacks))
    repeated = pair_sums(group, 1, values, needles, haystacks)
    assert weighted.weight.tolist() == repeated.weight.tolist()
    assert weighted.total == pytest.approx(repeated.total)


@steady
@given(keys=st.lists(st.integers(0, 40), min_size=1, max_size=40))
def test_different_keys_are_found_by_table_and_by_sorting_alike(keys: list[int]) -> None:
    expected = sorted(set(keys))
    for size in (41, 10**12):
        found, place = intervals.distinct(np.array(keys), size)
        assert found.tolist() == expected
        assert [expected[at] for at in place.tolist()] == keys


@steady
@given(
    rows=st.lists(
        st.tuples(
            st.integers(0, 3),
            st.integers(0, 3),
            st.integers(0, 5),
            st.sampled_from([0.0, 100.0]),
            st.sampled_from([0.0, 100 / 3, 62.5, 100.0]),
            st.sampled_from([0.25, 1.0, 3.0]),
        ),
        min_size=1,
        max_size=40,
    ),
    held=st.sampled_from([1, 2_500, 1 << 23]),
)
def test_clusters_give_one_value_after_the_other_what_each_has_alone(
    rows: list[tuple[int, int, int, float, float, float]], held: int
) -> None:
    """Whatever the clusters keep from one to the next, and where the tables are too large to be kept."""
    columns = list(zip(*rows, strict=True))
    groups, needles, haystacks = (np.array(column) for column in columns[:3])
    weights = np.array(columns[5])
    shared = Resamples("seed")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(intervals, "_HELD", held)
        clusters = intervals.Clusters(groups, 4, needles, haystacks, weights)
        for column in (columns[3], columns[4], columns[3], columns[5]):
            values = np.array(column)
            alone = grouped(groups, 4, values, needles, haystacks, Resamples("seed"), weights=weights)
            assert intervals.means(clusters, values, shared) == alone
