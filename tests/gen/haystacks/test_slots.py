"""Slots: values are dealt in a seeded order without repeats, evenly, and can be read back."""

from __future__ import annotations

import uuid

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from properties import examples

from niah_gen.haystacks.slots import Digits, Slot, Uuids, Words, deal, number_of, scattered, shuffled, texts

PAIRS = Words(("red", "blue", "ochre"), ("house", "oak"), "-")
SINGLE = Words(("翠绿", "碧蓝", "雪"))
SLOTS: list[Slot] = [PAIRS, SINGLE, Digits(1), Digits(2), Digits(5), Digits(7), Digits(18), Uuids()]


@given(st.integers(1, 5000), st.text(max_size=5))
@examples(50)
def test_a_seeded_order_holds_every_number_once(size: int, seed: str) -> None:
    numbers = np.arange(size, dtype=np.int64)
    for order in (scattered(numbers, size, seed), shuffled(numbers, seed)):
        assert sorted(order.tolist()) == list(range(size))
    assert size < 20 or shuffled(numbers, seed).tolist() != shuffled(numbers, seed + "x").tolist()


def test_the_order_of_a_seed_never_changes_and_others_are_about_equally_frequent() -> None:
    numbers = np.arange(10, dtype=np.int64)
    assert shuffled(numbers, "orders").tolist() == [2, 5, 4, 6, 0, 3, 1, 7, 9, 8]
    places = np.array([shuffled(numbers, f"{seed}").tolist().index(3) for seed in range(2000)])
    assert all(140 <= count <= 260 for count in np.bincount(places, minlength=10).tolist())


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


def test_all_values_are_dealt_before_there_are_too_few() -> None:
    assert sorted(texts(PAIRS, deal(PAIRS, 6, "a"))) == sorted(f"{a}-{b}" for a in PAIRS.first for b in PAIRS.second)
    with pytest.raises(ValueError, match="7 different values are needed, but there are only 6"):
        deal(PAIRS, 7, "a")


def test_texts_that_a_slot_cannot_have_get_no_number() -> None:
    cases: tuple[tuple[Slot, str], ...] = (
        (PAIRS, "red-red"), (PAIRS, "redhouse"), (SINGLE, "翠"), (Digits(3), "012"), (Digits(3), "1234"),
        (Digits(3), "٣٤٥"), (Uuids(), "00000000-0000-0000-0000-000000000000"),
    )  # fmt: skip
    assert [number_of(slot, text) for slot, text in cases] == [None] * len(cases)


def test_digits_are_evenly_distributed_at_every_place() -> None:
    few = np.concatenate([deal(Digits(7), 200, str(seed)) for seed in range(300)])
    for numbers in (few, deal(Digits(7), 60_000, "even")):
        dealt = np.array([list(map(int, text)) for text in texts(Digits(7), numbers)])
        for place, digits in enumerate(dealt.T):
            counts = np.bincount(digits, minlength=10)[place == 0 :]
            assert counts.min() > 0.94 * counts.mean()
            assert counts.max() < 1.06 * counts.mean()
