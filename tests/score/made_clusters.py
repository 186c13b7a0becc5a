"""Makes rows of needles and haystacks that differ in how hard they are, and computes their intervals."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace

import numpy as np
from hypothesis import strategies as st
from properties import examples

from niah_score.statistics.intervals import Clusters, Figure, differences, means

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


def clusters_of(
    rows: Sequence[Row],
    lengths: Sequence[int] | None = None,
    weights: Sequence[float] | None = None,
    groups: Sequence[int] | None = None,
    count: int = 1,
) -> Clusters:
    """The clusters of some rows, all of one group unless `groups` says otherwise."""
    needles = sorted({needle for _, needle, _ in rows if needle is not None})
    haystacks = sorted({haystack or "" for _, _, haystack in rows})
    codes = [len(needles) + k if row[1] is None else needles.index(row[1]) for k, row in enumerate(rows)]
    return Clusters(
        np.zeros(len(rows), np.int64) if groups is None else np.array(groups, np.int64),
        count,
        np.array(codes, np.int64),
        np.array([haystacks.index(row[2] or "") for row in rows], np.int64),
        None if lengths is None else np.array(lengths, np.int64),
        None if weights is None else np.array(weights, np.float64),
        np.array([row[1] is None for row in rows], np.bool_),
    )


def values_of(rows: Sequence[Row]) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Their scores."""
    return np.array([row[0] for row in rows], np.float64)


def of(rows: Sequence[Row]) -> Figure:
    """The mean of some rows, with its intervals."""
    return means(clusters_of(rows), values_of(rows))[0]


def difference_of(rows: Sequence[Row]) -> SimpleNamespace:
    """The mean of some differences, with its interval and p."""
    return SimpleNamespace(**differences(clusters_of(rows), values_of(rows))[0])


def ends(one: Figure | SimpleNamespace) -> tuple[float, float]:
    """The low and the high end for needles in general."""
    assert one.low is not None
    assert one.high is not None
    return one.low, one.high


def these(one: Figure | SimpleNamespace) -> tuple[float, float]:
    """The low and the high end for these needles alone."""
    assert one.low_these is not None
    assert one.high_these is not None
    return one.low_these, one.high_these
