"""Compares scored runs of the same rows, paired row by row: over all rows, per length and per cell.

A difference is the second run's mean minus the first's, over the rows that have a score in both, with the interval and
the p of Student's t over needles (intervals.py). If several are reported together, p is adjusted: by Holm over all
pairs of runs and over the lengths of a pair, by Benjamini and Hochberg over its cells, which are many and have few rows
each.

If parts have weights, rows have the same weights in a difference as in the means, so that the difference over all rows
is that of the headlines. Runs that differ more in one part than in another then look like needles that differ, which
makes intervals somewhat too wide.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np
import polars as pl

from niah_score.errors import IntegrityError, ScoreError
from niah_score.statistics.intervals import Floats, Mask, differences
from niah_score.statistics.scored import Scored

LEVEL = 0.05
# The coordinates of a row; they are the same in all runs of one dataset.
_PLACE = ("task", "part", "language", "length", "depth_percent", "needle_id", "haystack_id", "repeat")
# The columns of a run that are read in addition to its scores.
COMPARED = ("id", *_PLACE, "control", "metric", "status")


def compare(
    runs: Sequence[tuple[str, pl.DataFrame]], metric: str = "score", weights: Mapping[str, float] | None = None
) -> tuple[dict[str, Any], list[Scored]]:
    """Compare runs, given as (name, scored frame with one line per row), over the ids that all of them have.

    `weights`: of the parts, as in `Scored`.
    Returns what comparison.json holds of it, and the common rows of each run. `rows`: how many rows all runs have.
    `runs`: the `rows` of each, those `left_out` as another run lacks them, and `overall`, the figure of the rest.
    `pairs`: the differences of every two runs, beginning with the first: `overall`, of all rows; `overall_of_lengths`,
    of the means of the lengths' means, each the mean of its depths' means; `lengths`; `cells`, with the first run only.
    Beside them, `of_depths`: for each length, that of the means of its depths' means. `notes`: on rows left out.

    Raises ScoreError if there are fewer than two runs, two share a name, a run lacks the metric, runs score a row by
    different metrics, or no row of two runs has a score in both; IntegrityError if they are of different datasets.
    """
    names = [name for name, _ in runs]
    if len(names) < 2:
        raise ScoreError(f"a comparison needs two runs or more, found {len(names)}")
    if again := [name for name in names if names.count(name) > 1]:
        raise ScoreError(f"two runs are called {again[0]!r}; give each its own name")
    if lacking := [name for name, frame in runs if metric not in frame.columns]:
        raise ScoreError(f"{lacking[0]}: its scores have no column {metric!r}; score every run with the same metrics")
    frames = [frame.select(name for name in frame.columns if name in (*COMPARED, "score", metric)) for _, frame in runs]
    ids = _shared(names, frames)
    kept = [Scored(frame.join(ids, on="id", how="semi"), weights) for frame in frames]
    _refuse_others(names, [run.frame for run in kept], metric)
    notes = []
    for name, frame in zip(names, frames, strict=True):
        strange = frame.join(ids, on="id", how="anti")["id"]
        if len(strange):
            notes.append(
                f"{name}: {len(strange)} of its {frame.height} rows are not in every run and are left out, such as "
                f"{strange.min()!r}"
            )
    several = [
        {
            "name": name, "rows": frame.height, "left_out": frame.height - ids.height,
            "overall": run.figures(metric)[()]._asdict(),
        }
        for name, frame, run in zip(names, frames, kept, strict=True)
    ]  # fmt: skip
    pairs = []
    for (first, one), (second, other) in combinations(zip(names, kept, strict=True), 2):
        pair = {"first": first, "second": second, **_pair(one, other, metric, with_cells=one is kept[0])}
        lost = ids.height - pair["overall"]["n"]
        if lost == ids.height:
            raise ScoreError(f"{first} and {second}: no row has a {metric} in both")
        if lost:
            notes.append(
                f"{first} and {second}: {lost} of {ids.height} rows have no score in one of them and do not count"
            )
        pairs.append(pair)
    for name in ("overall", "overall_of_lengths"):
        _adjust([pair[name] for pair in pairs], holm)
    return {"metric": metric, "rows": ids.height, "runs": several, "pairs": pairs, "notes": notes}, kept


def _shared(names: Sequence[str], frames: Sequence[pl.DataFrame]) -> pl.DataFrame:
    """The ids that all runs have."""
    first = ids = frames[0].select("id")
    for name, frame in zip(names[1:], frames[1:], strict=True):
        ids = ids.join(frame, on="id", how="semi")
        if not (ids.height or (first.height and frame.height)):
            raise ScoreError(f"{name} and {names[0]}: no rows to compare")
        if not ids.height:
            raise IntegrityError(
                f"{name}: has no row in common with {names[0]}: its ids begin with {frame['id'][0][:8]!r}, not "
                f"{first['id'][0][:8]!r}; only runs of the same dataset can be compared"
            )
    return ids


def _refuse_others(names: Sequence[str], frames: Sequence[pl.DataFrame], metric: str) -> None:
    """Raise IntegrityError if the rows of an id differ between two runs, ScoreError if their metrics do."""
    first = frames[0]
    for name, frame in zip(names[1:], frames[1:], strict=True):
        for column in (*_PLACE, "metric") if metric == "score" else _PLACE:
            if column not in first.columns or column not in frame.columns:
                continue
            differs = first[column].ne_missing(frame[column]).arg_true()
            if not len(differs):
                continue
            id, one, other = first["id"][differs[0]], first[column][differs[0]], frame[column][differs[0]]
            if column == "metric":
                raise ScoreError(
                    f"{id!r} is judged by {one} in {names[0]} and by {other} in {name}; name a metric that both have"
                )
            raise IntegrityError(
                f"{id!r} has {column} {one!r} in {names[0]} and {other!r} in {name}; only runs of the same dataset can "
                "be compared"
            )


def drops(comparison: Mapping[str, Any], points: float) -> tuple[list[str], list[str]]:
    """Sentences on runs whose mean is more than `points` below the first one's: on those that failed, and on noise.

    A run failed if the 95 % interval of its paired difference, over needles, lies below 0.
    """
    first, *others = comparison["runs"]
    base, base_n = first["overall"]["mean"], first["overall"]["n"]
    failed: list[str] = []
    noise: list[str] = []
    for run, pair in zip(others, comparison["pairs"], strict=False):
        mean, n, apart = run["overall"]["mean"], run["overall"]["n"], pair["overall"]
        if base is None or mean is None or not base - mean > points:
            continue
        counted = "" if n == base_n else f", over {n} rows, not {base_n}"
        sentence = (
            f"{run['name']}: {comparison['metric']} is {mean:.2f}{counted}, {base - mean:.2f} points below the "
            f"{base:.2f} of {first['name']}; at most {points:g} are allowed"
        )
        if apart["low"] is None:
            noise.append(f"{sentence}, but this is no failure: with one needle, a drop cannot be told from noise")
            continue
        ends = f"{apart['low']:.2f} to {apart['high']:.2f} ({apart['test']})"
        interval = f"the 95 % interval over needles, {ends},"
        if apart["high"] < 0:
            failed.append(f"{sentence}; {interval} excludes 0")
        else:
            noise.append(f"{sentence}, but this is within noise: {interval} does not lie below 0")
    return failed, noise


def _pair(rows: Scored, other: Scored, metric: str, *, with_cells: bool) -> dict[str, Any]:
    """The differences of two runs of the same rows."""
    (one, has_one), (two, has_two) = rows.values(metric), other.values(metric)
    apart, both = two - one, has_one & has_two
    each = rows.weights_among(both)
    placed = both & rows.column("length").is_not_null().to_numpy()
    weights = rows.even_weights(placed, each)
    weights = weights if each is None else weights * each
    lengths, of_depths = (
        [one for one in _differences(rows, apart, *of, "length") if one["length"] is not None]
        for of in ((both, each), (placed, weights))
    )
    cells = _differences(rows, apart, both, each, "length", "depth_percent") if with_cells else []
    for together, adjust in ((lengths, holm), (of_depths, holm), (cells, benjamini_hochberg)):
        _adjust(together, adjust)
    (whole,), (of_lengths,) = (_differences(rows, apart, *of) for of in ((both, each), (placed, weights)))
    return {
        "overall": whole, "overall_of_lengths": of_lengths, "lengths": lengths, "cells": cells, "of_depths": of_depths,
    }  # fmt: skip


def _differences(rows: Scored, apart: Floats, both: Mask, weights: Floats | None, *by: str) -> list[dict[str, Any]]:
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


def _adjust(apart: Sequence[dict[str, Any]], adjust: Callable[[Sequence[float]], list[float]]) -> None:
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
