"""Rows of one needle and haystack are combined, and distinct keys are the same by table and by sorting."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from properties import examples

from niah_score.statistics.cluster_sums import combinations_of, distinct

steady = examples(60)
codes = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 4), st.integers(0, 5)), min_size=1, max_size=40)


@steady
@given(rows=codes)
def test_combinations_are_those_of_the_rows_with_their_group_needle_and_haystack(
    rows: list[tuple[int, int, int]],
) -> None:
    groups, needles, haystacks = (np.array(column) for column in zip(*rows, strict=True))
    combinations = combinations_of(groups, 3, needles, haystacks)
    needle_names, haystack_names = (sorted({(row[0], row[at]) for row in rows}) for at in (1, 2))
    assert combinations.group_of_needle.tolist() == [group for group, _ in needle_names]
    assert combinations.group_of_haystack.tolist() == [group for group, _ in haystack_names]
    assert len(combinations.group) == len(set(rows))
    for (group, needle, haystack), place in zip(rows, combinations.place.tolist(), strict=True):
        assert combinations.group[place] == group
        assert needle_names[combinations.needle[place]] == (group, needle)
        assert haystack_names[combinations.haystack[place]] == (group, haystack)
    assert combinations.group.tolist() == sorted(combinations.group.tolist())


@steady
@given(keys=st.lists(st.integers(0, 40), min_size=1, max_size=40))
def test_distinct_keys_are_the_same_by_table_and_by_sorting(keys: list[int]) -> None:
    expected = sorted(set(keys))
    for size in (41, 10**12):
        different, place = distinct(np.array(keys), size)
        assert different.tolist() == expected
        assert [expected[at] for at in place.tolist()] == keys
