"""Slots: values are dealt in a seeded order without repeats, evenly, and can be read back."""

from __future__ import annotations

import uuid

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
