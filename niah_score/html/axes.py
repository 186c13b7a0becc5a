"""Lays out the values of a coordinate as columns or lines of a grid; if there are many, neighbours share one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

# With more lengths or depths, neighbours share a column or line.
MOST = 60


class Axis(NamedTuple):
    """The columns or lines ("places") of a coordinate's values, in their order.

    labels: the value at each place, None for rows without one, or [first, last] of the values that share it. places:
    the number of each value's place. grouped: whether values share places.
    """

    labels: list[Any]
    places: list[int]
    grouped: bool


def axis_of(values: Sequence[Any], most: int = MOST) -> Axis:
    """The axis of a coordinate. `values`: all different ones, sorted, None last."""
    known = [value for value in values if value is not None]
    if len(known) <= most:
        return Axis(list(values), list(range(len(values))), False)
    # As nearly as possible the same number of values at each place; rows without a value come last.
    places = [number * (most // 2) // len(known) for number in range(len(known))]
    shared: list[list[Any]] = [[] for _ in range(most // 2)]
    for value, place in zip(known, places, strict=True):
        shared[place].append(value)
    labels: list[Any] = [[group[0], group[-1]] for group in shared]
    if len(known) < len(values):
        places.append(len(labels))
        labels.append(None)
    return Axis(labels, places, True)
