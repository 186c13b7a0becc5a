"""Parses JSON strictly: with orjson where its reading is the strict one, with the standard library where it is not.

orjson keeps the last of two equal keys, rejects halves of surrogate pairs, and makes floats of integers beyond 64 bits.
"""

from __future__ import annotations

import json
import re
from typing import Any

import orjson

from niah_score.formats.record import UnreadableError, brief
from niah_score.text.visible import without_surrogates

MAX_DEPTH = 64
_TOKENS = re.compile(rb'"(?:[^"\\]|\\.)*+"|[\[{]|[\]}]', re.DOTALL)


class EncodingError(Exception):
    """Bytes that are not UTF-8: the first of them, and whether the text only ends too early."""

    def __init__(self, offset: int, byte: int, early: bool) -> None:
        super().__init__(offset, byte, early)
        self.offset, self.byte, self.early = offset, byte, early

    def __str__(self) -> str:
        return f"byte {self.offset + 1} (0x{self.byte:02x}) is not UTF-8; save the file as UTF-8"


class BrokenError(UnreadableError):
    """Bytes that are no JSON, or only the beginning of it; `line` is where, from 1."""

    def __init__(self, message: str, line: int) -> None:
        super().__init__(message)
        self.line = line


class Repeated(dict[str, Any]):
    """An object in which a key stood twice."""

    twice: str


def parse(data: bytes, *, exact: bool = False, tolerant: bool = False) -> Any:
    """The value of JSON bytes. exact: integers of any size, at the standard library's pace.

    tolerant: objects with a key twice come as Repeated, for the records of a document are judged one by one. Raises
    UnreadableError and EncodingError.
    """
    if not exact:
        try:
            value = orjson.loads(data)
        except ValueError:
            pass
        else:
            if (brackets(data) <= MAX_DEPTH or not _deeper(value)) and no_key_twice(data, value):
                return value
    return _by_hand(data, tolerant)


def brackets(data: bytes) -> int:
    """At least the depth of nesting."""
    return data.count(b"[") + data.count(b"{")


def no_key_twice(data: bytes, value: object) -> bool:
    """Whether orjson has kept every key; False also where this cannot be told cheaply.

    A colon follows a key, or stands in a string. The value written again holds as many, unless a key fell out or a
    string spells its colons as escapes.
    """
    return not colons_escaped(data) and data.count(b":") == orjson.dumps(value).count(b":")


def colons_escaped(data: bytes) -> bool:
    """Whether a string may spell a colon as an escape."""
    return b"\\" in data and (b"\\u003a" in data or b"\\u003A" in data)


def _deeper(value: object) -> bool:
    level = [value]
    for _ in range(MAX_DEPTH + 1):
        level = [
            inner
            for outer in level
            for inner in (outer.values() if isinstance(outer, dict) else outer if isinstance(outer, list) else ())
            if isinstance(inner, dict | list)
        ]
        if not level:
            return False
    return True


def _by_hand(data: bytes, tolerant: bool) -> Any:
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        raise EncodingError(error.start, data[error.start], error.reason == "unexpected end of data") from None
    if brackets(data) > MAX_DEPTH and _depth(data) > MAX_DEPTH:
        raise UnreadableError(f"nesting deeper than {MAX_DEPTH}; expected a record of a few levels")
    repeated: list[Repeated] = []

    def keep(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) == len(pairs):
            return found
        marked = Repeated(found)
        keys = [key for key, _ in pairs]
        marked.twice = next(key for place, key in enumerate(keys) if key in keys[:place])
        repeated.append(marked)
        return marked

    try:
        value = json.loads(text, object_pairs_hook=keep)
    except json.JSONDecodeError as error:
        if error.msg == "Extra data":
            raise UnreadableError(
                f"not JSON: after a whole value something follows at character {error.pos + 1}; expected one object a "
                "line"
            ) from None
        raise BrokenError(f"not JSON: {error.msg} (character {error.colno})", error.lineno) from None
    except ValueError:
        raise UnreadableError("a number of thousands of digits; expected ids as text") from None
    if repeated and not tolerant:
        raise UnreadableError(twice(repeated[0]))
    return _whole(value) if "\\u" in text else value


def twice(found: Repeated) -> str:
    """What to say of an object in which a key stood twice."""
    return f"key {brief(found.twice)} stands twice in one object; keep the one that is right"


def first_repeated(value: object) -> Repeated | None:
    """An object with a key twice, in a value that may hold one."""
    level = [value]
    while level:
        found = next((item for item in level if isinstance(item, Repeated)), None)
        if found is not None:
            return found
        level = [
            inner
            for outer in level
            for inner in (outer.values() if isinstance(outer, dict) else outer if isinstance(outer, list) else ())
        ]
    return None


def _depth(data: bytes) -> int:
    depth = deepest = 0
    for token in _TOKENS.finditer(data):
        first = token[0][:1]
        if first != b'"':
            depth += 1 if first in b"[{" else -1
            deepest = max(deepest, depth)
    return deepest


def _whole(value: Any) -> Any:
    """The value with no half of a surrogate pair in its strings, keys apart."""
    if isinstance(value, str):
        return without_surrogates(value)
    if isinstance(value, list):
        return [_whole(item) for item in value]
    if isinstance(value, dict):
        for key in value:
            value[key] = _whole(value[key])
    return value
