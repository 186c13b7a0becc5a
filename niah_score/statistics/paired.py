"""Scored runs of the same rows in, how far they lie apart out, paired row by row, overall, per length and per cell.

A difference is the second run's mean minus the first's, over the rows that both have a score for, with the interval of
`intervals` for paired differences and the p of `significance`. Where several are told at once, p is adjusted: by Holm
over all pairs of runs and over the lengths of a pair, by Benjamini and Hochberg over its cells, which are many and each
of few rows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import combinations
from typing import TYPE_CHECKING, NamedTuple

from niah_score.errors import IntegrityError, ScoreError
from niah_score.statistics.aggregate import Factor, Figure, Scored, figures
from niah_score.statistics.intervals import Interval, Resamples, grouped
from niah_score.statistics.significance import benjamini_hochberg, holm, p_values

if TYPE_CHECKING:
    import numpy as np
    import polars as pl
    from numpy.typing import NDArray

    from niah_score.statistics.intervals import Floats

LEVEL = 0.05
# Where a row stands: what two runs of one dataset agree on.
_PLACE = ("task", "language", "length", "depth_percent", "needle_id", "haystack_id", "repeat")
# Texts, which no figure is made of.
_TEXTS = ("prediction", "extracted", "reasoning", "error")


class Run(NamedTuple):
    """A run: its `rows`, those `left_out` because another run does not have them, and the figure of the others."""

    name: str
    rows: int
    left_out: int
    figure: Figure


class Difference(NamedTuple):
    """Second minus first, in points, with its 95 % interval. `n` of the `rows` have a score in both runs.

    `adjusted`: p for its being one of several, as above. `noise`: the interval holds 0, or `adjusted` is not below
    0.05; true where no row has a score in both.
    """

    length: int | None
    depth_percent: float | None
    rows: int
    n: int
    mean: float | None
    low: float | None
    high: float | None
    p: float | None
    adjusted: float | None
    test: str
    noise: bool


class Pair(NamedTuple):
    """Two runs: all rows, the mean of lengths, each length, each cell (length x depth; only beside the first run).

    `of_lengths`: the difference of the means of lengths' means, each the mean of its depths' means; `of_depths`: of
    each length's mean of its depths' means.
    """

    first: str
    second: str
    overall: Difference
    of_lengths: Difference
    lengths: tuple[Difference, ...]
    of_depths: tuple[Difference, ...]
    cells: tuple[Difference, ...]


class Comparison(NamedTuple):
    """Runs over the `rows` that all of them have, and every pair of them. `notes`: what was left out, as sentences."""

    metric: str
    rows: int
    runs: tuple[Run, ...]
    pairs: tuple[Pair, ...]
    notes: tuple[str, ...]


class Common(NamedTuple):
    """Runs cut down to the rows that all have. `rows`: how many each had. `notes`: what was left out."""

    metric: str
    names: tuple[str, ...]
    rows: tuple[int, ...]
    kept: tuple[Scored, ...]
    notes: tuple[str, ...]


def compare(runs: Sequence[tuple[str, pl.DataFrame]], metric: str = "score") -> Comparison:
    """Compare runs row by row. Names are the runs', frames are scored ones, one line a row.

    Raises ScoreError for fewer than two runs, two of one name, a metric that not all have or not by the same rule, and
    runs of which no row has a score in both; IntegrityError for runs of different datasets.
    """
    return compared(common(runs, metric))


def common(runs: Sequence[tuple[str, pl.DataFrame]], metric: str = "score") -> Common:
    """The rows that all runs have. Raises what `compare` does."""
    names = [name for name, _ in runs]
    if len(names) < 2:
        raise ScoreError(f"a comparison needs two runs or more, found {len(names)}")
    if len(set(names)) < len(names):
        again = next(name for name in names if names.count(name) > 1)
        raise ScoreError(f"two runs are called {again!r}; give each a name of its own")
    lacking = [name for name, frame in runs if metric not in frame.columns]
    if lacking:
        raise ScoreError(f"{lacking[0]}: its scores have no {metric!r}; score every run with the same metrics")
    scored = [Scored(frame.drop(_TEXTS, strict=False)) for _, frame in runs]
    ids = _shared(names, scored)
    kept = [Scored(run.frame.join(ids, on="id", how="semi", maintain_order="left")) for run in scored]
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
                f"{strange!r} for one"
            )
    return Common(metric, tuple(names), tuple(run.frame.height for run in scored), tuple(kept), tuple(notes))


def compared(shared: Common) -> Comparison:
    """The runs' figures, and every pair's differences. Raises ScoreError where no row has a score in both of a pair."""
    metric, height = shared.metric, shared.kept[0].frame.height
    notes = list(shared.notes)
    told = [
        Run(name, rows, rows - height, _whole(part, metric))
        for name, rows, part in zip(shared.names, shared.rows, shared.kept, strict=True)
    ]
    places = _Places(shared.kept[0])
    resamples = Resamples(f"niah|pair|{metric}")
    values = [part.values(metric) for part in shared.kept]
    pairs = []
    for one, other in combinations(range(len(told)), 2):
        first, second = shared.names[one], shared.names[other]
        pair = _pair(first, second, values[one], values[other], places, resamples, with_cells=one == 0)
        if not pair.overall.n:
            raise ScoreError(f"{first} and {second}: no row has a {metric} in both")
        if pair.overall.n < height:
            lost = height - pair.overall.n
            notes.append(f"{first} and {second}: {lost} of {height} rows lack a score in one and do not count")
        pairs.append(pair)
    whole = _adjusted([pair.overall for pair in pairs], holm)
    lengths = _adjusted([pair.of_lengths for pair in pairs], holm)
    pairs = [
        pair._replace(overall=one, of_lengths=other) for pair, one, other in zip(pairs, whole, lengths, strict=True)
    ]
    return Comparison(metric, height, tuple(told), tuple(pairs), tuple(notes))


def drops(comparison: Comparison, points: float) -> list[str]:
    """A sentence for every run whose mean lies more than that many points below the first one's."""
    first, *others = comparison.runs
    found = []
    for run in others:
        base, mean = first.figure.mean, run.figure.mean
        if base is None or mean is None or not base - mean > points:
            continue
        counted = "" if run.figure.n == first.figure.n else f", over {run.figure.n} rows and not {first.figure.n}"
        found.append(
            f"{run.name}: {comparison.metric} is {mean:.2f}{counted}, {base - mean:.2f} points below the {base:.2f} of "
            f"{first.name}; at most {points:g} are allowed"
        )
    return found


