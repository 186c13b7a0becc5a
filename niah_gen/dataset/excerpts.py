"""Decides what is kept of a text or a conversation that is too long to be shown."""

from __future__ import annotations

from collections.abc import Collection, Iterable


def kept_ranges(length: int, wanted: Iterable[tuple[int, int]], least_gap: int) -> list[tuple[int, int]]:
    """The ranges of a text of some length that are shown: apart, in order, within the text.

    wanted: ranges in any order, which may overlap or reach beyond the text. A gap of fewer than `least_gap` characters
    is shown as well, since what would stand in its place is no shorter.
    """
    found: list[tuple[int, int]] = []
    at = 0
    for start, end in sorted(wanted):
        start = max(start if start - at >= least_gap else at, at)
        end = min(end, length)
        if end <= start:
            continue
        if found and start == at:
            found[-1] = (found[-1][0], end)
        else:
            found.append((start, end))
        at = end
    return found


def kept_messages(count: int, wanted: Collection[int], most: int) -> list[int]:
    """The messages of a conversation that are shown: all, or where there are more than `most` the first two, the last
    two and the wanted ones.
    """
    if count <= most:
        return list(range(count))
    return sorted({0, 1, count - 2, count - 1, *wanted})
