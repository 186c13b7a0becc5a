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


class Repeated(dict[str, Any]):
    """An object with the key `twice` in it two times."""

    twice: str


def parse(data: bytes, *, tolerant: bool = False) -> Any:
    """The value of JSON bytes. tolerant: return objects with a key twice as Repeated instead of refusing them.

    Raises UnreadableError, and UnicodeDecodeError for bytes that are not UTF-8.
    """
    if is_nested_deeper(data, MAX_DEPTH):
        raise UnreadableError(f"nesting deeper than {MAX_DEPTH}; expected a record of a few levels")
    try:
        value = orjson.loads(data)
    except ValueError:
        return _by_standard_library(data, tolerant)
    # Every colon follows a key or is inside a string. The value written again has as many, unless a key was dropped or
    # a string has its colons escaped.
    escaped = b"\\u003a" in data or b"\\u003A" in data
    if escaped or data.count(b":") != orjson.dumps(value).count(b":") or _LONG_INTEGER.search(data):
        return _by_standard_library(data, tolerant)
    return value


def _by_standard_library(data: bytes, tolerant: bool) -> Any:
    text = data.decode()
    found: list[Repeated] = []

    def kept(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        fields = dict(pairs)
        if len(fields) == len(pairs):
            return fields
        marked, keys = Repeated(fields), [key for key, _ in pairs]
        marked.twice = next(key for place, key in enumerate(keys) if key in keys[:place])
        found.append(marked)
        return marked

    try:
        value = json.loads(text, object_pairs_hook=kept)
    except json.JSONDecodeError as error:
        if error.msg == "Extra data":
            raise UnreadableError(
                f"not JSON: something follows a complete value at character {error.pos + 1}; expected one object per "
                "line"
            ) from None
        raise BrokenError(f"not JSON: {error.msg} (character {error.colno})", error.lineno) from None
    except ValueError:
        raise UnreadableError("a number of thousands of digits; expected ids as text") from None
    if found and not tolerant:
        refuse_repeated(found[0])
    escaped = "\\u" in text
    del text  # it takes up to four times the memory of the line
    return _without_surrogates(value) if escaped else value


def refuse_repeated(value: object) -> None:
    """Raise UnreadableError if a value, or one inside it, is an object with a key twice."""
    if isinstance(value, Repeated):
        raise UnreadableError(f"key {brief(value.twice)} appears twice in one object; keep the right one")
    for inner in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        refuse_repeated(inner)


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
