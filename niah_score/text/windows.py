"""Reads long texts in windows of fixed size, so that the time taken grows with the text's length and no faster.

Whatever a pattern costs on a window, it costs on each of them. All values are read through here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

# Longer texts, in code points, are read in windows: `_OWN` of their own, and `_MARGIN` on either side, which is more
# than values are long and more than their readers look around.
WHOLE = 1_000
_OWN, _MARGIN = 720, 128

Found = tuple[Any, int, int]


def in_windows(text: str, read: Callable[[str], Iterable[Found]]) -> list[Found]:
    """What a reader finds in a text: values, with their starts and ends.

    In a long text, each window keeps the values that begin in its own part, so that none is read twice.
    """
    if len(text) <= WHOLE:
        return list(read(text))
    found: list[Found] = []
    known: dict[tuple[str, int, int], list[Found]] = {}
    own = 0
    while own < len(text):
        first, end = max(0, own - _MARGIN), own + _step(text, own)
        # A model that loops repeats its windows.
        key = (text[first : end + _MARGIN], own - first, end - first)
        if key not in known:
            known[key] = [one for one in read(key[0]) if key[1] <= one[1] < key[2]]
        found += [(value, first + start, first + stop) for value, start, stop in known[key]]
        own = end
    return found


def _step(text: str, own: int) -> int:
    """The size of a window's own part; if the text repeats itself here, a multiple of what it repeats."""
    period = text.find(text[own : own + _MARGIN], own + 1, own + _OWN + _MARGIN) - own
    return _OWN // period * period if period > 0 else _OWN
