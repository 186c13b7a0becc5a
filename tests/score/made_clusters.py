"""Makes rows of needles and haystacks that differ in how hard they are, and computes their intervals."""

from __future__ import annotations

import random
from collections.abc import Sequence

import numpy as np
from hypothesis import strategies as st
from properties import examples

from niah_score.statistics.clusters import Clusters
from niah_score.statistics.intervals import Interval, differences, means

steady = examples(60)

# A score, and the needle and haystack of the row; None where the row does not say which it has.
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


def clusters_of(rows: Sequence[Row], strata: Sequence[int] | None = None) -> Clusters:
    """The clusters of some rows, all of one group."""
    needles = sorted({needle for _, needle, _ in rows if needle is not None})
    haystacks = sorted({haystack or "" for _, _, haystack in rows})
    codes = [len(needles) + k if row[1] is None else needles.index(row[1]) for k, row in enumerate(rows)]
    return Clusters(
        np.zeros(len(rows), np.int64),
        1,
        np.array(codes, np.int64),
        np.array([haystacks.index(row[2] or "") for row in rows], np.int64),
        strata=None if strata is None else np.array(strata),
        named=len(needles),
    )


def values_of(rows: Sequence[Row]) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Their scores."""
    return np.array([row[0] for row in rows], np.float64)


def of(rows: Sequence[Row]) -> Interval:
    """The interval of the mean of some rows."""
    return means(clusters_of(rows), values_of(rows))[0]


def difference_of(rows: Sequence[Row]) -> tuple[Interval, float | None]:
    """The interval of the mean of some differences, and its p-value."""
    return differences(clusters_of(rows), values_of(rows))[0]


def ends(interval: Interval) -> tuple[float, float]:
    """The low and the high end for needles in general."""
    assert interval.low is not None
    assert interval.high is not None
    return interval.low, interval.high


def these(interval: Interval) -> tuple[float, float]:
    """The low and the high end for these needles alone."""
    assert interval.low_these is not None
    assert interval.high_these is not None
    return interval.low_these, interval.high_these


def graded(needles: int, haystacks: int, most: int, seed: int) -> list[Row]:
    """Rows of needles and haystacks that differ in how hard they are, up to `most` rows a pair."""
    draw = random.Random(seed)
    hard = [[draw.gauss(0, 12) for _ in range(count)] for count in (needles, haystacks)]
    return [
        (min(100.0, max(0.0, 55 + hard[0][a] + hard[1][b] + draw.gauss(0, 8))), f"n{a:03}", f"h{b:03}")
        for a in range(needles)
        for b in range(haystacks)
        for _ in range(draw.randint(0, most))
    ]
