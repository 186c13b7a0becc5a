"""Draws what stands in the slots of generated lines: words, digits and UUIDs, all different, in bulk.

The values of a slot are numbered. A few of many numbers are drawn at random until all differ; of more, a seeded
permutation is dealt out, so that none comes twice and none need be remembered. Both are computed from hashes and
whole-number arithmetic alone: numpy promises the streams of its generators for one release only, and rows must stay the
same for ever.
"""

from __future__ import annotations

import hashlib
import re
import uuid
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from niah_gen.tokenizers.find import Ints

Bytes2D = npt.NDArray[np.uint8]
Words64 = npt.NDArray[np.uint64]

_UUID = re.compile("[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")
UUID_GROUPS = (8, 4, 4, 4, 12)
UUID_SIZE = 36


class Words(NamedTuple):
    """A word, or two joined ones: every one of `first` with every one of `second`.

    The texts must differ, also once they are joined.
    """

    first: tuple[str, ...]
    second: tuple[str, ...] = ("",)
    joiner: str = ""


class Digits(NamedTuple):
    """A number of so many digits, the first of which is no 0; 1 to 18."""

    size: int


class Uuids(NamedTuple):
    """A UUID of version 4, in lower case.

    The first 32 bits never come twice, and the rest is random.
    """


Slot = Words | Digits | Uuids


class Values(NamedTuple):
    """Values of one slot. `numbers`: their numbers; of UUIDs the upper 64 bits, and `more` the lower ones."""

    numbers: Ints
    more: Words64 | None = None


class Column(NamedTuple):
    """Texts in UTF-8, a row each, filled up with `PADDING`. `sizes`: bytes of each; None where all fill their row."""

    data: Bytes2D
    sizes: Ints | None = None


# No UTF-8 holds it.
PADDING = b"\xff"


def size_of(slot: Slot) -> int:
    """How many different values a slot can be dealt."""
    match slot:
        case Words(first, second):
            return len(first) * len(second)
        case Digits(size):
            return int(9 * 10 ** (size - 1))
        case _:
            return 2**32


def number_of(slot: Slot, text: str) -> int | None:
    """The number of a slot's value, of UUIDs the first 32 bits; None for a text that is no value of the slot."""
    match slot:
        case Words():
            return _numbers(slot).get(text) if len(slot.second) == 1 else _number_of_two(slot, text)
        case Digits(size):
            fits = len(text) == size and text.isascii() and text.isdecimal() and text[0] != "0"
            return int(text) - 10 ** (size - 1) if fits else None
        case _:
            return int(text[:8], 16) if _UUID.fullmatch(text) else None


@lru_cache(maxsize=16)
def _numbers(slot: Words) -> dict[str, int]:
    return {word + slot.joiner + slot.second[0]: number for number, word in enumerate(slot.first)}


@lru_cache(maxsize=16)
def _halves(slot: Words) -> tuple[dict[str, int], dict[str, int]]:
    fronts = {word + slot.joiner: number for number, word in enumerate(slot.first)}
    return fronts, {word: number for number, word in enumerate(slot.second)}


def _number_of_two(slot: Words, text: str) -> int | None:
    fronts, backs = _halves(slot)
    for size in range(1, len(text)):
        if text[:size] in fronts and text[size:] in backs:
            return fronts[text[:size]] * len(backs) + backs[text[size:]]
    return None


def deal(slot: Slot, count: int, seed: str, avoid: frozenset[int] = frozenset()) -> Values:
    """`count` different values of a slot, drawn by a seed, none of whose numbers is in `avoid`.

    Raises ValueError where there are not so many.
    """
    size = size_of(slot)
    if count > size - len(avoid):
        raise ValueError(f"{count} different values are wanted, and there are {size - len(avoid)}")
    # Of fewer than the root of all, two are alike in less than every second draw.
    numbers = _sampled(size, count, seed, avoid) if count * count <= size else _dealt(size, count, seed, avoid)
    if not isinstance(slot, Uuids):
        return Values(numbers)
    # RFC 9562: the version is the upper four bits of byte 6, the variant the upper two of byte 8.
    random = _words64(f"{seed}/rest", 2 * count)
    upper = (numbers.astype(np.uint64) << np.uint64(32)) | (random[:count] >> np.uint64(32))
    upper = (upper & np.uint64(0xFFFF_FFFF_FFFF_0FFF)) | np.uint64(0x4000)
    lower = (random[count:] & np.uint64(0x3FFF_FFFF_FFFF_FFFF)) | np.uint64(0x8000_0000_0000_0000)
    return Values(upper.view(np.int64), lower)


