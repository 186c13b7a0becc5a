"""Slots: values are dealt in a seeded order without repeats, evenly, and can be read back."""

from __future__ import annotations

import uuid

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from properties import examples

from niah_gen.haystacks.slots import Digits, Slot, Uuids, Words, deal, number_of, texts

PAIRS = Words(("red", "blue", "ochre"), ("house", "oak"), "-")
SINGLE = Words(("翠绿", "碧蓝", "雪"))
SLOTS: list[Slot] = [PAIRS, SINGLE, Digits(1), Digits(2), Digits(5), Digits(7), Digits(18), Uuids()]


@pytest.mark.parametrize("slot", SLOTS, ids=str)
@given(st.integers(0, 2**32))
@examples(10)
def test_values_are_distinct_and_can_be_read_back(slot: Slot, seed: int) -> None:
    numbers = deal(slot, 3, str(seed))
    values = texts(slot, numbers)
    assert len(set(values)) == 3
    assert [number_of(slot, value) for value in values] == numbers.tolist()
    for value in values if isinstance(slot, Uuids) else ():
        read = uuid.UUID(value)
        assert (str(read), read.version, read.variant) == (value, 4, uuid.RFC_4122)


def test_digits_are_evenly_distributed_at_every_place() -> None:
    few = np.concatenate([deal(Digits(7), 200, str(seed)) for seed in range(300)])
    for numbers in (few, deal(Digits(7), 60_000, "even")):
        dealt = np.array([list(map(int, text)) for text in texts(Digits(7), numbers)])
        for place, digits in enumerate(dealt.T):
            counts = np.bincount(digits, minlength=10)[place == 0 :]
            assert counts.min() > 0.94 * counts.mean()
            assert counts.max() < 1.06 * counts.mean()
