"""Parses JSON files that vouch for others: one reading and no other, or none."""

from __future__ import annotations

import json
import math
import re
from typing import Any, NoReturn

# Files of ours nest five deep.
MAX_NESTING = 64
_BRACKETS = re.compile(rb'"(?:[^"\\]|\\.)*+\\?(?:"|\Z)|[\[{]|[\]}]', re.DOTALL)


def strict_json(data: bytes) -> Any:
    """The value of a JSON file.

    Raises ValueError, with what is wrong in words, for what other readers would read otherwise or not at all: a key
    twice in an object, NaN and Infinity, numbers beyond every float, a byte order mark, other encodings than UTF-8,
    bytes behind the value, half a surrogate pair, and brackets nested more than 64 deep.
    """
    if data.startswith(b"\xef\xbb\xbf"):
        raise ValueError("it begins with a byte order mark; save it without one")
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        raise ValueError(f"byte {error.start + 1} is not UTF-8") from None
    if data.count(b"[") + data.count(b"{") > MAX_NESTING:
        _refuse_deep(data)
    value = json.loads(text, object_pairs_hook=_object, parse_constant=_refuse_constant, parse_float=_finite)
    if b"\\u" in data and not _is_text(value):
        raise ValueError("it holds half a surrogate pair, which is no text")
    return value


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        seen: set[str] = set()
        for name, _ in pairs:
            if name in seen:
                raise ValueError(f"the key {name[:40]!r} stands twice in one object")
            seen.add(name)
    return found


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no number of JSON")


def _finite(digits: str) -> float:
    number = float(digits)
    if not math.isfinite(number):
        raise ValueError(f"{digits[:40]} is beyond every number")
    return number


def _refuse_deep(data: bytes) -> None:
    depth = 0
    for found in _BRACKETS.finditer(data):
        mark = found[0]
        if mark in b"[{":
            depth += 1
            if depth > MAX_NESTING:
                raise ValueError(f"its brackets are nested more than {MAX_NESTING} deep")
        elif mark in b"]}":
            depth -= 1


def _is_text(value: object) -> bool:
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return False
    return True
