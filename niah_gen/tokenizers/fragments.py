"""Makes text ready to be written: its UTF-8, and the same as the inside of a JSON string."""

from __future__ import annotations

import numpy as np
import orjson

from niah_gen.tokenizers.find import Ints


class Fragment:
    """Text ready to be written: its UTF-8, the same as the inside of a JSON string, its number of code points."""

    __slots__ = ("chars", "json", "utf8")

    def __init__(self, utf8: tuple[bytes | memoryview, ...], json: tuple[bytes | memoryview, ...], chars: int) -> None:
        self.utf8 = utf8
        self.json = json
        self.chars = chars

    def __add__(self, other: Fragment) -> Fragment:
        return Fragment(self.utf8 + other.utf8, self.json + other.json, self.chars + other.chars)

    @property
    def text(self) -> str:
        """The text as a str."""
        return b"".join(self.utf8).decode()


def json_inside(text: str) -> bytes:
    """A text as it stands between the quotes of a canonical JSON string; orjson writes texts alike, and far faster."""
    return orjson.dumps(text)[1:-1]


def literal(text: str) -> Fragment:
    """A text of our own as a stretch."""
    return Fragment((text.encode(),), (json_inside(text),), len(text))


def json_growth(data: bytes) -> Ints:
    """Offsets of the bytes that JSON escapes, each as often as its escape adds bytes."""
    growth = np.frombuffer(data.translate(_JSON_GROWTH), dtype=np.uint8)
    escaped = np.flatnonzero(growth)
    return np.repeat(escaped, growth[escaped])


# Bytes that an escape adds: quote, backslash and five control characters have short ones, other controls \u00XX.
_JSON_GROWTH = bytes(1 if chr(byte) in '"\\\b\t\n\f\r' else 5 * (byte < 0x20) for byte in range(256))
