"""Adjusts p values that are reported together."""

from __future__ import annotations

from collections.abc import Sequence


def holm(values: Sequence[float]) -> list[float]:
    """Adjust p values for their number (S. Holm, Scand. J. Stat. 6, 1979); the order stays."""
    adjusted = [0.0] * len(values)
    largest = 0.0
    for rank, place in enumerate(sorted(range(len(values)), key=values.__getitem__)):
        largest = max(largest, min(1.0, (len(values) - rank) * values[place]))
        adjusted[place] = largest
    return adjusted


def benjamini_hochberg(values: Sequence[float]) -> list[float]:
    """Adjust p values so that at most 5 % of those below 0.05 are expected to be chance; the order stays.

    Y. Benjamini and Y. Hochberg, J. R. Stat. Soc. B 57, 1995: from the largest down, p times number over rank.
    """
    adjusted = [0.0] * len(values)
    smallest = 1.0
    ranked = sorted(range(len(values)), key=values.__getitem__)
    for rank in range(len(ranked), 0, -1):
        smallest = min(smallest, len(values) / rank * values[ranked[rank - 1]])
        adjusted[ranked[rank - 1]] = smallest
    return adjusted
