"""Excerpts: what is kept of long texts and conversations."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from properties import examples

from niah_gen.dataset.preview import kept_messages, kept_ranges


@examples(150)
@given(
    st.integers(0, 300),
    st.lists(st.tuples(st.integers(-50, 350), st.integers(-50, 350)), max_size=8),
    st.integers(1, 60),
)
def test_requested_ranges_are_kept_in_order_and_without_small_gaps(
    length: int, requested: list[tuple[int, int]], least: int
) -> None:
    ranges = kept_ranges(length, requested, least)
    assert {at for start, end in requested for at in range(max(start, 0), min(end, length))} <= {
        at for start, end in ranges for at in range(start, end)
    }
    ends = [0]
    for start, end in ranges:
        assert start < end <= length
        assert start == 0 or start - ends[-1] >= least
        ends.append(end)


def test_a_long_conversation_keeps_both_ends_and_the_requested_messages() -> None:
    assert kept_messages(5, [3], 6) == [0, 1, 2, 3, 4]
    assert kept_messages(9, [4, 8], 6) == [0, 1, 4, 7, 8]
