"""Rows of one needle and haystack come together, and keys are found by table and by sorting alike."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from made_clusters import Row, some_rows, steady

from niah_score.statistics.cluster_sums import cluster_sums, distinct


@steady
@given(rows=some_rows, counts=st.lists(st.integers(1, 4), min_size=30, max_size=30))
def test_a_row_of_weight_k_counts_like_k_rows(rows: list[Row], counts: list[int]) -> None:
    """In the sums, where rows of one needle and haystack come together."""
    needles = np.array([int((needle or "n0")[1:]) for _, needle, _ in rows])
    haystacks = np.array([int((haystack or "h0")[1:]) for _, _, haystack in rows])
    if len({row[1:] for row in rows}) == 1:
        return
    values, times = np.array([row[0] for row in rows]), np.array(counts[: len(rows)])
    group = np.zeros(len(rows), np.int64)
    weighted = cluster_sums(group, 1, values, needles, haystacks, times.astype(np.float64))
    group, values, needles, haystacks = (np.repeat(column, times) for column in (group, values, needles, haystacks))
    repeated = cluster_sums(group, 1, values, needles, haystacks)
    assert weighted.weight.tolist() == repeated.weight.tolist()
    assert weighted.total == pytest.approx(repeated.total)


@steady
@given(keys=st.lists(st.integers(0, 40), min_size=1, max_size=40))
def test_different_keys_are_found_by_table_and_by_sorting_alike(keys: list[int]) -> None:
    expected = sorted(set(keys))
    for size in (41, 10**12):
        found, place = distinct(np.array(keys), size)
        assert found.tolist() == expected
        assert [expected[at] for at in place.tolist()] == keys
