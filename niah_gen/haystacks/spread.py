"""Spreads the needles of a set over depths, as the depth of the first one moves."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

SPREADS = ("even", "diff", "random", "apart")


class DepthLine(NamedTuple):
    """The depth of one needle of a set as the first one's moves: offset + slope x depth, at most 100, in percent.

    `wraps`: beyond 100 it goes on from 0.
    """

    offset: float
    slope: float
    wraps: bool = False

    def at(self, depth: float) -> float:
        """The needle's depth in percent when the row's is `depth`."""
        found = self.offset + self.slope * depth
        if found > 100:
            return found - 100 if self.wraps else 100.0
        return found

    def at_all(self, depths: Floats) -> Floats:
        """The same for many rows' depths."""
        found = self.offset + self.slope * depths
        return np.where(found > 100, found - 100 if self.wraps else 100.0, found)

    def turns(self) -> list[float]:
        """The row's depth beyond which the needle goes on from 0, if there is one."""
        return [(100 - self.offset) / self.slope] if self.wraps and self.slope else []


def depth_lines(count: int, spread: str | Sequence[float], diff: float, seed: int) -> tuple[DepthLine, ...]:
    """How the needles of a set follow the first, which stands at the row's depth d.

    even: d + (100 - d) / count further each, so the last stops one step before the end. diff: `diff` percent further
    each. random: at uniform seeded depths between d and 100, in the set's order. apart: at seeded distances behind d
    in no order, going on from 0 beyond 100, at least 50 / count from each other. A list: at its depths, whatever d.
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
    """How the needles of several sets stand. `sets`: how many needles each has.

    The first set follows the row's depth as `depth_lines` says. Each other one is spread alike, but from a seeded depth
    of its own, uniform between 0 and 100, wherever the first one stands. A list gives every needle its depth.
    """
    if not isinstance(spread, str) or not sets:
        return depth_lines(sum(sets), spread, diff, seed)
    found = list(depth_lines(sets[0], spread, diff, seed))
    for number, count in enumerate(sets[1:], 1):
        start = random.Random(f"{seed}/set {number}").uniform(0, 100)
        found += [DepthLine(line.at(start), 0.0) for line in depth_lines(count, spread, diff, seed + number)]
    return tuple(found)
