"""Damages files by a seed: flips bits, cuts, inserts, splices two files, repeats pieces, replaces values and keys."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence

# What readers of text formats trip over where nobody expects it.
PIECES = (
    b"\0", b"\xff", b"\xed\xa0\x80", b"\xef\xbb\xbf", b"\r", b"\n", b"\n\n", b"\x1b[2J", b'"', b"'", b"\\", b",", b"[",
    b"]", b"{", b"}", b"=", b"null", b"true", b"-1", b"0", b"1e999", b"NaN", b"18446744073709551617", b"9" * 5000,
    b"\\ud800", b"\\u0000", b"../../x", b"/etc/passwd", b"[" * 3000, b'{"a":' * 3000, "\u202e".encode(),
    "e\u0301".encode(), b"a" * 5000, b"{0}", b"{question}", b"%s", b"{{", b"(?:", b"(a+)+$", b"[]", b"{}", b'""',
    b"\na = " + b"[" * 3000 + b"\n", b"\n" + b"a." * 2000 + b"a = 1\n", b"\nx = 1979-05-27T07:32:00Z\n",
)  # fmt: skip
_VALUES = (
    b"-1", b"0", b"1", b"1.5", b"3000000000", b"1e999", b"NaN", b"null", b"true", b'"x"', b'""', b"[]", b"{}", b"[[]]",
)  # fmt: skip
# What is replaced as a whole, wherever it stands.
_REPLACED = {
    "number": re.compile(rb"-?\d+(?:\.\d+)?"),
    "value": re.compile(rb'(?<=[:=])\s*(?:"[^"\n]*"|-?[\d.]+|true|false|null|\[[^\[\]\n]*\]|\{[^{}\n]*\})'),
    "key": re.compile(rb'\w+(?="\s*:|\s*=)'),
}


def mutated(seeds: Sequence[bytes], rng: random.Random) -> bytes:
    """One of the given files with one to four damages, drawn from `rng`."""
    data = rng.choice(seeds)
    for _ in range(rng.choice((1, 1, 1, 2, 2, 4))):
        data = _damaged(data, rng.choice(seeds), rng)
    return data


def _damaged(data: bytes, other: bytes, rng: random.Random) -> bytes:
    """The data with one stretch replaced; `other` is a file that a splice or a key may come from."""
    kind = rng.choice(("flip", "cut", "remove", "insert", "splice", "repeat", "number", "value", "key"))
    start = rng.randint(0, len(data))
    end = min(len(data), start + rng.choice((1, 8, 64, 512)))
    places = list(_REPLACED[kind].finditer(data)) if kind in _REPLACED else []
    if places:
        start, end = rng.choice(places).span()
    elif kind == "flip":
        end = min(len(data), start + 1)
    elif kind == "insert":
        end = start
    elif kind in ("cut", "splice"):
        end = len(data)
    new: dict[str, bytes] = {
        "flip": bytes(byte ^ 1 << rng.randrange(8) for byte in data[start:end]), "cut": b"", "remove": b"",
        "insert": rng.choice(PIECES), "splice": other[rng.randint(0, len(other)) :],
        "repeat": data[start:end] * rng.choice((2, 3, 50)), "number": rng.choice(_VALUES), "value": rng.choice(_VALUES),
        "key": rng.choice([*_REPLACED["key"].findall(other), b"x", b"__class__"]),
    }  # fmt: skip
    return data[:start] + new[kind] + data[end:]
