"""Parses JSON strictly: with orjson where that is strict enough, otherwise with the standard library.

orjson keeps the last of two equal keys, rejects lone surrogates, and turns integers beyond 64 bits into floats.
"""

from __future__ import annotations

import json
import re
from typing import Any

import orjson

from niah_score.contract import is_nested_deeper
from niah_score.formats.record import UnreadableError, brief
from niah_score.text.visible import without_surrogates

MAX_DEPTH = 64
_LONG_INTEGER = re.compile(rb"[\s\[:,]-?\d{19}")


class BrokenError(UnreadableError):
    """Bytes that are not JSON, or only the beginning of it; `line` is where, from 1."""

    def __init__(self, message: str, line: int) -> None:
        super().__init__(message)
        self.line = line


def parse(data: bytes) -> Any:
    """The value of JSON bytes. Raises UnreadableError, and UnicodeDecodeError for bytes that are not UTF-8."""
    if is_nested_deeper(data, MAX_DEPTH):
        raise UnreadableError(f"nesting deeper than {MAX_DEPTH}; expected a record of a few levels")
    try:
        value = orjson.loads(data)
    except ValueError:
        return _by_standard_library(data)
    # Every colon follows a key or is inside a string. The value written again has as many, unless a key was dropped or
    # a string has its colons escaped.
    escaped = b"\\u003a" in data or b"\\u003A" in data
    if escaped or data.count(b":") != orjson.dumps(value).count(b":") or _LONG_INTEGER.search(data):
        return _by_standard_library(data)
    return value


def _by_standard_library(data: bytes) -> Any:
    text = data.decode()
    try:
        value = json.loads(text, object_pairs_hook=_without_repeats)
    except json.JSONDecodeError as error:
        what = error.msg.replace("Extra data", "something follows a complete value")
        raise BrokenError(f"not JSON: {what} (character {error.colno})", error.lineno) from None
    except ValueError:
        raise UnreadableError("a number of thousands of digits; expected ids as text") from None
    escaped = "\\u" in text
    del text  # it takes up to four times the memory of the line
    return _without_surrogates(value) if escaped else value


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    for key, value in pairs:
        if key in fields:
            raise UnreadableError(f"key {brief(key)} appears twice in one object; keep the right one")
        fields[key] = value
    return fields


def _without_surrogates(value: Any) -> Any:
    """The value with no lone surrogates in its strings, except in keys."""
    if isinstance(value, str):
        return without_surrogates(value)
    if isinstance(value, list):
        return [_without_surrogates(item) for item in value]
    if isinstance(value, dict):
        for key in value:
            value[key] = _without_surrogates(value[key])
    return value


def not_utf8(error: UnicodeDecodeError) -> str:
    """What to say about bytes that are not UTF-8: the first of them, by its place in its line."""
    byte = error.object[error.start]
    start = error.object.rfind(b"\n", 0, error.start) + 1
    return f"byte {error.start - start + 1} (0x{byte:02x}) is not UTF-8; save the file as UTF-8"
