"""Slots: values are dealt in a seeded order without repeats, and their bytes match their texts."""

from __future__ import annotations

import uuid

import numpy as np
import pytest
from each import each
from hypothesis import given
from hypothesis import strategies as st
from properties import examples

from niah_gen.haystacks.slots import PADDING, Digits, Slot, Uuids, Words, deal, reader_of, scattered, texts, writer_of

PAIRS = Words(("red", "blue", "ochre"), ("house", "oak"), "-")
SINGLE = Words(("翠绿", "碧蓝", "雪"))
SLOTS: list[Slot] = [PAIRS, SINGLE, Digits(1), Digits(2), Digits(5), Digits(7), Digits(18), Uuids()]


@given(st.integers(1, 5000), st.text(max_size=5))
@examples(50)
def test_a_seeded_order_holds_every_number_once(size: int, seed: str) -> None:
    order = scattered(np.arange(size, dtype=np.int64), size, seed)
    assert sorted(order.tolist()) == list(range(size))


@pytest.mark.parametrize("slot", SLOTS, ids=str)
@given(st.integers(0, 2**32))
@examples(10)
def test_values_are_distinct_and_their_bytes_and_numbers_match_their_texts(slot: Slot, seed: int) -> None:
    count = 3 if slot is SINGLE else 6
    values = deal(slot, count, str(seed))
    dealt = texts(slot, values)
    assert len(set(dealt)) == count
    rows = np.concatenate([column.data for column in writer_of(slot).columns(values)], axis=1)
    assert [bytes(row).translate(None, PADDING).decode() for row in rows] == dealt
    for text, number in zip(dealt, values.numbers.tolist(), strict=True):
        assert reader_of(slot)(text) == (int(text[:8], 16) if isinstance(slot, Uuids) else number)
        if isinstance(slot, Uuids):
            assert (str(uuid.UUID(text)), uuid.UUID(text).version) == (text, 4)
            assert uuid.UUID(text).variant == uuid.RFC_4122


@each("slot", [PAIRS, Digits(1)])
def test_an_avoided_value_is_never_dealt_and_all_others_are(slot: Slot) -> None:
    every = texts(slot, deal(slot, 6 if slot is PAIRS else 9, "a"))
    avoided = reader_of(slot)(every[2])
    assert avoided is not None
    rest = texts(slot, deal(slot, len(every) - 1, "a", frozenset([avoided])))
    assert rest == [text for text in every if text != every[2]]
    with pytest.raises(ValueError, match="different values are needed"):
        deal(slot, len(every), "a", frozenset([avoided]))


@each(
    ("slot", "text"),
    [(PAIRS, "red-red"), (PAIRS, "redhouse"), (SINGLE, "翠"), (Digits(3), "012"), (Digits(3), "1234"),
     (Digits(3), "٣٤٥"), (Uuids(), "00000000-0000-0000-0000-000000000000")],
)  # fmt: skip
def test_texts_that_a_slot_cannot_have_get_no_number(slot: Slot, text: str) -> None:
    assert reader_of(slot)(text) is None


def test_digits_are_evenly_distributed_at_every_place() -> None:
    dealt = np.array([list(map(int, text)) for text in texts(Digits(7), deal(Digits(7), 60_000, "even"))])
    for place, digits in enumerate(dealt.T):
        counts = np.bincount(digits, minlength=10)[place == 0 :]
        assert counts.min() > 0.94 * counts.mean()
        assert counts.max() < 1.06 * counts.mean()


@pytest.mark.parametrize("slot", [PAIRS, Digits(2), Digits(7), Digits(18)], ids=str)
@given(st.integers(0, 2**32))
@examples(10)
def test_the_next_value_takes_the_place_of_an_avoided_one(slot: Slot, seed: int) -> None:
    count = 2
    every = deal(slot, count, str(seed)).numbers.tolist()
    avoided = frozenset(every[:1])
    rest = deal(slot, count, str(seed), avoided).numbers.tolist()
    assert rest[0] == every[1]
    assert len(set(rest)) == count
    assert not avoided & set(rest)


def test_a_few_values_out_of_many_are_drawn_evenly() -> None:
    drawn = np.concatenate([deal(Digits(5), 200, str(seed)).numbers for seed in range(500)])
    counts = np.bincount(drawn // 10_000, minlength=9)
    assert counts.min() > 0.94 * counts.mean()
    assert counts.max() < 1.06 * counts.mean()
