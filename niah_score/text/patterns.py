"""Searches patterns in time that grows with the text and no faster: in windows, near marks, compiled on first use.

Whatever a pattern costs on a window, it costs on each of them. All values are read through `in_windows`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple, cast


class Reading(NamedTuple):
    """A value of any kind, and its place in a text: code points `start` up to, but not including, `end`."""

    value: Any
    start: int
    end: int


# Longer texts, in code points, are read in windows: `_OWN` of their own, and `_MARGIN` on either side, which is more
# than values are long and more than their readers look around.
WHOLE = 1_000
_OWN, _MARGIN = 720, 128


def in_windows(text: str, read: Callable[[str], Iterable[Reading]]) -> list[Reading]:
    """What a reader finds in a text: values, with their starts and ends.

    In a long text, each window keeps the values that begin in its own part, so that none is read twice.
    """
    if len(text) <= WHOLE:
        return list(read(text))
    found: list[Reading] = []
    known: dict[tuple[str, int, int], list[Reading]] = {}
    own = 0
    while own < len(text):
        first, end = max(0, own - _MARGIN), own + _step(text, own)
        # A model that loops repeats its windows.
        key = (text[first : end + _MARGIN], own - first, end - first)
        if key not in known:
            known[key] = [one for one in read(key[0]) if key[1] <= one.start < key[2]]
        found += [Reading(value, first + start, first + stop) for value, start, stop in known[key]]
        own = end
    return found


def _step(text: str, own: int) -> int:
    """The size of a window's own part; if the text repeats itself here, a multiple of what it repeats."""
    period = text.find(text[own : own + _MARGIN], own + 1, own + _OWN + _MARGIN) - own
    return _OWN // period * period if period > 0 else _OWN


class _LatePattern:
    """A stand-in for a pattern. Each method is stored as an attribute on first use, so that later calls are fast."""

    def __init__(self, pattern: str, flags: int) -> None:
        self.pattern, self.flags = pattern, flags

    def __getattr__(self, name: str) -> Any:
        # Called only for attributes not stored yet; re caches compiled patterns.
        value = getattr(re.compile(self.pattern, self.flags), name)
        setattr(self, name, value)
        return value


def late(pattern: str, flags: int = 0) -> re.Pattern[str]:
    """`re.compile`, done when the pattern is first used; an invalid pattern fails only then."""
    return cast("re.Pattern[str]", _LatePattern(pattern, flags))
