"""Prepares text for writing, as UTF-8 and as the inside of a JSON string."""

from __future__ import annotations

import numpy as np
import orjson

from niah_gen.tokenizers.find import Ints


class Fragment:
    """Text ready to be written: as UTF-8, as the inside of a JSON string, and its number of code points."""

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
    """A text as canonical JSON has it between the quotes; orjson writes the same as `json`, far faster."""
    return orjson.dumps(text)[1:-1]


def literal(text: str) -> Fragment:
    """A text as a fragment."""
    return Fragment((text.encode(),), (json_inside(text),), len(text))


def json_growth(data: bytes) -> Ints:
    """Offsets of the bytes that JSON escapes, each repeated once for every byte that its escape adds."""
    growth = np.frombuffer(data.translate(_JSON_GROWTH), dtype=np.uint8)
    escaped = np.flatnonzero(growth)
    return np.repeat(escaped, growth[escaped])


# Bytes that an escape adds: one for quote, backslash and five control characters, five (\u00XX) for other controls.
_JSON_GROWTH = bytes(1 if chr(byte) in '"\\\b\t\n\f\r' else 5 * (byte < 0x20) for byte in range(256))
