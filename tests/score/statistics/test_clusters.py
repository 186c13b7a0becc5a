"""The spread of means, against loops, against needles drawn again and again, and with lengths that are not drawn."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from itertools import product

import numpy as np
import pytest
from each import each
from hypothesis import given
from hypothesis import strategies as st
from made_clusters import Row, clusters_of, steady, values_of

from niah_score.statistics.clusters import Clusters, Spread
from niah_score.statistics.intervals import means


def spread(rows: Sequence[Row], strata: Sequence[int] | None = None) -> Spread:
    """The spread of one group, as single numbers."""
    return Spread(*(column[0] for column in clusters_of(rows, strata).spread(values_of(rows))))


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
        for a in range(needles)
        for b in range(haystacks)
        for _ in range(each)
    ]


@each("shape", [(3, 4, 3), (6, 6, 2), (1, 9, 3), (9, 1, 3), (20, 10, 1)])
def test_the_variance_is_cluster_robust(shape: tuple[int, int, int]) -> None:
    rows = even(*shape, 11)
    assert spread(rows).variance == pytest.approx(cluster_robust(rows))


def test_the_variance_for_needles_with_equally_many_rows_is_that_of_their_mean() -> None:
    rows = even(5, 1, 4, 3)
    by_needle = values_of(rows).reshape(5, 4).mean(axis=1)
    estimate = spread(rows)
    assert estimate.variance == pytest.approx(by_needle.var(ddof=1) / 5)
    assert estimate.df == pytest.approx(4)


def test_the_variance_for_needles_of_unequal_weight_is_right_on_average() -> None:
    """Needles with 1, 2 and 9 rows, drawn 20,000 times: the estimate's mean is the variance of the mean."""
    sizes = (1, 2, 9)
    datasets = 20_000
    draw = np.random.default_rng(5)
    levels = draw.standard_normal((datasets, 3))
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
    rows, strata = [], []
    for length, haystack, needle, _ in product(range(3), range(2), range(4), range(100)):
        rows.append((95.0 - 40 * length - 2 * haystack - needle, f"n{needle}", f"h{length}-{haystack}"))
        strata.append(length)
    assert clusters_of(rows, strata).haystack_df.tolist() == [3]
    assert spread(rows, strata).variance == pytest.approx(5 / 12 + 1 / 3 - 54 / 24 / 21)
    assert spread(rows).variance > 200


