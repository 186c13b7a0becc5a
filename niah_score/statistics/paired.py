"""Compares scored runs of the same rows, paired row by row: over all rows, per length and per cell.

A difference is the second run's mean minus the first's, over the rows that have a score in both, with the interval and
the p of Student's t over needles (intervals.py). If several are reported together, p is adjusted: by Holm over all
runs and over the lengths of a pair, by Benjamini and Hochberg over its cells, which are many and have few rows
each.

If parts have weights, rows have the same weights in a difference as in the means, so that the difference over all rows
is that of the headlines. Runs that differ more in one part than in another then look like needles that differ, which
makes intervals somewhat too wide.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from niah_score.statistics.intervals import Floats, Mask, differences
from niah_score.statistics.scored import Scored

LEVEL = 0.05


def pair_of(rows: Scored, other: Scored, metric: str) -> dict[str, Any]:
    """The differences of two runs of the same rows, by id.

    `overall`: of all rows; `overall_of_lengths`: of the means of the lengths' means, each that of its depths' means;
    `lengths`; `cells`.
    """
    (one, has_one), (two, has_two) = rows.values(metric), other.values(metric)
    apart, both = two - one, has_one & has_two
    each = rows.weights_among(both)
    placed = both & rows.column("length").is_not_null().to_numpy()
    weights = rows.even_weights(placed, each)
    weights = weights if each is None else weights * each
    lengths = [one for one in differences_by(rows, apart, both, each, "length") if one["length"] is not None]
    cells = differences_by(rows, apart, both, each, "length", "depth_percent")
    adjusted(lengths, holm)
    adjusted(cells, benjamini_hochberg)
    (whole,), (of_lengths,) = (differences_by(rows, apart, *of) for of in ((both, each), (placed, weights)))
    return {"overall": whole, "overall_of_lengths": of_lengths, "lengths": lengths, "cells": cells}


def differences_by(rows: Scored, apart: Floats, both: Mask, weights: Floats | None, *by: str) -> list[dict[str, Any]]:
    """The difference of each combination of some coordinates.

    `apart`: the differences of all rows, of which those in `both` count; `weights`: of all rows.
    """
    places, group = rows.groups(*by)
    sizes = np.bincount(group, minlength=len(places)).tolist()
    tests = differences(rows.clusters(group[both], len(places), both, weights), apart[both])
    return [
        {**dict(zip(by, place, strict=True)), **test, "rows": size}
        for place, test, size in zip(places, tests, sizes, strict=True)
    ]


def adjusted(apart: Sequence[dict[str, Any]], adjust: Callable[[Sequence[float]], list[float]]) -> None:
    """Adjust the p of differences that are reported together for their number, and judge them by it."""
    tested = [one for one in apart if one["p"] is not None]
    for one, p in zip(tested, adjust([one["p"] for one in tested]), strict=True):
        one |= {"adjusted": p, "noise": one["low"] <= 0 <= one["high"] or p >= LEVEL}


def holm(values: Sequence[float]) -> list[float]:
    """Adjust p values for their number (S. Holm, Scand. J. Stat. 6, 1979); the order stays."""
    order = np.argsort(values, kind="stable")
    steps = np.minimum(1.0, np.asarray(values)[order] * np.arange(len(values), 0, -1))
    adjusted: list[float] = np.maximum.accumulate(steps)[np.argsort(order)].tolist()
    return adjusted


def benjamini_hochberg(values: Sequence[float]) -> list[float]:
    """Adjust p values so that at most 5 % of those below 0.05 are expected to be chance; the order stays.

    Y. Benjamini and Y. Hochberg, J. R. Stat. Soc. B 57, 1995: from the largest down, p times number over rank.
    """
    order = np.argsort(values, kind="stable")[::-1]
    steps = np.minimum(1.0, np.asarray(values)[order] * (len(values) / np.arange(len(values), 0, -1)))
    adjusted: list[float] = np.minimum.accumulate(steps)[np.argsort(order)].tolist()
    return adjusted
