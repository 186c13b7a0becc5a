"""Chooses what to show of a text or a conversation that is too long to show whole."""

from __future__ import annotations

from collections.abc import Collection, Iterable


def kept_ranges(length: int, wanted: Iterable[tuple[int, int]], least_gap: int) -> list[tuple[int, int]]:
    """The ranges to show of a text of `length` characters: disjoint, in order, within the text.

    wanted: ranges in any order, which may overlap or reach beyond the text. A gap of fewer than `least_gap` characters
    is shown too, since its replacement would be no shorter.
    """
    ranges: list[tuple[int, int]] = []
    at = 0
    for start, end in sorted(wanted):
        start = max(start if start - at >= least_gap else at, at)
        end = min(end, length)
        if end <= start:
            continue
        if ranges and start == at:
            ranges[-1] = (ranges[-1][0], end)
        else:
            ranges.append((start, end))
        at = end
    return ranges


def kept_messages(count: int, wanted: Collection[int], most: int) -> list[int]:
    """The messages to show of a conversation: all, or if more than `most` the first two, last two and wanted ones."""
    if count <= most:
        return list(range(count))
    return sorted({0, 1, count - 2, count - 1, *wanted})