def test_one_haystack_per_length_says_nothing_about_haystacks() -> None:
    rows: list[Row] = [(90.0 - 20 * length - k, f"n{k}", f"h{length}") for length in range(4) for k in range(9)]
    clusters = clusters_of(rows, [k // 9 for k in range(36)])
    assert clusters.haystack_df.tolist() == [0]
    assert means(clusters, values_of(rows))[0].method == "clopper-pearson: 9 needles, rough"


def test_a_haystack_of_several_lengths_counts_as_one() -> None:
    rows = even(6, 3, 2, 1)
    assert clusters_of(rows, [k % 2 for k in range(len(rows))]).haystack_df.tolist() == [2]


def test_degrees_of_freedom_are_between_those_of_few_haystacks_and_of_needles() -> None:
    draw = random.Random(2)
    for of_needles, of_haystacks in ((30.0, 0.0), (10.0, 10.0), (0.0, 30.0)):
        levels = [[draw.gauss(0, size) for _ in range(count)] for size, count in ((of_needles, 20), (of_haystacks, 3))]
        rows: list[Row] = [
            (50 + levels[0][a] + levels[1][b] + draw.gauss(0, 1), f"n{a}", f"h{b}") for a in range(20) for b in range(3)
        ]
        estimate = spread(rows)
        assert 2 <= estimate.df <= 19
        if not of_haystacks:
            assert estimate.df > 15
        if not of_needles:
            assert estimate.df < 3


def test_degrees_of_freedom_are_those_of_needles_if_haystacks_outnumber_them() -> None:
    nested: list[Row] = [(float(10 * a + b), f"n{a}", f"h{a}-{b}") for a in range(3) for b in range(8)]
    assert spread(nested).df == pytest.approx(2)


def test_rounding_does_not_decide_the_degrees_of_freedom() -> None:
    """Every needle and every haystack has each score equally often, so that only rows differ."""
    for scores in ([0.0, 100.0], [0.0, 100 / 3, 200 / 3], [100 / 7, 200 / 7, 0.1], [0.0, 100 / 3, 100 / 3, 100.0]):
        of_pair = [(a, b, score) for a in range(6) for b in range(3) for score in scores]
        estimate = spread([(score, f"n{a}", f"h{b}") for a, b, score in of_pair])
        assert estimate.variance == estimate.rows_variance
        assert estimate.df == pytest.approx(5), scores


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
)
def test_clusters_reused_for_other_values_give_the_means_of_fresh_clusters(
    rows: list[tuple[int, int, int, float, float, float]],
) -> None:
    columns = list(zip(*rows, strict=True))
    groups, needles, haystacks = (np.array(column) for column in columns[:3])
    weights = np.array(columns[5])
    clusters = Clusters(groups, 4, needles, haystacks, weights)
    for column in (columns[3], columns[4], columns[3], columns[5]):
        values = np.array(column)
        assert means(clusters, values) == means(Clusters(groups, 4, needles, haystacks, weights), values)


@steady
@given(counts=st.lists(st.integers(1, 4), min_size=12, max_size=12), seed=st.integers(0, 20))
def test_a_row_of_weight_k_counts_like_k_rows_of_its_needle_and_haystack(counts: list[int], seed: int) -> None:
    """In the mean, the degrees of freedom, and the variance if clusters vary more than rows."""
    rows = [(value + 60 * (needle == "n1"), needle, haystack) for value, needle, haystack in even(4, 3, 1, seed)]
    groups, values = np.zeros(12, np.int64), values_of(rows)
    needles, haystacks = (np.array([int(str(row[at])[1:]) for row in rows]) for at in (1, 2))
    weighted = Clusters(groups, 1, needles, haystacks, np.array(counts, np.float64)).spread(values)
    groups, values, needles, haystacks = (np.repeat(column, counts) for column in (groups, values, needles, haystacks))
    repeated = Clusters(groups, 1, needles, haystacks).spread(values)
    assert weighted.mean == pytest.approx(repeated.mean)
    assert weighted.df == pytest.approx(repeated.df)
    assert weighted.variance == pytest.approx(repeated.variance)


@steady
@given(
    weights=st.lists(st.sampled_from([0.0, 0.0, 1.0, 2.5]), min_size=12, max_size=12).filter(any),
    seed=st.integers(0, 20),
)
def test_rows_without_weight_change_only_the_number_of_rows(weights: list[float], seed: int) -> None:
    rows = even(4, 3, 1, seed)
    needles, haystacks = (np.array([int(str(row[at])[1:]) for row in rows]) for at in (1, 2))
    groups, values, some, kept = np.zeros(12, np.int64), values_of(rows), np.array(weights), np.flatnonzero(weights)
    whole = Clusters(groups, 1, needles, haystacks, some, strata=haystacks)
    alone = Clusters(groups[kept], 1, needles[kept], haystacks[kept], some[kept], strata=haystacks[kept])
    (interval,), (expected,) = means(whole, values), means(alone, values[kept])
    assert interval == expected._replace(n=12)
    assert interval.mean is not None
    assert not np.isnan(interval.mean)


def test_rows_of_a_group_without_any_weight_count_equally() -> None:
    groups, needles, values = np.zeros(4, np.int64), np.array([0, 0, 1, 1]), np.array([0.0, 1.0, 1.0, 1.0])
    assert Clusters(groups, 1, needles, needles, np.zeros(4)).spread(values).mean == 0.75