def _shared(names: Sequence[str], scored: Sequence[Scored]) -> pl.DataFrame:
    """The ids that all runs have, sorted."""
    ids = scored[0].frame.select("id")
    for name, run in zip(names[1:], scored[1:], strict=True):
        rest = ids.join(run.frame.select("id"), on="id", how="semi", maintain_order="left")
        if not rest.height:
            if not (run.frame.height and ids.height):
                raise ScoreError(f"{name} and {names[0]}: no rows to compare")
            raise IntegrityError(
                f"{name}: has no row of {names[0]}, its ids begin with {run.frame['id'][0][:8]!r} and not with "
                f"{ids['id'][0][:8]!r}; only runs of the same dataset can be compared"
            )
        ids = rest
    return ids


def _placed_alike(names: Sequence[str], kept: Sequence[Scored]) -> None:
    """Raises IntegrityError where an id stands for different rows in two runs."""
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
    """Raises ScoreError where a row is judged by different metrics in two runs."""
    first = kept[0].frame["metric"]
    for name, run in zip(names[1:], kept[1:], strict=True):
        differs = first.ne_missing(run.frame["metric"]).arg_true()
        if len(differs):
            place = differs[0]
            raise ScoreError(
                f"{run.frame['id'][place]!r} is judged by {first[place]} in {names[0]} and by "
                f"{run.frame['metric'][place]} in {name}; name a metric that both have"
            )


def _whole(scored: Scored, metric: str) -> Figure:
    import numpy as np

    return figures(scored, metric, np.zeros(scored.frame.height, np.int64), 1)[0]


