"""Clusters that are made once give one value after the other what each has alone."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from made_clusters import steady

from niah_score.statistics import bootstrap
from niah_score.statistics.bootstrap import Resamples
from niah_score.statistics.clusters import Clusters
from niah_score.statistics.intervals import grouped, means


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
        patch.setattr(bootstrap, "_HELD", held)
        clusters = Clusters(groups, 4, needles, haystacks, weights)
        for column in (columns[3], columns[4], columns[3], columns[5]):
            values = np.array(column)
            alone = grouped(groups, 4, values, needles, haystacks, Resamples("seed"), weights=weights)
            assert means(clusters, values, shared) == alone
