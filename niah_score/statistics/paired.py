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
from typing import TYPE_CHECKING, Any, NamedTuple

from niah_score.errors import IntegrityError, ScoreError
from niah_score.statistics.figures import depth_weights
from niah_score.statistics.intervals import Difference, Figure, differences
from niah_score.statistics.scored import Scored

if TYPE_CHECKING:
    import polars as pl

    from niah_score.statistics.intervals import Floats
    from niah_score.statistics.scored import Mask

LEVEL = 0.05
# The coordinates of a row; they are the same in all runs of one dataset.
_PLACE = ("task", "part", "language", "length", "depth_percent", "needle_id", "haystack_id", "repeat")
# The columns of a run that are read in addition to its scores.
COMPARED = ("id", *_PLACE, "control", "metric", "status")


class CommonRows(NamedTuple):
    """Runs reduced to their common rows. `rows`: how many each had. `notes`: sentences on the rows left out."""

    metric: str
    names: tuple[str, ...]
    rows: tuple[int, ...]
    kept: tuple[Scored, ...]
    notes: tuple[str, ...]


class ComparedRun(NamedTuple):
    """A run: how many `rows` it has, how many are `left_out` as another run lacks them, and the figure of the rest."""

    name: str
    rows: int
    left_out: int
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


class Drops(NamedTuple):
    """Sentences on runs that dropped too far: those that `failed`, and those whose drop may be `noise`.

    A run failed if the 95 % interval of its paired difference, over needles, lies below 0.
    """

    failed: tuple[str, ...]
    noise: tuple[str, ...]


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
    """Compare runs row by row; each is a name and a scored frame with one line per row. `weights`: of the parts.

    Raises what `common_rows` does, and ScoreError if no row of two runs has a score in both.
    """
    return compared(common_rows(runs, metric, weights))


def compared(shared: CommonRows) -> Comparison:
    """Compute the figure of every run and the differences of every pair.

    Raises ScoreError if no row of a pair has a score in both runs.
    """
    metric, height, notes = shared.metric, shared.kept[0].frame.height, list(shared.notes)
    runs = tuple(
        ComparedRun(name, rows, rows - height, *part.figures(metric))
        for name, rows, part in zip(shared.names, shared.rows, shared.kept, strict=True)
    )
    pairs = []
    for (one, (first, base)), (_, (second, other)) in combinations(
        enumerate(zip(shared.names, shared.kept, strict=True)), 2
    ):
        pair = _pair(first, second, base, other, metric, with_cells=one == 0)
        if not pair.overall.n:
            raise ScoreError(f"{first} and {second}: no row has a {metric} in both")
        if pair.overall.n < height:
            lost = height - pair.overall.n
            notes.append(f"{first} and {second}: {lost} of {height} rows have no score in one of them and do not count")
        pairs.append(pair)
    whole = _adjusted([pair.overall for pair in pairs], holm)
    lengths = _adjusted([pair.of_lengths for pair in pairs], holm)
    pairs = [
        pair._replace(overall=one, of_lengths=other) for pair, one, other in zip(pairs, whole, lengths, strict=True)
    ]
    return Comparison(metric, height, runs, tuple(pairs), tuple(notes))


def common_rows(
    runs: Sequence[tuple[str, pl.DataFrame]], metric: str = "score", weights: Mapping[str, float] | None = None
) -> CommonRows:
    """Reduce runs, given as (name, scored frame with one line per row), to the ids that all of them have.

    `weights`: of the parts, as in `Scored`.

    Raises ScoreError if there are fewer than two runs, two share a name, a run lacks the metric, or runs score a row by
    different metrics; IntegrityError if they are of different datasets.
    """
    names = [name for name, _ in runs]
    if len(names) < 2:
        raise ScoreError(f"a comparison needs two runs or more, found {len(names)}")
    if len(set(names)) < len(names):
        again = next(name for name in names if names.count(name) > 1)
        raise ScoreError(f"two runs are called {again!r}; give each its own name")
    lacking = [name for name, frame in runs if metric not in frame.columns]
    if lacking:
        raise ScoreError(f"{lacking[0]}: its scores have no column {metric!r}; score every run with the same metrics")
    known = {*COMPARED, "score", metric}
    scored = [Scored(frame.select(name for name in frame.columns if name in known), weights) for _, frame in runs]
    ids = _shared(names, scored)
    kept = [Scored(run.frame.join(ids, on="id", how="semi", maintain_order="left"), weights) for run in scored]
    _placed_alike(names, kept)
    if metric == "score":
        _judged_alike(names, kept)
    notes = []
    for name, whole in zip(names, scored, strict=True):
        left_out = whole.frame.height - ids.height
        if left_out:
            strange = whole.frame.join(ids, on="id", how="anti", maintain_order="left")["id"][0]
            notes.append(
                f"{name}: {left_out} of its {whole.frame.height} rows are not in every run and are left out, "
                f"such as {strange!r}"
            )
    return CommonRows(metric, tuple(names), tuple(run.frame.height for run in scored), tuple(kept), tuple(notes))