class _Places:
    """Where the common rows stand: the groups that differences are taken over, and what they are clustered by."""

    def __init__(self, scored: Scored) -> None:
        import numpy as np

        length, depth = scored.factor("length"), scored.factor("depth_percent")
        self.needles, self.haystacks = scored.factor("needle_id").codes, scored.factor("haystack_id").codes
        self.all = Factor([None], np.zeros(scored.frame.height, np.int64))
        self.lengths = length
        found, codes = np.unique(length.codes * max(len(depth.values), 1) + depth.codes, return_inverse=True)
        self.cells = Factor(
            [
                (length.values[key // len(depth.values)], depth.values[key % len(depth.values)])
                for key in found.tolist()
            ],
            codes,
        )

    def shares(self, both: NDArray[np.bool_]) -> tuple[NDArray[np.bool_], Floats]:
        """Which of some rows have a length, and what each counts in the mean of lengths' means; on average 1."""
        import numpy as np

        has = both & np.array([value is not None for value in self.lengths.values], np.bool_)[self.lengths.codes]
        n = np.bincount(self.cells.codes[has], minlength=len(self.cells.values))
        depths: dict[int, int] = {}
        for (length, _), count in zip(self.cells.values, n.tolist(), strict=True):
            if count:
                depths[length] = depths.get(length, 0) + 1
        size = int(n.sum())
        weights = [
            size / (len(depths) * depths[length] * count) if count else 0.0
            for (length, _), count in zip(self.cells.values, n.tolist(), strict=True)
        ]
        return has, np.array(weights, np.float64)[self.cells.codes]


def _pair(
    first: str,
    second: str,
    one: tuple[Floats, NDArray[np.bool_]],
    other: tuple[Floats, NDArray[np.bool_]],
    places: _Places,
    resamples: Resamples,
    *,
    with_cells: bool,
) -> Pair:
    import numpy as np

    both = one[1] & other[1]
    scores = one[0], other[0]
    whole = _differences(scores, both, places.all, places, resamples)[0]
    has, weights = places.shares(both)
    even = bool(np.allclose(weights[has], 1, rtol=0, atol=1e-9))
    of_lengths = _differences(scores, has, places.all, places, resamples, None if even else weights)[0]

    def by_length(found: Sequence[Difference]) -> list[Difference]:
        named = zip(places.lengths.values, found, strict=True)
        return _adjusted([one._replace(length=value) for value, one in named if value is not None], holm)

    lengths = by_length(_differences(scores, both, places.lengths, places, resamples))
    of_depths = lengths
    if not even:
        of_depths = by_length(_differences(scores, has, places.lengths, places, resamples, weights))
    cells = [
        found._replace(length=length, depth_percent=depth)
        for (length, depth), found in zip(
            places.cells.values, _differences(scores, both, places.cells, places, resamples), strict=True
        )
    ] if with_cells else []  # fmt: skip
    return Pair(
        first,
        second,
        whole,
        of_lengths,
        tuple(lengths),
        tuple(of_depths),
        tuple(_adjusted(cells, benjamini_hochberg)),
    )


def _adjusted(found: Sequence[Difference], way: Callable[[Sequence[float]], list[float]]) -> list[Difference]:
    """Differences that are told at once, with p adjusted for it."""
    values = iter(way([one.p for one in found if one.p is not None]))
    return [one if one.p is None else _judged(one._replace(adjusted=next(values))) for one in found]


def _judged(found: Difference) -> Difference:
    """With `noise` as the interval and the adjusted p have it."""
    if found.low is None or found.high is None or found.adjusted is None:
        return found._replace(noise=True)
    return found._replace(noise=found.low <= 0 <= found.high or found.adjusted >= LEVEL)


def _differences(
    scores: tuple[Floats, Floats],
    both: NDArray[np.bool_],
    groups: Factor,
    places: _Places,
    resamples: Resamples,
    weights: Floats | None = None,
) -> list[Difference]:
    """The difference of every group. `both`: which rows have a score in both runs; `weights`: what each counts."""
    import numpy as np

    count = len(groups.values)
    rows = np.bincount(groups.codes, minlength=count).tolist()
    codes, needles, haystacks = groups.codes[both], places.needles[both], places.haystacks[both]
    one, other = (values[both] for values in scores)
    weights = None if weights is None else weights[both]
    intervals = grouped(codes, count, other - one, needles, haystacks, resamples, weights=weights, signed=True)
    tests = p_values(codes, count, one, other, needles, haystacks, weights)
    return [
        _judged(_difference(size, interval, p, test))
        for size, interval, (p, test) in zip(rows, intervals, tests, strict=True)
    ]


def _difference(rows: int, found: Interval, p: float | None, test: str) -> Difference:
    return Difference(None, None, rows, found.n, found.mean, found.low, found.high, p, p, test, True)
