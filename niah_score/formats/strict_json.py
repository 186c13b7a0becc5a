"""Parses JSON strictly: with orjson where that is strict enough, otherwise with the standard library.

orjson keeps the last of two equal keys, rejects lone surrogates, and turns integers beyond 64 bits into floats.
"""

from __future__ import annotations

import json
from typing import Any

import orjson

from niah_score.contract import parse_json, refuse_deep
from niah_score.formats.record import UnreadableError
from niah_score.text.visible import without_surrogates

_AS_ZEROS = bytes.maketrans(b"123456789", b"000000000")
# Perhaps of an integer beyond 64 bits.
_MANY_DIGITS = b"0" * 19


class BrokenError(UnreadableError):
    """Bytes that are not JSON, or only the beginning of it; `line` is where, from 1."""

    def __init__(self, error: json.JSONDecodeError) -> None:
        what = error.msg.replace("Extra data", "something follows a complete value")
        super().__init__(f"not JSON: {what} (character {error.colno})")
        self.line = error.lineno


def parse(data: bytes) -> Any:
    """The value of JSON bytes, without lone surrogates.

    Raises UnreadableError, and UnicodeDecodeError for bytes that are not UTF-8.
    """
    try:
        refuse_deep(data)
        if (value := by_orjson(data)) is not None:
            return value
        value = parse_json(data)
        return json.loads(without_surrogates(json.dumps(value, ensure_ascii=False))) if b"\\u" in data else value
    except json.JSONDecodeError as error:
        raise BrokenError(error) from None
    except UnicodeDecodeError:
        raise
    except ValueError as error:
        long = str(error).startswith("Exceeds the limit")
        raise UnreadableError("a number of thousands of digits; expected ids as text" if long else str(error)) from None


def by_orjson(data: bytes) -> Any:
    """The value of JSON bytes; None where orjson cannot read them, or might read something else."""
    try:
        value = orjson.loads(data)
    except ValueError:
        return None
    # Every colon follows a key or is inside a string. The value written again has as many, unless a key was there twice
    # or a string has its colons escaped.
    same_colons = data.count(b":") == orjson.dumps(value).count(b":")
    in_doubt = b"\\u003a" in data or b"\\u003A" in data or _MANY_DIGITS in data.translate(_AS_ZEROS)
    return value if same_colons and not in_doubt else None


def not_utf8(error: UnicodeDecodeError) -> str:
    """What to say about bytes that are not UTF-8: the first of them, by its place in its line."""
    byte = error.object[error.start]
    start = error.object.rfind(b"\n", 0, error.start) + 1
    return f"byte {error.start - start + 1} (0x{byte:02x}) is not UTF-8; save the file as UTF-8"
