"""Parses JSON files that vouch for others strictly: what two readers could read differently is refused."""

from __future__ import annotations

import json
import math
import re
from typing import Any, NoReturn

# Our own files nest five deep.
MAX_NESTING = 64
# Strings, also one that never ends, and brackets.
_TOKENS = re.compile(rb'"(?:[^"\\]|\\.)*+\\?(?:"|\Z)|[\[{]|[\]}]', re.DOTALL)


def strict_json(data: bytes) -> Any:
    """The value of a JSON file.

    Raises ValueError, with the problem in words, for what other readers read differently or not at all: a key twice in
    an object, NaN and Infinity, numbers beyond every float, a byte order mark, encodings other than UTF-8, bytes after
    the value, a lone surrogate, and brackets nested more than 64 deep.
    """
    if data.startswith(b"\xef\xbb\xbf"):
        raise ValueError("it begins with a byte order mark; save it without one")
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        raise ValueError(f"byte {error.start + 1} is not UTF-8") from None
    if is_nested_deeper(data, MAX_NESTING):
        raise ValueError(f"its brackets are nested more than {MAX_NESTING} deep")
    value = json.loads(text, object_pairs_hook=_object, parse_constant=_refuse_constant, parse_float=_finite)
    if b"\\u" in data and not _is_text(value):
        raise ValueError("it contains a lone surrogate, which is not valid text")
    return value


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    if len(fields) < len(pairs):
        seen: set[str] = set()
        for name, _ in pairs:
            if name in seen:
                raise ValueError(f"the key {name[:40]!r} appears twice in one object")
            seen.add(name)
    return fields


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not valid JSON")


def _finite(digits: str) -> float:
    number = float(digits)
    if not math.isfinite(number):
        raise ValueError(f"{digits[:40]} is too large for a number")
    return number


def is_nested_deeper(data: bytes, most: int) -> bool:
    """Whether brackets outside the strings of JSON are nested more than `most` deep."""
    if data.count(b"[") + data.count(b"{") <= most:
        return False
    depth = 0
    for match in _TOKENS.finditer(data):
        token = match[0]
        if token in b"[{":
            depth += 1
            if depth > most:
                return True
        elif token in b"]}":
            depth -= 1
    return False


def _is_text(value: object) -> bool:
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return False
    return True
