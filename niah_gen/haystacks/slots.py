"""Draws different values for the slots of generated lines, in bulk: words, digits and UUIDs.

The values of a slot are numbered. If few of many numbers are needed, they are drawn at random until all differ;
otherwise a seeded permutation is dealt out, so that none comes twice and none has to be remembered. Both are computed
from hashes and integer arithmetic only: numpy keeps the streams of its generators for one release, and rows must stay
the same forever.
"""

from __future__ import annotations

import hashlib
import re
import uuid
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache, partial
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
    """A word, or two words joined: each of `first` with each of `second`. The joined texts must all differ."""

    first: tuple[str, ...]
    second: tuple[str, ...] = ("",)
    joiner: str = ""


class Digits(NamedTuple):
    """A number of `size` digits, 1 to 18, that does not begin with 0."""

    size: int


class Uuids(NamedTuple):
    """A UUID of version 4, in lower case. The first 32 bits never repeat, the rest is random."""


Slot = Words | Digits | Uuids


class Values(NamedTuple):
    """Values of one slot. `numbers`: their numbers; for UUIDs their upper 64 bits, with the lower ones in `more`."""

    numbers: Ints
    more: Words64 | None = None


class Column(NamedTuple):
    """Texts in UTF-8, one per row, padded with `PADDING`. `sizes`: bytes of each; None if all fill their rows."""

    data: Bytes2D
    sizes: Ints | None = None


# A byte that does not occur in UTF-8.
PADDING = b"\xff"


def size_of(slot: Slot) -> int:
    """How many different values a slot has."""
    match slot:
        case Words(first, second):
            return len(first) * len(second)
        case Digits(size):
            return int(9 * 10 ** (size - 1))
        case _:
            return 2**32


# Reads the number of a slot's value, for UUIDs their first 32 bits; None if the text is not a value of the slot.
ReadNumber = Callable[[str], int | None]


@lru_cache(maxsize=32)
def reader_of(slot: Slot) -> ReadNumber:
    """The function that reads the numbers of a slot's values."""
    match slot:
        case Words(first, (second,), joiner):
            return {word + joiner + second: number for number, word in enumerate(first)}.get
        case Words(first, second, joiner):
            fronts = {word + joiner: number for number, word in enumerate(first)}
            return partial(_number_of_two, fronts, {word: number for number, word in enumerate(second)}, joiner)
        case Digits(size):
            return partial(_number_of_digits, size)
        case _:
            return lambda text: int(text[:8], 16) if _UUID.fullmatch(text) else None


def _number_of_two(fronts: Mapping[str, int], backs: Mapping[str, int], joiner: str, text: str) -> int | None:
    place = text.find(joiner)
    while 0 <= place < len(text):
        front, back = text[: place + len(joiner)], text[place + len(joiner) :]
        if front in fronts and back in backs:
            return fronts[front] * len(backs) + backs[back]
        place = text.find(joiner, place + 1)
    return None


def _number_of_digits(size: int, text: str) -> int | None:
    fits = len(text) == size and text.isascii() and text.isdecimal() and text[0] != "0"
    return int(text) - 10 ** (size - 1) if fits else None


def deal(slot: Slot, count: int, seed: str, avoid: frozenset[int] = frozenset()) -> Values:
    """`count` different values of a slot, drawn from a seed, with no number in `avoid`.

    Raises ValueError if there are too few.
    """
    size = size_of(slot)
    if count > size - len(avoid):
        raise ValueError(f"{count} different values are needed, but there are only {size - len(avoid)}")
    # If the square of `count` is at most `size`, fewer than half of all draws have two numbers alike.
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
    """The first `count` different random numbers below `size` that a seed gives, without those to avoid."""
    last = 2**64 - 1 - 2**64 % size  # beyond it, lower numbers would be more likely
    drawn = count
    while True:
        words = _words64(seed, drawn)
        numbers = (words[words <= np.uint64(last)] % np.uint64(size)).astype(np.int64)
        different = dict.fromkeys(numbers.tolist())
        for number in avoid:
            different.pop(number, None)
        if len(different) == drawn == count:
            return numbers
        if len(different) >= count:
            return np.array(list(different)[:count], dtype=np.int64)
        drawn += 2 * (count - len(different)) + _MORE


# Random numbers drawn in addition to those that are missing.
_MORE = 4


def _words64(seed: str, count: int) -> Words64:
    """The first `count` random 64-bit words that a seed gives."""
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


class Writer(NamedTuple):
    """How the values of a slot are written as bytes: in one or more columns side by side. `width`: of all together."""

    width: int
    columns: Callable[[Values], list[Column]]


@lru_cache(maxsize=32)
def writer_of(slot: Slot) -> Writer:
    """What writes the values of a slot."""
    match slot:
        case Words(first, second, joiner):
            tables = [_table([word + joiner for word in first])] + ([] if second == ("",) else [_table(second)])
            width = sum(table.data.shape[1] for table in tables)
            return Writer(width, partial(_word_columns, tables, len(second)))
        case Digits(size):
            return Writer(size, partial(_digit_columns, size))
        case _:
            return Writer(UUID_SIZE, _uuid_columns)


def _table(words: Sequence[str]) -> Column:
    encoded = [word.encode() for word in words]
    sizes = np.array([len(word) for word in encoded], dtype=np.int64)
    width = int(sizes.max())
    data = np.frombuffer(b"".join(word.ljust(width, PADDING) for word in encoded), dtype=np.uint8)
    return Column(data.reshape(len(words), width), None if (sizes == width).all() else sizes)


def _word_columns(tables: Sequence[Column], seconds: int, values: Values) -> list[Column]:
    numbers = [values.numbers]
    if len(tables) > 1:
        first = values.numbers // seconds
        numbers = [first, values.numbers - first * seconds]
    return [
        Column(data.take(which, axis=0), None if sizes is None else sizes.take(which))
        for (data, sizes), which in zip(tables, numbers, strict=True)
    ]


def _digit_columns(size: int, values: Values) -> list[Column]:
    left = values.numbers + 10 ** (size - 1)
    digits = np.empty((len(left), size), dtype=np.uint8)
    for end in range(size, 0, -3):
        rest, wide = left // 1000, min(3, end)
        digits[:, end - wide : end] = _THOUSAND[left - 1000 * rest, 3 - wide :]
        left = rest
    return [Column(digits)]


def _uuid_columns(values: Values) -> list[Column]:
    digits = _hexadecimal(values)
    text = np.full((len(digits), UUID_SIZE), ord("-"), dtype=np.uint8)
    at = start = 0
    for size in UUID_GROUPS:
        text[:, at : at + size] = digits[:, start : start + size]
        at, start = at + size + 1, start + size
    return [Column(text)]


def _hexadecimal(values: Values) -> Bytes2D:
    """The 32 hexadecimal digits of UUIDs, in ASCII."""
    assert values.more is not None
    both = np.empty((len(values.more), 2), dtype=">u8")
    both[:, 0], both[:, 1] = values.numbers.view(np.uint64), values.more
    return _HEX_PAIRS[both.view(np.uint8)].view(np.uint8).reshape(len(both), 32)


_THOUSAND = np.frombuffer("".join(f"{number:03}" for number in range(1000)).encode(), np.uint8).reshape(1000, 3)
_HEX_PAIRS = np.frombuffer("".join(f"{byte:02x}" for byte in range(256)).encode(), dtype=np.uint16)
