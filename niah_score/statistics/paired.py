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
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from niah_score.errors import IntegrityError, ScoreError
from niah_score.statistics.intervals import Difference, Figure, Floats, Mask, differences
from niah_score.statistics.scored import Scored

LEVEL = 0.05
# The coordinates of a row; they are the same in all runs of one dataset.
_PLACE = ("task", "part", "language", "length", "depth_percent", "needle_id", "haystack_id", "repeat")
# The columns of a run that are read in addition to its scores.
COMPARED = ("id", *_PLACE, "control", "metric", "status")


class ComparedRun(NamedTuple):
    """A run: how many `rows` it has, how many are `left_out` as another run lacks them, the rest, and their figure."""

    name: str
    rows: int
    left_out: int
    kept: Scored
    figure: Figure


class Pair(NamedTuple):
    """The differences between two runs: over all rows, of the mean of lengths, per length, and per cell.

    Only pairs with the first run have cells (length x depth). `of_lengths`: the difference of the means of the lengths'
    means, each the mean of its depths' means; `of_depths`: for each length, that of the means of its depths' means.
    """

    first: str
    second: str
    overall: Difference
    of_lengths: Difference
    lengths: tuple[Difference, ...]
    of_depths: tuple[Difference, ...]
    cells: tuple[Difference, ...]


class Comparison(NamedTuple):
    """Runs over the `rows` that all of them have, and every pair of runs. `notes`: sentences on the rows left out."""

    metric: str
    rows: int
    runs: tuple[ComparedRun, ...]
    pairs: tuple[Pair, ...]
    notes: tuple[str, ...]


def compare(
    runs: Sequence[tuple[str, pl.DataFrame]], metric: str = "score", weights: Mapping[str, float] | None = None
) -> Comparison:
    """Compare runs, given as (name, scored frame with one line per row), over the ids that all of them have.

    `weights`: of the parts, as in `Scored`.

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
        ComparedRun(name, frame.height, frame.height - ids.height, run, run.figures(metric)[()])
        for name, frame, run in zip(names, frames, kept, strict=True)
    ]
    pairs = [_pair(one, other, metric, with_cells=one is several[0]) for one, other in combinations(several, 2)]
    for pair in pairs:
        lost = ids.height - pair.overall.n
        if not pair.overall.n:
            raise ScoreError(f"{pair.first} and {pair.second}: no row has a {metric} in both")
        if lost:
            notes.append(
                f"{pair.first} and {pair.second}: {lost} of {ids.height} rows have no score in one of them and do not "
                "count"
            )
    whole = _adjusted([pair.overall for pair in pairs], holm)
    lengths = _adjusted([pair.of_lengths for pair in pairs], holm)
    adjusted = (pair._replace(overall=a, of_lengths=b) for pair, a, b in zip(pairs, whole, lengths, strict=True))
    return Comparison(metric, ids.height, tuple(several), tuple(adjusted), tuple(notes))


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


def drops(comparison: Comparison, points: float) -> tuple[list[str], list[str]]:
    """Sentences on runs whose mean is more than `points` below the first one's: on those that failed, and on noise.

    A run failed if the 95 % interval of its paired difference, over needles, lies below 0.
    """
    first, *others = comparison.runs
    failed: list[str] = []
    noise: list[str] = []
    for run, pair in zip(others, comparison.pairs[: len(others)], strict=True):
        base, mean, apart = first.figure.mean, run.figure.mean, pair.overall
        if base is None or mean is None or not base - mean > points:
            continue
        counted = "" if run.figure.n == first.figure.n else f", over {run.figure.n} rows, not {first.figure.n}"
        sentence = (
            f"{run.name}: {comparison.metric} is {mean:.2f}{counted}, {base - mean:.2f} points below the {base:.2f} of "
            f"{first.name}; at most {points:g} are allowed"
        )
        if apart.low is None or apart.high is None:
            noise.append(f"{sentence}, but this is no failure: with one needle, a drop cannot be told from noise")
            continue
        interval = f"the 95 % interval over needles, {apart.low:.2f} to {apart.high:.2f} ({apart.test}),"
        if apart.high < 0:
            failed.append(f"{sentence}; {interval} excludes 0")
        else:
            noise.append(f"{sentence}, but this is within noise: {interval} does not lie below 0")
    return failed, noise


def _pair(first: ComparedRun, second: ComparedRun, metric: str, *, with_cells: bool) -> Pair:
    """The differences of two runs of the same rows."""
    rows = first.kept
    (one, has_one), (two, has_two) = rows.values(metric), second.kept.values(metric)
    apart, both = two - one, has_one & has_two
    each = rows.weights_among(both)
    placed = both & rows.column("length").is_not_null().to_numpy()
    weights = rows.even_weights(placed, each)
    weights = weights if each is None else weights * each
    (whole,) = _differences(rows, apart, both, each)
    (of_lengths,) = _differences(rows, apart, placed, weights)
    lengths = _adjusted(_differences(rows, apart, both, each, "length"), holm)
    of_depths = _adjusted(_differences(rows, apart, placed, weights, "length"), holm)
    cells = _differences(rows, apart, both, each, "length", "depth_percent") if with_cells else []
    cells = _adjusted(cells, benjamini_hochberg)
    return Pair(first.name, second.name, whole, of_lengths, tuple(lengths), tuple(of_depths), tuple(cells))


def _differences(rows: Scored, apart: Floats, both: Mask, weights: Floats | None, *by: str) -> list[Difference]:
    """The difference of each combination of some coordinates; rows without a length are no length.

    `apart`: the differences of all rows, of which those in `both` count; `weights`: of all rows.
    """

    places, group = rows.groups(*by)
    sizes = np.bincount(group, minlength=len(places)).tolist()
    tests = differences(rows.clusters(group[both], len(places), both, weights), apart[both])
    named: list[dict[str, Any]] = [dict(zip(by, place, strict=True)) for place in places]
    listed = [test._replace(rows=size, **name) for test, size, name in zip(tests, sizes, named, strict=True)]
    return [one for one in listed if by != ("length",) or one.length is not None]


def _adjusted(apart: Sequence[Difference], adjust: Callable[[Sequence[float]], list[float]]) -> list[Difference]:
    """Differences that are reported together, with p adjusted for their number."""
    values = iter(adjust([one.p for one in apart if one.p is not None]))
    judged = []
    for one in apart:
        if one.p is None or one.low is None or one.high is None:
            judged.append(one)
            continue
        p = next(values)
        judged.append(one._replace(adjusted=p, noise=one.low <= 0 <= one.high or p >= LEVEL))
    return judged


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
