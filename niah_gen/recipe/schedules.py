"""Spreads lengths and depths over a grid: the schedules of the published systems as data."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence
from typing import NamedTuple

SPACINGS = ("linear", "sigmoid")
SPREADS = ("even", "diff", "random")
ROUNDINGS: dict[str, Callable[[float], float]] = {
    # Half to even, as numpy rounds.
    "nearest": lambda value: float(round(value)),
    "floor": lambda value: float(math.floor(value)),
    "none": lambda value: value,
}


def linear_points(first: float, last: float, steps: int) -> list[float]:
    """`steps` even points from first to last, both included; one step gives `first`.

    Computed as numpy.linspace does (step times index plus start, the end exact), so that rounding gives the same.
    """
    if steps == 1:
        return [first]
    step = (last - first) / (steps - 1)
    return [number * step + first for number in range(steps - 1)] + [last]


def sigmoid(percent: float) -> float:
    """100 / (1 + exp(-0.1 (x - 50))), rounded to 3 decimals: gkamradt's and OpenCompass's denser ends, in percent."""
    return round(100 / (1 + math.exp(-0.1 * (percent - 50))), 3)


def depth_schedule(
    steps: int, spacing: str, rounding: str, keep_ends: bool, first: float = 0.0, last: float = 100.0
) -> list[float]:
    """Depths in percent. `keep_ends`: a sigmoid leaves 0 and 100 as they are (gkamradt); OpenCompass moves them too."""
    points = linear_points(first, last, steps)
    if spacing == "sigmoid":
        points = [point if keep_ends and point in (0.0, 100.0) else sigmoid(point) for point in points]
    return [ROUNDINGS[rounding](point) for point in points]


def length_schedule(last: int, steps: int, first: int | None = None, rounding: str = "nearest") -> list[int]:
    """Lengths in tokens: from `first` to `last`, or, without `first`, the even parts of `last` (1k ... 8k for 8k)."""
    points = linear_points(first, last, steps) if first is not None else linear_points(last / steps, last, steps)
    return [int(ROUNDINGS[rounding](point)) for point in points]


class Line(NamedTuple):
    """The depth of one needle of a set as the first one's moves: offset + slope x depth, at most 100, in percent."""

    offset: float
    slope: float

    def at(self, depth: float) -> float:
        """The needle's depth in percent when the row's is `depth`."""
        return min(100.0, self.offset + self.slope * depth)


def needle_lines(count: int, spread: str | Sequence[float], diff: float, seed: int) -> tuple[Line, ...]:
    """How the needles of a set follow the first, which stands at the row's depth d.

    even: d + (100 - d) / count further each, so the last stops one step before the end. diff: `diff` percent further
    each. random: at seeded even-chance depths between d and 100, in the set's order. A list: at its depths, whatever d.
    """
    if not isinstance(spread, str):
        return tuple(Line(depth, 0.0) for depth in spread)
    if spread == "diff":
        return tuple(Line(diff * number, 1.0) for number in range(count))
    shares = [number / count for number in range(count)]
    if spread == "random":
        draw = random.Random(seed)
        shares = [0.0, *sorted(draw.random() for _ in range(count - 1))]
    return tuple(Line(100 * share, 1 - share) for share in shares)
