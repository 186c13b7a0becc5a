"""Picking sentences and lines that fill the rest of a budget, checked against slow searches."""

from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from properties import examples

from niah_gen.haystacks.picking import pick, pick_lines

steady = examples(120)


@steady
@given(sizes=st.lists(st.integers(1, 40), max_size=12), left=st.integers(1, 90), aim=st.integers(0, 4))
def test_a_pick_near_enough_to_the_budget_is_found_if_one_exists(sizes: list[int], left: int, aim: int) -> None:
    sums = {0}
    for size in sizes:
        sums |= {total + size for total in sums}
    picked = pick(sizes, left, aim)
    assert bool(picked) == any(left - aim <= total <= left for total in sums if total)
    if picked:
        assert len(set(picked)) == len(picked)
        assert left - aim <= sum(sizes[number] for number in picked) <= left
    singles = [left - size for size in sizes if left - aim <= size <= left]
    if singles:
        assert [left - sizes[number] for number in picked] == [min(singles)]


def picked_slowly(sizes: list[int], left: int, aim: int) -> tuple[int, ...]:
    """The nearest single size, or else the first sum reached when each size is added to all sums before it."""
    single = min(
        ((left - size, number) for number, size in enumerate(sizes) if 0 < size <= left <= size + aim), default=None
    )
    if single:
        return (single[1],)
    sums: dict[int, tuple[int, ...]] = {0: ()}
    for number, size in enumerate(sizes):
        for total, picked in list(sums.items()):
            more = total + size
            if size > 0 and more <= left and more not in sums:
                sums[more] = (*picked, number)
                if more >= left - aim:
                    return sums[more]
    return ()


@steady
@given(sizes=st.lists(st.integers(0, 25), max_size=30), left=st.integers(-2, 300), aim=st.integers(0, 8))
def test_the_pick_equals_that_of_the_slow_search(sizes: list[int], left: int, aim: int) -> None:
    assert pick(sizes, left, aim) == picked_slowly(sizes, left, aim)


@pytest.mark.parametrize(("shortest", "longest"), [(16, 19), (20, 28), (90, 110)])
@given(seed=st.integers(0, 2**32 - 1))
@examples(30)
def test_picked_lines_fill_the_budget_and_are_mostly_the_first_ones(shortest: int, longest: int, seed: int) -> None:
    rng = random.Random(seed)
    sizes = np.array([rng.randint(shortest, longest) for _ in range(600)])
    left = rng.randint(5 * longest, 40 * longest)
    picked = pick_lines(sizes, left, 3)
    assert picked is not None
    assert left - 3 <= sizes[picked].sum() <= left
    assert (np.diff(picked) > 0).all()
    first = next((n for n, number in enumerate(picked.tolist()) if n != number), len(picked))
    assert len(picked) - first <= 40


def test_lines_that_cannot_fill_a_budget_are_not_picked() -> None:
    assert pick_lines(np.full(50, 24), 24 * 10 + 12, 3) is None
    assert pick_lines(np.full(50, 24), 20, 3) is None
    picked = pick_lines(np.full(50, 24), 24 * 10 + 12, 24)
    assert picked is not None
    assert len(picked) == 10
