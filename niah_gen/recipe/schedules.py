"""Computes schedules of lengths and depths, including those of published systems."""

from __future__ import annotations

import math
from collections.abc import Callable

_LEAST_HALF = 2000
SPACINGS = ("linear", "sigmoid")
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


def halves(last: int) -> list[int]:
    """Lengths in tokens, ascending: `last`, its half and so on down to 2,000; below that, `last` alone."""
    lengths = [last]
    while lengths[-1] >= 2 * _LEAST_HALF:
        lengths.append(lengths[-1] // 2)
    return lengths[::-1]


def length_schedule(last: int, steps: int, first: int | None = None, rounding: str = "nearest") -> list[int]:
    """Lengths in tokens: from `first` to `last`, or, without `first`, the even parts of `last` (1k ... 8k for 8k)."""
    points = linear_points(first, last, steps) if first is not None else linear_points(last / steps, last, steps)
    return [int(ROUNDINGS[rounding](point)) for point in points]