def _shared(names: Sequence[str], scored: Sequence[Scored]) -> pl.DataFrame:
    """The ids that all runs have, sorted."""
    ids = scored[0].frame.select("id")
    for name, run in zip(names[1:], scored[1:], strict=True):
        if run.frame["id"].equals(ids["id"]):
            continue
        rest = ids.join(run.frame.select("id"), on="id", how="semi", maintain_order="left")
        if not rest.height:
            if not (run.frame.height and ids.height):
                raise ScoreError(f"{name} and {names[0]}: no rows to compare")
            raise IntegrityError(
                f"{name}: has no row in common with {names[0]}: its ids begin with {run.frame['id'][0][:8]!r}, not "
                f"{ids['id'][0][:8]!r}; only runs of the same dataset can be compared"
            )
        ids = rest
    return ids


def _placed_alike(names: Sequence[str], kept: Sequence[Scored]) -> None:
    """Raise IntegrityError if the rows of an id differ between two runs."""
    first = kept[0].frame
    for name, run in zip(names[1:], kept[1:], strict=True):
        for column in _PLACE:
            if column not in first.columns or column not in run.frame.columns:
                continue
            differs = first[column].ne_missing(run.frame[column]).arg_true()
            if len(differs):
                place = differs[0]
                raise IntegrityError(
                    f"{first['id'][place]!r} has {column} {first[column][place]!r} in {names[0]} and "
                    f"{run.frame[column][place]!r} in {name}; only runs of the same dataset can be compared"
                )


def _judged_alike(names: Sequence[str], kept: Sequence[Scored]) -> None:
    """Raise ScoreError if two runs judge a row by different metrics."""
    first = kept[0].frame["metric"]
    for name, run in zip(names[1:], kept[1:], strict=True):
        differs = first.ne_missing(run.frame["metric"]).arg_true()
        if len(differs):
            place = differs[0]
            raise ScoreError(
                f"{run.frame['id'][place]!r} is judged by {first[place]} in {names[0]} and by "
                f"{run.frame['metric'][place]} in {name}; name a metric that both have"
            )


def drops(comparison: Comparison, points: float) -> Drops:
    """Find the runs whose mean is more than `points` below the first one's, and tell failures from noise."""
    first, *others = comparison.runs
    failed, noise = [], []
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
    return Drops(tuple(failed), tuple(noise))


def _pair(first: str, second: str, base: Scored, other: Scored, metric: str, *, with_cells: bool) -> Pair:
    """The differences of two runs of the same rows."""
    (one, has_one), (two, has_two) = base.values(metric), other.values(metric)
    apart, both = two - one, has_one & has_two
    each = base.weights_among(both)
    placed = both & base.column("length").is_not_null().to_numpy()
    weights = depth_weights(*base.groups("length", "depth_percent"), placed, each)
    weights = weights if each is None else weights * each
    (whole,) = _differences(base, apart, both, each)
    (of_lengths,) = _differences(base, apart, placed, weights)
    lengths = _adjusted(_differences(base, apart, both, each, "length"), holm)
    of_depths = _adjusted(_differences(base, apart, placed, weights, "length"), holm)
    cells = _differences(base, apart, both, each, "length", "depth_percent") if with_cells else []
    return Pair(
        first, second, whole, of_lengths, tuple(lengths), tuple(of_depths), tuple(_adjusted(cells, benjamini_hochberg))
    )


def _differences(rows: Scored, apart: Floats, both: Mask, weights: Floats | None, *by: str) -> list[Difference]:
    """The difference of each combination of some coordinates; rows without a length are no length.

    `apart`: the differences of all rows, of which those in `both` count; `weights`: of all rows.
    """
    import numpy as np

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
    import numpy as np

    order = np.argsort(values, kind="stable")
    steps = np.minimum(1.0, np.asarray(values)[order] * np.arange(len(values), 0, -1))
    return _in_order(order, np.maximum.accumulate(steps))


def benjamini_hochberg(values: Sequence[float]) -> list[float]:
    """Adjust p values so that at most 5 % of those below 0.05 are expected to be chance; the order stays.

    Y. Benjamini and Y. Hochberg, J. R. Stat. Soc. B 57, 1995: from the largest down, p times number over rank.
    """
    import numpy as np

    order = np.argsort(values, kind="stable")
    steps = np.minimum(1.0, np.asarray(values)[order] * (len(values) / np.arange(1, len(values) + 1)))
    return _in_order(order, np.minimum.accumulate(steps[::-1])[::-1])


def _in_order(order: Any, ranked: Floats) -> list[float]:
    import numpy as np

    adjusted = np.empty(len(order))
    adjusted[order] = ranked
    listed: list[float] = adjusted.tolist()
    return listed
