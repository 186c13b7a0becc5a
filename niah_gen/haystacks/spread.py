"""Spreads the needles of a set over depths, as the depth of the first one moves."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import NamedTuple

SPREADS = ("even", "diff", "random")


class DepthLine(NamedTuple):
    """The depth of one needle of a set as the first one's moves: offset + slope x depth, at most 100, in percent."""

    offset: float
    slope: float

    def at(self, depth: float) -> float:
        """The needle's depth in percent when the row's is `depth`."""
        return min(100.0, self.offset + self.slope * depth)


def depth_lines(count: int, spread: str | Sequence[float], diff: float, seed: int) -> tuple[DepthLine, ...]:
    """How the needles of a set follow the first, which stands at the row's depth d.

    even: d + (100 - d) / count further each, so the last stops one step before the end. diff: `diff` percent further
    each. random: at uniform seeded depths between d and 100, in the set's order. A list: at its depths, whatever d.
    """
    if not isinstance(spread, str):
        return tuple(DepthLine(depth, 0.0) for depth in spread)
    if not count:
        return ()
    if spread == "diff":
        return tuple(DepthLine(diff * number, 1.0) for number in range(count))
    shares = [number / count for number in range(count)]
    if spread == "random":
        draw = random.Random(seed)
        shares = [0.0, *sorted(draw.random() for _ in range(count - 1))]
    return tuple(DepthLine(100 * share, 1 - share) for share in shares)
