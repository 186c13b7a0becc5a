"""Reads files that nobody vouches for: regular files only, strict JSON, TOML.

No pipe blocks for ever, no device is read without end, and JSON with a duplicate key or NaN is refused.
"""

from __future__ import annotations

import errno
import json
import math
import os
import re
import stat
import tomllib
from collections import Counter
from collections.abc import Callable
from io import BufferedReader
from itertools import accumulate
from pathlib import Path
from typing import Any

MOST_STEPS = 1000
# What can belong to one dotted key: anything but what ends it, and quoted names.
_KEY = re.compile(r"""(?:[^\n=\[\]{},#"']|"(?:\\.|[^"\\\n])*"|'[^'\n]*')+""")


def parse_toml(text: str) -> dict[str, Any]:
    """The table that a TOML text says. Raises ValueError, also for a dotted key of more than 1,000 steps."""
    if any(match[0].count(".") > MOST_STEPS for match in _KEY.finditer(text)):
        raise ValueError(f"a dotted key, or a line of a text, has more than {MOST_STEPS:,} steps")
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise ValueError("its brackets are nested too deep") from None


# Our own files nest five deep.
MAX_NESTING = 64
# Whatever is not a bracket: strings, also one that never ends, and all between them.
_NO_BRACKETS = re.compile(rb'"(?:[^"\\]|\\.)*+\\?(?:"|\Z)|[^][{}"]+', re.DOTALL)


def strict_json(data: bytes) -> Any:
    """The value of a JSON file.

    Raises ValueError, with the problem in words, for what other readers read differently or not at all: what
    `parse_json` refuses, NaN and Infinity, numbers beyond every float, a byte order mark and a lone surrogate.
    """
    if data.startswith(b"\xef\xbb\xbf"):
        raise ValueError("it begins with a byte order mark; save it without one")
    value = parse_json(data, _finite)
    try:
        json.dumps(value if b"\\u" in data else None, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise ValueError("it contains a lone surrogate, which is not valid text") from None
    return value


def parse_json(data: bytes, number: Callable[[str], float] = float) -> Any:
    """The value of JSON in UTF-8; `number` makes one of digits with a point or an exponent, of NaN and of Infinity.

    Raises ValueError for a key twice in an object, encodings other than UTF-8, bytes after the value, and brackets
    nested more than 64 deep.
    """
    refuse_deep(data)
    return json.loads(data.decode(), object_pairs_hook=_object, parse_constant=number, parse_float=number)


def refuse_deep(data: bytes) -> None:
    """Raise ValueError if brackets outside the strings of JSON are nested more than 64 deep."""
    if data.count(b"[") + data.count(b"{") > MAX_NESTING:
        steps = (1 if bracket in b"[{" else -1 for bracket in _NO_BRACKETS.sub(b"", data))
        if max(accumulate(steps), default=0) > MAX_NESTING:
            raise ValueError(f"its brackets are nested more than {MAX_NESTING} deep")


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    if len(fields) < len(pairs):
        name = Counter(name for name, _ in pairs).most_common(1)[0][0]
        raise ValueError(f"the key {name[:40]!r} appears twice in one object; keep the right one")
    return fields


def _finite(digits: str) -> float:
    if not math.isfinite(number := float(digits)):
        raise ValueError(f"{digits[:40]} is not valid JSON, or is too large for a number")
    return number


def open_regular(path: Path) -> BufferedReader:
    """Open a file for reading, without blocking. Raises OSError, also for a folder, pipe, socket or device."""
    # Checked first because opening a device can affect it, and again in case the path was replaced in between.
    _check_regular(os.stat(path).st_mode, path)
    file = open(path, "rb", opener=_open_nonblocking)  # noqa: SIM115 - the caller closes it
    try:
        _check_regular(os.fstat(file.fileno()).st_mode, path)
    except BaseException:
        file.close()
        raise
    return file


def read_regular(path: Path, most: int) -> bytes:
    """The bytes of a file, at most `most`. Raises what `open_regular` does, and ValueError if the file is longer."""
    with open_regular(path) as file:
        data = file.read(most + 1)
    if len(data) > most:
        raise ValueError(f"longer than {most:,} bytes")
    return data


def _open_nonblocking(path: str, flags: int) -> int:
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


def _check_regular(mode: int, path: Path) -> None:
    if not stat.S_ISREG(mode):
        what = "a folder" if stat.S_ISDIR(mode) else "not a regular file"
        raise OSError(errno.EINVAL, f"{what}; expected a file", str(path))
