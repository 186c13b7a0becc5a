"""Parses JSON strictly: with orjson where that is strict enough, otherwise with the standard library.

orjson keeps the last of two equal keys, rejects lone surrogates, and turns integers beyond 64 bits into floats.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

import orjson

from niah_score.contract import is_nested_deeper
from niah_score.formats.record import UnreadableError, brief
from niah_score.text.visible import without_surrogates

MAX_DEPTH = 64


class EncodingError(Exception):
    """Bytes that are not UTF-8: the first of them and its offset. `early`: the text merely ends within a character."""

    def __init__(self, offset: int, byte: int, early: bool) -> None:
        super().__init__(offset, byte, early)
        self.offset, self.byte, self.early = offset, byte, early

    def __str__(self) -> str:
        return f"byte {self.offset + 1} (0x{self.byte:02x}) is not UTF-8; save the file as UTF-8"


class BrokenError(UnreadableError):
    """Bytes that are not JSON, or only the beginning of it; `line` is where, from 1."""

    def __init__(self, message: str, line: int) -> None:
        super().__init__(message)
        self.line = line


class Repeated(dict[str, Any]):
    """An object with the key `twice` in it two times."""

    twice: str


def parse(data: bytes, *, exact: bool = False, tolerant: bool = False) -> Any:
    """The value of JSON bytes. exact: keep integers of any size, at the standard library's pace.

    tolerant: return objects with a key twice as Repeated, because each record of a document is judged on its own.
    Raises UnreadableError and EncodingError.
    """
    if not exact:
        try:
            value = orjson.loads(data)
        except ValueError:
            pass
        else:
            if (brackets(data) <= MAX_DEPTH or not _deeper(value)) and no_key_twice(data, value):
                return value
    return _by_standard_library(data, tolerant)


def brackets(data: bytes) -> int:
    """An upper limit of the depth of nesting."""
    return data.count(b"[") + data.count(b"{")


def no_key_twice(data: bytes, value: object) -> bool:
    """Whether orjson has kept every key; False also if that is costly to tell.

    Every colon follows a key or is inside a string. The value written again has as many colons, unless a key was
    dropped or a string has its colons escaped.
    """
    return not colons_escaped(data) and data.count(b":") == orjson.dumps(value).count(b":")


def colons_escaped(data: bytes) -> bool:
    """Whether a string may hold an escaped colon."""
    return b"\\" in data and (b"\\u003a" in data or b"\\u003A" in data)


def _deeper(value: object) -> bool:
    level = [value]
    for _ in range(MAX_DEPTH + 1):
        level = [inner for inner in _items_in(level) if isinstance(inner, dict | list)]
        if not level:
            return False
    return True


def _items_in(values: Iterable[object]) -> Iterator[Any]:
    """The items directly inside some values."""
    for value in values:
        yield from value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()


def _by_standard_library(data: bytes, tolerant: bool) -> Any:
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        raise EncodingError(error.start, data[error.start], error.reason == "unexpected end of data") from None
    if is_nested_deeper(data, MAX_DEPTH):
        raise UnreadableError(f"nesting deeper than {MAX_DEPTH}; expected a record of a few levels")
    repeated: list[Repeated] = []

    def keep(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        fields = dict(pairs)
        if len(fields) == len(pairs):
            return fields
        marked = Repeated(fields)
        keys = [key for key, _ in pairs]
        marked.twice = next(key for place, key in enumerate(keys) if key in keys[:place])
        repeated.append(marked)
        return marked

    try:
        value = json.loads(text, object_pairs_hook=keep)
    except json.JSONDecodeError as error:
        if error.msg == "Extra data":
            raise UnreadableError(
                f"not JSON: something follows a complete value at character {error.pos + 1}; expected one object per "
                "line"
            ) from None
        raise BrokenError(f"not JSON: {error.msg} (character {error.colno})", error.lineno) from None
    except ValueError:
        raise UnreadableError("a number of thousands of digits; expected ids as text") from None
    if repeated and not tolerant:
        raise UnreadableError(twice(repeated[0]))
    escaped = "\\u" in text
    del text  # it takes up to four times the memory of the line
    return _without_surrogates(value) if escaped else value


def twice(repeated: Repeated) -> str:
    """The message for an object with a key twice."""
    return f"key {brief(repeated.twice)} appears twice in one object; keep the right one"


def first_repeated(value: object) -> Repeated | None:
    """The outermost object with a key twice in a value; None if there is none."""
    level = [value]
    while level:
        repeated = next((item for item in level if isinstance(item, Repeated)), None)
        if repeated is not None:
            return repeated
        level = list(_items_in(level))
    return None


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
