"""Damages files by a seed: flips bits, cuts, inserts, splices two files, repeats pieces, replaces values and keys."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Sequence

# What readers of text formats trip over where nobody expects it.
PIECES = (
    b"\0", b"\xff", b"\xed\xa0\x80", b"\xef\xbb\xbf", b"\r", b"\n", b"\n\n", b"\x1b[2J", b'"', b"'", b"\\", b",", b"[",
    b"]", b"{", b"}", b"=", b"null", b"true", b"-1", b"0", b"1e999", b"NaN", b"18446744073709551617", b"9" * 5000,
    b"\\ud800", b"\\u0000", b"../../x", b"/etc/passwd", b"[" * 3000, b'{"a":' * 3000, "\u202e".encode(),
    "e\u0301".encode(), b"a" * 5000, b"{0}", b"{question}", b"%s", b"{{", b"(?:", b"(a+)+$", b"[]", b"{}", b'""',
    b"\na = " + b"[" * 3000 + b"\n", b"\n" + b"a." * 2000 + b"a = 1\n", b"\nx = 1979-05-27T07:32:00Z\n",
)  # fmt: skip
_NUMBER = re.compile(rb"-?\d+(?:\.\d+)?")
_VALUES = (
    b"-1", b"0", b"1", b"1.5", b"3000000000", b"1e999", b"NaN", b"null", b"true", b'"x"', b'""', b"[]", b"{}", b"[[]]",
)  # fmt: skip
_VALUE = re.compile(rb'(?<=[:=])\s*(?:"[^"\n]*"|-?[\d.]+|true|false|null|\[[^\[\]\n]*\]|\{[^{}\n]*\})')
_KEY = re.compile(rb'(?m)(?:"(\w+)"\s*:|^\s*(\w+)\s*=)')


def mutated(seeds: Sequence[bytes], rng: random.Random) -> bytes:
    """One of the given files with one to four damages, drawn from `rng`."""
    data = rng.choice(seeds)
    for _ in range(rng.choice((1, 1, 1, 2, 2, 4))):
        data = rng.choice(_DAMAGES)(data, seeds, rng)
    return data


def _flip(data: bytes, seeds: Sequence[bytes], rng: random.Random) -> bytes:
    if not data:
        return data
    place = rng.randrange(len(data))
    return data[:place] + bytes([data[place] ^ 1 << rng.randrange(8)]) + data[place + 1 :]


def _truncate(data: bytes, seeds: Sequence[bytes], rng: random.Random) -> bytes:
    return data[: rng.randint(0, len(data))]


def _remove(data: bytes, seeds: Sequence[bytes], rng: random.Random) -> bytes:
    start = rng.randint(0, len(data))
    return data[:start] + data[start + rng.choice((1, 2, 10, 100)) :]


def _insert(data: bytes, seeds: Sequence[bytes], rng: random.Random) -> bytes:
    place = rng.randint(0, len(data))
    return data[:place] + rng.choice(PIECES) + data[place:]


def _splice(data: bytes, seeds: Sequence[bytes], rng: random.Random) -> bytes:
    other = rng.choice(seeds)
    return data[: rng.randint(0, len(data))] + other[rng.randint(0, len(other)) :]


def _repeat(data: bytes, seeds: Sequence[bytes], rng: random.Random) -> bytes:
    start = rng.randint(0, len(data))
    end = min(len(data), start + rng.choice((1, 8, 64, 512)))
    return data[:end] + data[start:end] * rng.choice((1, 2, 50)) + data[end:]


def _replace(pattern: re.Pattern[bytes], values: Sequence[bytes]) -> Callable[..., bytes]:
    def replace(data: bytes, seeds: Sequence[bytes], rng: random.Random) -> bytes:
        matches = list(pattern.finditer(data))
        if not matches:
            return _insert(data, seeds, rng)
        match = rng.choice(matches)
        return data[: match.start()] + rng.choice(values) + data[match.end() :]

    return replace


def _swap_lines(data: bytes, seeds: Sequence[bytes], rng: random.Random) -> bytes:
    lines = data.split(b"\n")
    first, second = rng.randrange(len(lines)), rng.randrange(len(lines))
    lines[first], lines[second] = lines[second], lines[first]
    return b"\n".join(lines)


def _drop_line(data: bytes, seeds: Sequence[bytes], rng: random.Random) -> bytes:
    lines = data.split(b"\n")
    del lines[rng.randrange(len(lines))]
    return b"\n".join(lines)


def _rename_key(data: bytes, seeds: Sequence[bytes], rng: random.Random) -> bytes:
    """Rename one key to a key of any of the files, or to an unknown one."""
    keys = list(_KEY.finditer(data))
    if not keys:
        return _insert(data, seeds, rng)
    others = [match.group(1) or match.group(2) for match in _KEY.finditer(rng.choice(seeds))] or [b"x"]
    match = rng.choice(keys)
    start, end = match.span(1) if match.group(1) else match.span(2)
    return data[:start] + rng.choice([*others, b"x", b"__class__"]) + data[end:]


_DAMAGES: tuple[Callable[..., bytes], ...] = (
    _flip, _truncate, _remove, _insert, _splice, _repeat, _swap_lines, _drop_line, _rename_key,
    _replace(_NUMBER, _VALUES), _replace(_VALUE, _VALUES),
)  # fmt: skip
