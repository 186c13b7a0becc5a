"""Draws different values for the slots of generated lines, in bulk: words, digits and UUIDs.

The values of a slot are numbered. If few of many numbers are needed, they are drawn at random until all differ;
otherwise a seeded permutation is dealt out, so that none comes twice and none has to be remembered. Both are computed
from hashes and integer arithmetic only: numpy keeps the streams of its generators for one release, and rows must stay
the same forever.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from niah_gen.tokenizers.find import Ints

Words64 = npt.NDArray[np.uint64]
# Texts, and the numbers of those that stand in a column of lines, one for each line.
Column = tuple[tuple[str, ...], Ints]

_UUID = re.compile("[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")
# After these bytes of a UUID stands a hyphen.
_BEFORE_HYPHENS = (3, 5, 7, 9)


class Words(NamedTuple):
    """A word, or two words joined: each of `first` with each of `second`. The joined texts must all differ."""

    first: tuple[str, ...]
    second: tuple[str, ...] = ("",)
    joiner: str = ""


class Digits(NamedTuple):
    """A number of `size` digits, 1 to 18, that does not begin with 0."""

    size: int


class Uuids(NamedTuple):
    """A UUID of version 4, in lower case. Its number is its first 32 bits, of which the others are a hash."""


Slot = Words | Digits | Uuids


def size_of(slot: Slot) -> int:
    """How many different values a slot has."""
    match slot:
        case Words(first, second):
            return len(first) * len(second)
        case Digits(size):
            return int(9 * 10 ** (size - 1))
        case _:
            return 2**32


def number_of(slot: Slot, text: str) -> int | None:
    """The number of a value, for UUIDs their first 32 bits; None if the text is not a value of the slot."""
    match slot:
        case Words(first, second, joiner):
            for number, word in enumerate(first):
                rest = text[len(word + joiner) :]
                if text.startswith(word + joiner) and rest in second:
                    return number * len(second) + second.index(rest)
            return None
        case Digits(size):
            return int(text) - 10 ** (size - 1) if re.fullmatch(f"[1-9][0-9]{{{size - 1}}}", text) else None
        case _:
            return int(text[:8], 16) if _UUID.fullmatch(text) else None


def deal(slot: Slot, count: int, seed: str) -> Ints:
    """The numbers of `count` different values of a slot, drawn from a seed. Raises ValueError if there are too few."""
    size = size_of(slot)
    if count > size:
        raise ValueError(f"{count} different values are needed, but there are only {size}")
    # If the square of `count` is at most `size`, fewer than half of all draws have two numbers alike.
    if count * count > size:
        return scattered(np.arange(count, dtype=np.int64), size, seed)
    last = 2**64 - 1 - 2**64 % size  # beyond it, lower numbers would be more likely
    drawn = count
    while True:
        digest = hashlib.shake_128(seed.encode()).digest(8 * drawn)
        words = np.frombuffer(digest, dtype="<u8").astype(np.uint64, copy=False)
        different = dict.fromkeys((words[words <= np.uint64(last)] % np.uint64(size)).tolist())
        if len(different) >= count:
            return np.array(list(different)[:count], dtype=np.int64)
        drawn += 2 * (count - len(different)) + _MORE


# Random numbers drawn in addition to those that are missing.
_MORE = 4


def columns_of(slot: Slot, numbers: Ints) -> list[Column]:
    """The values with some numbers, in columns that stand side by side."""
    match slot:
        case Words(first, second, joiner):
            front, back = np.divmod(numbers, len(second))
            return [(tuple(word + joiner for word in first), front), (second, back)]
        case Digits(size):
            columns: list[Column] = []
            left = numbers + 10 ** (size - 1)
            for end in range(size, 0, -3):
                left, group = np.divmod(left, 1000)
                columns.insert(0, (_groups(min(3, end)), group))
            return columns
        case _:
            # RFC 9562: the version is the upper four bits of byte 6, the variant the upper two of byte 8.
            words = numbers.astype(np.uint64)
            both = np.empty((len(numbers), 2), dtype=">u8")
            upper = (words << np.uint64(32)) | (_hashed(words, 1) >> np.uint64(32))
            both[:, 0] = (upper & np.uint64(0xFFFF_FFFF_FFFF_0FFF)) | np.uint64(0x4000)
            both[:, 1] = (_hashed(words, 2) & np.uint64(0x3FFF_FFFF_FFFF_FFFF)) | np.uint64(0x8000_0000_0000_0000)
            octets = both.view(np.uint8).astype(np.int64)
            return [(_octets("-" if n in _BEFORE_HYPHENS else ""), octets[:, n]) for n in range(octets.shape[1])]


@lru_cache(maxsize=4)
def _groups(size: int) -> tuple[str, ...]:
    return tuple(f"{number:0{size}}" for number in range(10**size))


@lru_cache(maxsize=2)
def _octets(end: str) -> tuple[str, ...]:
    return tuple(f"{octet:02x}{end}" for octet in range(256))


def lay(columns: Sequence[Column]) -> tuple[str, Ints]:
    """Lines of columns, one after the other, as one text; and the size of each in code points."""
    tables = [_laid(texts) for texts, _ in columns]
    grids = [
        table[which].view(np.uint8).reshape(len(which), table.itemsize)
        for (table, _), (_, which) in zip(tables, columns, strict=True)
        if table.itemsize
    ]
    sizes = [sizes[which] for (_, sizes), (_, which) in zip(tables, columns, strict=True)]
    return np.concatenate(grids, axis=1).tobytes().translate(None, b"\0").decode(), np.sum(sizes, axis=0)


@lru_cache(maxsize=32)
def _laid(texts: tuple[str, ...]) -> tuple[npt.NDArray[np.bytes_], Ints]:
    """Texts in UTF-8, filled up to one width with NULs, and their sizes in code points."""
    return np.array([text.encode() for text in texts]), np.array(list(map(len, texts)))


def texts(slot: Slot, numbers: Ints) -> list[str]:
    """The values with some numbers."""
    return lay([*columns_of(slot, numbers), (("\n",), np.zeros(len(numbers), dtype=np.int64))])[0].split("\n")[:-1]


def scattered(places: Ints, size: int, seed: str) -> Ints:
    """Where a seeded permutation of the numbers below `size` puts some of them.

    A Feistel network over two digits, each round of which adds a hash of one digit to the other; a result of `size` or
    more is put through it again (J. Black, P. Rogaway, "Ciphers with arbitrary finite domains", 2002).
    """
    if size < 2:
        return np.zeros(len(places), dtype=np.int64)
    wide = int(np.ceil(np.sqrt(size)))
    wide = next((divisor for divisor in range(wide, wide + 64) if size % divisor == 0), wide)
    high = -(-size // wide)
    keys = _keys(seed)
    numbers = _through(places.astype(np.uint64), high, wide, keys)
    outside = np.flatnonzero(numbers >= size)
    while len(outside):
        numbers[outside] = _through(numbers[outside], high, wide, keys)
        outside = outside[numbers[outside] >= size]
    return numbers.astype(np.int64)


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
    """Digits to a base, each shifted by a random 64-bit number."""
    turned = digits + (((by >> np.uint64(32)) * np.uint64(base)) >> np.uint64(32))
    turned -= (turned >= base) * np.uint64(base)
    return turned


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
    """Numbers in a seeded random order: sorted by random keys, whose lower bits hold the numbers' places."""
    places = np.arange(len(numbers), dtype=np.uint64)
    low = np.uint64((1 << len(numbers).bit_length()) - 1)
    keys = (_hashed(places, _keys(seed)[0]) & ~low) | places
    keys.sort()
    return numbers[(keys & low).view(np.int64)]
