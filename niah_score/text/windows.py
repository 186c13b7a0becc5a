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


def in_windows(text: str, read: Callable[[str], Iterable[tuple[Any, int, int]]]) -> list[tuple[Any, int, int]]:
    """What a reader finds in a text: values, with their starts and ends.

    In a long text, each window keeps the values that begin in its own part, so that none is read twice.
    """
    if len(text) <= WHOLE:
        return list(read(text))
    found: list[tuple[Any, int, int]] = []
    for own in range(0, len(text), _OWN):
        first = max(0, own - _MARGIN)
        window = text[first : own + _OWN + _MARGIN]
        found += [
            (value, first + start, first + end)
            for value, start, end in read(window)
            if own <= first + start < own + _OWN
        ]
    return found