def _sampled(size: int, count: int, seed: str, avoid: frozenset[int]) -> Ints:
    """The first `count` different ones of a seed's random numbers below `size`, without those to avoid."""
    last = np.uint64(2**64 - 1 - 2**64 % size)  # beyond it the lower numbers would come more often
    drawn = count
    while True:
        words = _words64(seed, drawn)
        numbers = (words[words <= last] % np.uint64(size)).astype(np.int64)
        different = dict.fromkeys(numbers.tolist())
        for number in avoid:
            different.pop(number, None)
        if len(different) == drawn == count:
            return numbers
        if len(different) >= count:
            return np.array(list(different)[:count], dtype=np.int64)
        drawn += 2 * (count - len(different)) + _MORE


# Random numbers drawn beyond those that were found wanting.
_MORE = 4


def _words64(seed: str, count: int) -> Words64:
    """The first `count` random words of 64 bits of a seed."""
    digest = hashlib.shake_128(seed.encode()).digest(8 * count)
    return np.frombuffer(digest, dtype="<u8").astype(np.uint64, copy=False)


def _dealt(size: int, count: int, seed: str, avoid: frozenset[int]) -> Ints:
    """The first `count` numbers of a seeded permutation of those below `size`, without those to avoid."""
    numbers = scattered(np.arange(min(count + len(avoid), size), dtype=np.int64), size, seed)
    if avoid:
        numbers = numbers[~np.isin(numbers, np.fromiter(avoid, np.int64, len(avoid)))]
    return numbers[:count]


