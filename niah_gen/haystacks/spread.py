"""Spreads the needles of a set over depths, relative to the depth of the first one."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

SPREADS = ("even", "diff", "random", "apart")


class DepthLine(NamedTuple):
    """The depth of a needle as a function of the row's depth: offset + slope x depth, at most 100, in percent.

    `wraps`: beyond 100 it continues from 0.
    """

    offset: float
    slope: float
    wraps: bool = False

    def at(self, depth: float) -> float:
        """The needle's depth in percent when the row's is `depth`."""
        own = self.offset + self.slope * depth
        if own > 100:
            return own - 100 if self.wraps else 100.0
        return own

    def at_all(self, depths: Floats) -> Floats:
        """`at` for the depths of many rows."""
        own = self.offset + self.slope * depths
        return np.where(own > 100, own - 100 if self.wraps else 100.0, own)

    def turns(self) -> list[float]:
        """The row's depth beyond which the needle continues from 0, if there is one."""
        return [(100 - self.offset) / self.slope] if self.wraps and self.slope else []


def depth_lines(count: int, spread: str | Sequence[float], diff: float, seed: int) -> tuple[DepthLine, ...]:
    """The depth lines of a set's needles, the first of which stands at the row's depth d.

    even: each (100 - d) / count after the one before, so the last stops one step before the end. diff: each `diff`
    percent after the one before. random: at uniform seeded depths between d and 100, in the set's order. apart: at
    seeded distances after d, in no order, continuing from 0 beyond 100, at least 50 / count from each other. A list:
    at its depths, whatever d is.
    """
    if not isinstance(spread, str):
        return tuple(DepthLine(depth, 0.0) for depth in spread)
    if not count:
        return ()
    if spread == "diff":
        return tuple(DepthLine(diff * number, 1.0) for number in range(count))
    if spread == "apart":
        draw = random.Random(seed)
        slots = list(range(1, count))
        draw.shuffle(slots)
        offsets = [100 * (slot + draw.uniform(-0.25, 0.25)) / count for slot in slots]
        return (DepthLine(0.0, 1.0), *(DepthLine(offset, 1.0, wraps=True) for offset in offsets))
    shares = [number / count for number in range(count)]
    if spread == "random":
        draw = random.Random(seed)
        shares = [0.0, *sorted(draw.random() for _ in range(count - 1))]
    return tuple(DepthLine(100 * share, 1 - share) for share in shares)


def set_lines(sets: Sequence[int], spread: str | Sequence[float], diff: float, seed: int) -> tuple[DepthLine, ...]:
    """The depth lines of the needles of several sets. `sets`: how many needles each has.

    The first set follows the row's depth as `depth_lines` says. Every other set is spread the same way, but from its
    own seeded depth, uniform between 0 and 100, wherever the first one stands. A list gives the depth of every needle.
    """
    if not isinstance(spread, str) or not sets:
        return depth_lines(sum(sets), spread, diff, seed)
    lines = list(depth_lines(sets[0], spread, diff, seed))
    for number, count in enumerate(sets[1:], 1):
        start = random.Random(f"{seed}/set {number}").uniform(0, 100)
        lines += [DepthLine(line.at(start), 0.0) for line in depth_lines(count, spread, diff, seed + number)]
    return tuple(lines)
