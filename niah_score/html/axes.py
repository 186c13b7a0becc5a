"""Lays the values of a coordinate out as columns or lines of a grid; where there are many, neighbours share one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

# Beyond so many lengths or depths, neighbours share a column or line.
MOST = 60


class Axis(NamedTuple):
    """The places of a coordinate's values, in their order.

    labels: for each place its value, None for rows without one, or [first, last] of the values that share it. places:
    for each value the number of its place. grouped: whether any share one.
    """

    labels: list[Any]
    places: list[int]
    grouped: bool


def axis_of(values: Sequence[Any], most: int = MOST) -> Axis:
    """The axis of a coordinate. `values`: all different ones, sorted, None last."""
    known = [value for value in values if value is not None]
    if len(known) <= most:
        return Axis(list(values), list(range(len(values))), False)
    # As many different values to each place, as nearly as that goes; rows without one last.
    places = [number * (most // 2) // len(known) for number in range(len(known))]
    shared: list[list[Any]] = [[] for _ in range(most // 2)]
    for value, place in zip(known, places, strict=True):
        shared[place].append(value)
    labels: list[Any] = [[of[0], of[-1]] for of in shared]
    if len(known) < len(values):
        places.append(len(labels))
        labels.append(None)
    return Axis(labels, places, True)