def scattered(places: Ints, size: int, seed: str) -> Ints:
    """Where a seeded permutation of the numbers below `size` puts some of them.

    A Feistel network over two digits, the rounds of which add a hash of one digit to the other; a number that it takes
    beyond `size` is put through it again (J. Black, P. Rogaway, "Ciphers with arbitrary finite domains", 2002).
    """
    if size < 2:
        return np.zeros(len(places), dtype=np.int64)
    wide = int(np.ceil(np.sqrt(size)))
    wide = next((found for found in range(wide, wide + 64) if size % found == 0), wide)
    high = -(-size // wide)
    keys = _keys(seed)
    found = _through(places.astype(np.uint64), high, wide, keys)
    outside = np.flatnonzero(found >= size)
    while len(outside):
        found[outside] = _through(found[outside], high, wide, keys)
        outside = outside[found[outside] >= size]
    return found.astype(np.int64)


_ROUNDS = 4


def _keys(seed: str) -> list[int]:
    digest = hashlib.sha256(seed.encode()).digest()
    return [int.from_bytes(digest[8 * number : 8 * number + 8], "big") for number in range(_ROUNDS)]


def _through(numbers: Words64, high: int, wide: int, keys: list[int]) -> Words64:
    left, right = numbers // np.uint64(wide), numbers % np.uint64(wide)
    for turn, key in enumerate(keys):
        if turn % 2:
            right = _turned(right, _hashed(left, key), wide)
        else:
            left = _turned(left, _hashed(right, key), high)
    return left * np.uint64(wide) + right


def _turned(digits: Words64, by: Words64, base: int) -> Words64:
    """Digits to a base, each turned on by a random number of 64 bits."""
    found = digits + (((by >> np.uint64(32)) * np.uint64(base)) >> np.uint64(32))
    found -= (found >= base) * np.uint64(base)
    return found


def _hashed(numbers: Words64, key: int) -> Words64:
    """Each number and a key mixed into 64 bits, by the finalizer of SplitMix64 (G. Steele and others, 2014)."""
    mixed = numbers * np.uint64(0x9E37_79B9_7F4A_7C15) + np.uint64(key)
    mixed ^= mixed >> np.uint64(30)
    mixed *= np.uint64(0xBF58_476D_1CE4_E5B9)
    mixed ^= mixed >> np.uint64(27)
    mixed *= np.uint64(0x94D0_49BB_1331_11EB)
    mixed ^= mixed >> np.uint64(31)
    return mixed


def shuffled(numbers: Ints, seed: str) -> Ints:
    """Numbers in a seeded random order: each sorted by a random number, whose lower bits make room for its place."""
    places = np.arange(len(numbers), dtype=np.uint64)
    low = np.uint64((1 << len(numbers).bit_length()) - 1)
    keys = (_hashed(places, _keys(seed)[0]) & ~low) | places
    keys.sort()
    return numbers[(keys & low).view(np.int64)]


def texts(slot: Slot, values: Values) -> list[str]:
    """Values as texts."""
    match slot:
        case Words(first, second, joiner):
            pairs = (divmod(number, len(second)) for number in values.numbers.tolist())
            return [first[front] + joiner + second[back] for front, back in pairs]
        case Digits(size):
            return [str(number + 10 ** (size - 1)) for number in values.numbers.tolist()]
        case _:
            assert values.more is not None
            halves = zip(values.numbers.view(np.uint64).tolist(), values.more.tolist(), strict=True)
            return [str(uuid.UUID(int=upper << 64 | lower)) for upper, lower in halves]


def columns(slot: Slot, values: Values) -> list[Column]:
    """Values as bytes, in one or more columns that stand side by side."""
    match slot:
        case Words(first, second, joiner):
            front, back = np.divmod(values.numbers, len(second))
            found = [_picked(_joined(first, joiner), front)]
            return found if second == ("",) else [*found, _picked(second, back)]
        case Digits(size):
            digits = np.empty((len(values.numbers), size), dtype=np.uint8)
            left = values.numbers + 10 ** (size - 1)
            for end in range(size, 0, -3):
                rest, wide = left // 1000, min(3, end)
                digits[:, end - wide : end] = _THOUSAND[left - 1000 * rest, 3 - wide :]
                left = rest
            return [Column(digits)]
        case _:
            found_hex = _hexadecimal(values)
            text = np.full((len(found_hex), UUID_SIZE), ord("-"), dtype=np.uint8)
            at = start = 0
            for size in UUID_GROUPS:
                text[:, at : at + size] = found_hex[:, start : start + size]
                at, start = at + size + 1, start + size
            return [Column(text)]


@lru_cache(maxsize=32)
def _joined(words: tuple[str, ...], joiner: str) -> tuple[str, ...]:
    return tuple(word + joiner for word in words)


def _hexadecimal(values: Values) -> Bytes2D:
    """The 32 hexadecimal digits of UUIDs, in ASCII."""
    assert values.more is not None
    both = np.empty((len(values.more), 2), dtype=">u8")
    both[:, 0], both[:, 1] = values.numbers.view(np.uint64), values.more
    return _HEX_PAIRS[both.view(np.uint8)].view(np.uint8).reshape(len(both), 32)


_THOUSAND = np.frombuffer("".join(f"{number:03}" for number in range(1000)).encode(), np.uint8).reshape(1000, 3)
_HEX_PAIRS = np.frombuffer("".join(f"{byte:02x}" for byte in range(256)).encode(), dtype=np.uint16)


def _picked(words: tuple[str, ...], which: Ints) -> Column:
    table, sizes = _table(words)
    return Column(table[which], None if (sizes == table.shape[1]).all() else sizes[which])


@lru_cache(maxsize=32)
def _table(words: tuple[str, ...]) -> tuple[Bytes2D, Ints]:
    """Words in UTF-8, a row each, and the bytes of each."""
    encoded = [word.encode() for word in words]
    sizes = np.array([len(word) for word in encoded], dtype=np.int64)
    width = int(sizes.max())
    data = np.frombuffer(b"".join(word.ljust(width, PADDING) for word in encoded), dtype=np.uint8)
    return data.reshape(len(words), width), sizes
