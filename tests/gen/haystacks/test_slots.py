"""Slots: values are dealt in a seeded order, none comes twice, and bytes are those of the texts."""

from __future__ import annotations

import uuid

import numpy as np
import pytest
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
    found = scattered(np.arange(size, dtype=np.int64), size, seed)
    assert sorted(found.tolist()) == list(range(size))


@pytest.mark.parametrize("slot", SLOTS, ids=str)
@given(st.integers(0, 2**32))
@examples(10)
def test_values_differ_and_their_bytes_and_numbers_are_those_of_their_texts(slot: Slot, seed: int) -> None:
    count = 3 if slot is SINGLE else 6
    values = deal(slot, count, str(seed))
    found = texts(slot, values)
    assert len(set(found)) == count
    rows = np.concatenate([column.data for column in writer_of(slot).columns(values)], axis=1)
    assert [bytes(row).translate(None, PADDING).decode() for row in rows] == found
    for text, number in zip(found, values.numbers.tolist(), strict=True):
        assert reader_of(slot)(text) == (int(text[:8], 16) if isinstance(slot, Uuids) else number)
        if isinstance(slot, Uuids):
            assert (str(uuid.UUID(text)), uuid.UUID(text).version) == (text, 4)
            assert uuid.UUID(text).variant == uuid.RFC_4122


@pytest.mark.parametrize("slot", [PAIRS, Digits(1)], ids=str)
def test_what_is_to_be_avoided_is_not_dealt_and_all_else_is(slot: Slot) -> None:
    every = texts(slot, deal(slot, 6 if slot is PAIRS else 9, "a"))
    avoided = reader_of(slot)(every[2])
    assert avoided is not None
    rest = texts(slot, deal(slot, len(every) - 1, "a", frozenset([avoided])))
    assert rest == [text for text in every if text != every[2]]
    with pytest.raises(ValueError, match="different values are needed"):
        deal(slot, len(every), "a", frozenset([avoided]))


@pytest.mark.parametrize(
    ("slot", "text"),
    [(PAIRS, "red-red"), (PAIRS, "redhouse"), (SINGLE, "翠"), (Digits(3), "012"), (Digits(3), "1234"),
     (Digits(3), "٣٤٥"), (Uuids(), "00000000-0000-0000-0000-000000000000")],
)  # fmt: skip
def test_other_texts_have_no_number(slot: Slot, text: str) -> None:
    assert reader_of(slot)(text) is None


def test_digits_are_even_at_every_place() -> None:
    found = np.array([list(map(int, text)) for text in texts(Digits(7), deal(Digits(7), 60_000, "even"))])
    for place, digits in enumerate(found.T):
        counts = np.bincount(digits, minlength=10)[place == 0 :]
        assert counts.min() > 0.94 * counts.mean()
        assert counts.max() < 1.06 * counts.mean()


@pytest.mark.parametrize("slot", [PAIRS, Digits(2), Digits(7), Digits(18)], ids=str)
@given(st.integers(0, 2**32))
@examples(10)
def test_what_is_to_be_avoided_leaves_its_place_to_the_next(slot: Slot, seed: int) -> None:
    count = 2
    every = deal(slot, count, str(seed)).numbers.tolist()
    avoided = frozenset(every[:1])
    rest = deal(slot, count, str(seed), avoided).numbers.tolist()
    assert rest[0] == every[1]
    assert len(set(rest)) == count
    assert not avoided & set(rest)


def test_few_of_many_are_drawn_evenly() -> None:
    found = np.concatenate([deal(Digits(5), 200, str(seed)).numbers for seed in range(500)])
    counts = np.bincount(found // 10_000, minlength=9)
    assert counts.min() > 0.94 * counts.mean()
    assert counts.max() < 1.06 * counts.mean()
