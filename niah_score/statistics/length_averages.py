"""Averages the means of lengths with weights that rise or fall with the length, as RULER's wAvg does."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple


class LengthAverages(NamedTuple):
    """Weighted means over lengths, in points. `rising`: the n-th length has weight n; `falling`: the reverse.

    None if no length has a mean.
    """

    rising: float | None
    falling: float | None


def length_averages(means: Sequence[float | None]) -> LengthAverages:
    """RULER's wAvg(inc) and wAvg(dec) of the means of lengths, ascending; lengths without a mean are left out."""
    known = [mean for mean in means if mean is not None]
    if not known:
        return LengthAverages(None, None)
    total = len(known) * (len(known) + 1) / 2
    rising = sum(weight * mean for weight, mean in enumerate(known, 1)) / total
    falling = sum(weight * mean for weight, mean in enumerate(reversed(known), 1)) / total
    return LengthAverages(rising, falling)
