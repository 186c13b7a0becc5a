"""Parses JSON strictly: with orjson where that is strict enough, otherwise with the standard library.

orjson keeps the last of two equal keys, rejects lone surrogates, and turns integers beyond 64 bits into floats.
"""

from __future__ import annotations

import json
import re
from typing import Any

import orjson

from niah_score.contract import parse_json, refuse_deep
from niah_score.formats.record import UnreadableError
from niah_score.text.visible import without_surrogates

_LONG_INTEGER = re.compile(rb"[\s\[:,]-?\d{19}")


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
        if (value := _by_orjson(data)) is not None:
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


def _by_orjson(data: bytes) -> Any:
    """The value of JSON bytes; None where orjson cannot read them, or might read something else."""
    try:
        value = orjson.loads(data)
    except ValueError:
        return None
    return value if keys_are_single(data, value) and not _LONG_INTEGER.search(data) else None


def keys_are_single(data: bytes, value: Any) -> bool:
    """Whether no object in JSON has a key twice, of which orjson keeps the last; false also where that is in doubt.

    Every colon follows a key or is inside a string. The value written again has as many, unless a key was dropped or a
    string has its colons escaped. Prompts are counted apart, as writing one again takes as long as reading it.
    """
    colons, prompt = 0, value.get("prompt") if isinstance(value, dict) else None
    if isinstance(prompt, str):
        colons, value = prompt.count(":"), {**value, "prompt": None}
    escaped = b"\\u003a" in data or b"\\u003A" in data
    return not escaped and data.count(b":") == colons + orjson.dumps(value).count(b":")


def not_utf8(error: UnicodeDecodeError) -> str:
    """What to say about bytes that are not UTF-8: the first of them, by its place in its line."""
    byte = error.object[error.start]
    start = error.object.rfind(b"\n", 0, error.start) + 1
    return f"byte {error.start - start + 1} (0x{byte:02x}) is not UTF-8; save the file as UTF-8"
