"""Weighted means of parts: they agree with loops, and their intervals cover the truth and ignore how parts differ."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from properties import examples

from niah_score.statistics.clusters import Clusters
from niah_score.statistics.intervals import NOTHING, Interval, means, several_means
from niah_score.statistics.weighted import several_weighted_means

rows = st.lists(
    st.tuples(
        st.integers(0, 2),  # group
        st.integers(0, 2),  # part
        st.integers(0, 5),  # needle
        st.integers(0, 3),  # haystack
        st.integers(0, 1),  # stratum
        st.sampled_from([0.0, 100.0, 100 / 3]),
        st.sampled_from([1.0, 0.25, 3.0]),  # the row's own weight
    ),
    min_size=1,
    max_size=40,
)
EACH = np.array([0.5, 2.0, 1.25])


Row = tuple[int, int, int, int, int, float, float]


def means_of(drawn: list[Row], *, weighted: bool = False) -> list[Interval]:
    group, part, needle, haystack, stratum = (np.array([row[at] for row in drawn], np.int64) for at in range(5))
    scores, extra = (np.array([row[at] for row in drawn]) for at in (5, 6))
    return several_weighted_means(
        group, 3, part, EACH[part], needle, haystack, [scores], extra if weighted else None, strata=stratum, named=6
    )[0]


@examples(60)
@given(drawn=rows, weighted=st.booleans())
def test_a_weighted_mean_agrees_with_loops_over_its_rows(drawn: list[Row], weighted: bool) -> None:
    for group, interval in enumerate(means_of(drawn, weighted=weighted)):
        own = [row for row in drawn if row[0] == group]
        if not own:
            assert interval == NOTHING
            continue
        counts = [EACH[row[1]] * (row[6] if weighted else 1.0) for row in own]
        total = math.fsum(count * row[5] for count, row in zip(counts, own, strict=True))
        assert interval.n == len(own)
        assert interval.mean == pytest.approx(total / math.fsum(counts))
        for low, high in ((interval.low, interval.high), (interval.low_these, interval.high_these)):
            if low is not None and high is not None and interval.mean is not None:
                assert 0 <= low <= interval.mean <= high <= 100


@examples(40)
@given(drawn=rows)
def test_a_group_of_one_part_has_the_intervals_of_its_rows(drawn: list[Row]) -> None:
    of_one: list[Row] = [(row[0], 1, *row[2:]) for row in drawn]
    group, needle, haystack, stratum = (np.array([row[at] for row in of_one], np.int64) for at in (0, 2, 3, 4))
    clusters = Clusters(group, 3, needle, haystack, strata=stratum, named=6)
    assert means_of(of_one) == means(clusters, np.array([float(row[5]) for row in of_one]))


def intervals_of(parts: list[tuple[int, int, float]], *, shared: bool = False) -> list[Interval]:
    """Intervals of one group, by parts and by rows; a part is (needles, rows of each, share of right needles)."""
    drawn = [
        (0, part, needle + (0 if shared else 100 * part), 0, 0, 100.0 * (needle < share * needles), 1.0)
        for part, (needles, count, share) in enumerate(parts)
        for needle in range(needles)
        for _ in range(count)
    ]
    group, part, needle, _, stratum = (np.array([row[at] for row in drawn], np.int64) for at in range(5))
    scores = np.array([row[5] for row in drawn])
    each = np.bincount(part).astype(float)[part] ** -1
    haystack = np.arange(len(drawn))
    weighted = several_weighted_means(group, 1, part, each, needle, haystack, [scores], strata=stratum, named=1000)[0]
    as_rows = several_means(Clusters(group, 1, needle, haystack, each, strata=stratum, named=1000), [scores])[0]
    return [weighted[0], as_rows[0]]


def width(interval: Interval) -> float:
    assert interval.low is not None
    assert interval.high is not None
    return interval.high - interval.low


def test_differences_between_parts_do_not_widen_the_interval() -> None:
    weighted, as_rows = intervals_of([(40, 4, 0.9), (40, 4, 0.1)])
    assert weighted.mean == pytest.approx(50)
    assert width(weighted) < 0.75 * width(as_rows)


def test_the_reach_of_two_parts_is_the_root_of_the_sum_of_squares() -> None:
    whole, _ = intervals_of([(20, 3, 0.8), (30, 3, 0.4)])
    (one, _), (other, _) = intervals_of([(20, 3, 0.8)]), intervals_of([(30, 3, 0.4)])
    for name, sign in (("low", -1), ("high", 1), ("low_these", -1), ("high_these", 1)):
        reaches = [getattr(part, name) - part.mean for part in (one, other)]
        assert getattr(whole, name) == pytest.approx(60 + sign * math.hypot(*(reach / 2 for reach in reaches)))
    assert whole.method == "square-and-add: 2 parts"


def test_needles_shared_by_parts_widen_the_interval() -> None:
    apart, together = (
        intervals_of([(20, 3, 0.5), (20, 3, 0.5)])[0],
        intervals_of([(20, 3, 0.5), (20, 3, 0.5)], shared=True)[0],
    )
    assert width(together) == pytest.approx(math.sqrt(2) * width(apart), rel=0.01)
    assert together.low_these == apart.low_these


def test_a_part_with_one_needle_could_have_any_mean_with_other_needles() -> None:
    whole, _ = intervals_of([(20, 3, 0.5), (1, 60, 1.0)])
    assert whole.method == "square-and-add: 2 parts, rough"
    assert whole.low is not None
    assert whole.mean == pytest.approx(75)
    assert whole.low < 75 - 50
    assert whole.high is not None
    assert whole.high < 90
    assert whole.low_these is not None
    assert whole.low_these > 60


def test_a_part_without_weight_has_its_own_mean_and_is_in_no_other() -> None:
    part, needle = np.array([0, 0, 1, 1]), np.array([0, 1, 2, 3])
    scores, each = np.array([100.0, 0.0, 100.0, 100.0]), np.array([1.0, 1.0, 0.0, 0.0])
    groups, strata = np.array([0, 0, 0, 1]), np.zeros(4, np.int64)
    mixed, alone = several_weighted_means(
        groups, 2, part, each, needle, needle, [scores], strata=strata, named=4
    )[0]  # fmt: skip
    assert (mixed.mean, mixed.n) == (50.0, 2)
    assert (alone.mean, alone.n) == (100.0, 1)


def test_no_rows_have_no_means() -> None:
    assert several_weighted_means(
        *(np.zeros(0, np.int64), 2, np.zeros(0, np.int64), np.zeros(0), np.zeros(0, np.int64), np.zeros(0, np.int64)),
        [np.zeros(0)], strata=np.zeros(0, np.int64), named=0,
    ) == [[NOTHING, NOTHING]]  # fmt: skip


def test_intervals_of_weighted_means_cover_the_truth() -> None:
    """Needles drawn 300 times for three parts, with chances from beta distributions about the mean of their part."""
    rng = np.random.default_rng(3)
    datasets = 300
    shape = [(24, 7, 0.84, 0.4), (20, 6, 0.31, 0.25), (12, 8, 0.95, 0.35)]
    columns: list[list[Any]] = [[], [], [], [], []]
    for part, (needles, count, mean, weight) in enumerate(shape):
        chances = rng.beta(4 * mean, 4 * (1 - mean), (datasets, needles))
        place = np.arange(datasets * needles * count)
        dataset, needle = place // (needles * count), place // count % needles
        right = 100.0 * (rng.random(len(place)) < chances[dataset, needle])
        each = np.full(len(place), weight / (needles * count))
        for column, values in zip(columns, (dataset, np.full(len(place), part), needle + 100 * part, right, each),
                                  strict=True):  # fmt: skip
            column.append(values)
    whole: list[Any] = [np.concatenate(column) for column in columns]
    dataset, part, needle, right, each = whole
    intervals = several_weighted_means(
        dataset, datasets, part, each, needle, needle, [right], strata=np.zeros(len(part), np.int64), named=1000
    )[0]
    truth = 100 * sum(mean * weight for _, _, mean, weight in shape)
    covered = sum(one.low is not None and one.high is not None and one.low <= truth <= one.high for one in intervals)
    assert covered >= 0.93 * datasets
    assert float(np.median([width(one) for one in intervals])) < 20
