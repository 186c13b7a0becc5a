"""Compares scored runs of the same rows, paired row by row: over all rows, per length and per cell.

A difference is the second run's mean minus the first's, over the rows that have a score in both, with the interval and
the p of Student's t over needles (intervals.py). If several are reported together, p is adjusted (significance.py): by
Holm over all pairs of runs and over the lengths of a pair, by Benjamini and Hochberg over its cells, which are many and
have few rows each.

If parts have weights, rows have the same weights in a difference as in the means, so that the difference over all rows
is that of the headlines. Runs that differ more in one part than in another then look like needles that differ, which
makes intervals somewhat too wide.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import combinations
from typing import TYPE_CHECKING, NamedTuple

from niah_score.errors import ScoreError
from niah_score.statistics.clusters import Clusters
from niah_score.statistics.columns import Factor
from niah_score.statistics.common_rows import CommonRows, common_rows
from niah_score.statistics.figures import Figure, depth_weights, figures
from niah_score.statistics.intervals import NO_TEST, ONE_NEEDLE, Interval, differences
from niah_score.statistics.scored import Scored, crossed
from niah_score.statistics.significance import benjamini_hochberg, holm

if TYPE_CHECKING:
    import numpy as np
    import polars as pl
    from numpy.typing import NDArray

    from niah_score.statistics.cluster_sums import Floats

LEVEL = 0.05


class ComparedRun(NamedTuple):
    """A run: how many `rows` it has, how many are `left_out` as another run lacks them, and the figure of the rest."""

    name: str
    rows: int
    left_out: int
    figure: Figure


class Difference(NamedTuple):
    """Second minus first, in points, with its 95 % interval. `n` of the `rows` have a score in both runs.

    `adjusted`: p adjusted for several differences, as the module says. `test`: what interval and p are based on.
    `noise`: the interval contains 0, or `adjusted` is not below 0.05; true if there is neither. `low`, `high` and p are
    for needles like these, null if there is one needle; `low_these`, `high_these` for these very needles.
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
    low_these: float | None = None
    high_these: float | None = None


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
    metric, height = shared.metric, shared.kept[0].frame.height
    notes = list(shared.notes)
    compared_runs = [
        ComparedRun(name, rows, rows - height, figures(part, metric, part.together, 1)[0])
        for name, rows, part in zip(shared.names, shared.rows, shared.kept, strict=True)
    ]
    places = _Places(shared.kept[0])
    values = [part.values(metric) for part in shared.kept]
    pairs = []
    for one, other in combinations(range(len(compared_runs)), 2):
        first, second = shared.names[one], shared.names[other]
        pair = _pair(first, second, values[one], values[other], places, with_cells=one == 0)
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
    return Comparison(metric, height, tuple(compared_runs), tuple(pairs), tuple(notes))


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


class _Places:
    """The coordinates of the common rows: the groups that differences are taken over, and their clusters."""

    def __init__(self, scored: Scored) -> None:
        length, depth = scored.factor("length"), scored.factor("depth_percent")
        self.needles, self.haystacks = scored.needles, scored.factor("haystack_id").codes
        self.all = Factor([None], scored.together)
        self.part_weights = scored.weights_among
        self.lengths = length
        self.cells = Factor(*crossed(length, depth))
        # All pairs whose rows all have a score in both runs, as most do, have the same clusters.
        self._known: dict[str, Clusters] = {}

    def differences(
        self, name: str, groups: Factor, apart: Floats, both: NDArray[np.bool_], weights: Floats | None
    ) -> list[Difference]:
        """The difference of every group. `name`: identifies the groups with these weights.

        `apart`: the differences of all rows, of which those in `both` count; `weights`: of all rows.
        """
        import numpy as np

        sizes = np.bincount(groups.codes, minlength=len(groups.values)).tolist()
        tests = differences(self._clusters(name, groups, both, weights), apart[both])
        return [_judged(_difference(size, *test)) for size, test in zip(sizes, tests, strict=True)]

    def _clusters(self, name: str, groups: Factor, both: NDArray[np.bool_], weights: Floats | None) -> Clusters:
        if both.all() and name in self._known:
            return self._known[name]
        clusters = Clusters(
            groups.codes[both], len(groups.values), self.needles.codes[both], self.haystacks[both],
            None if weights is None else weights[both], strata=self.lengths.codes[both], named=self.needles.named,
        )  # fmt: skip
        if both.all():
            self._known[name] = clusters
        return clusters

    def weights(self, both: NDArray[np.bool_], each: Floats | None) -> tuple[NDArray[np.bool_], Floats]:
        """A mask of the rows `both` that have a length, and their weights in the mean of lengths' means; on average 1.

        `each`: the weights of rows by their part.
        """
        import numpy as np

        has = both & np.array([value is not None for value in self.lengths.values], np.bool_)[self.lengths.codes]
        n = np.bincount(self.cells.codes[has], None if each is None else each[has], minlength=len(self.cells.values))
        weights = depth_weights([length for length, _ in self.cells.values], n.tolist(), lengths_alike=True)
        of_rows = np.array(weights, np.float64)[self.cells.codes]
        return has, of_rows if each is None else of_rows * each


def _pair(
    first: str,
    second: str,
    one: tuple[Floats, NDArray[np.bool_]],
    other: tuple[Floats, NDArray[np.bool_]],
    places: _Places,
    *,
    with_cells: bool,
) -> Pair:
    """The differences of two runs, given the scores of each and a mask of the rows that have one."""
    import numpy as np

    both, apart = one[1] & other[1], other[0] - one[0]
    each = places.part_weights(both)
    with_length, weights = places.weights(both, each)
    # Equal weights make the mean of the lengths' means that of their rows, and a length's mean that of its depths.
    even = each is None and bool(np.allclose(weights[with_length], 1, rtol=0, atol=1e-9))

    def by_length(lengths: Sequence[Difference]) -> tuple[Difference, ...]:
        named = zip(places.lengths.values, lengths, strict=True)
        return tuple(_adjusted([one._replace(length=value) for value, one in named if value is not None], holm))

    (whole,) = places.differences("rows", places.all, apart, both, each)
    (of_lengths,) = places.differences("all lengths", places.all, apart, with_length, None if even else weights)
    lengths = of_depths = by_length(places.differences("lengths", places.lengths, apart, both, each))
    if not even:
        of_depths = by_length(places.differences("depths", places.lengths, apart, with_length, weights))
    cells: list[Difference] = []
    if with_cells:
        named = zip(places.cells.values, places.differences("cells", places.cells, apart, both, each), strict=True)
        cells = [cell._replace(length=length, depth_percent=depth) for (length, depth), cell in named]
    return Pair(first, second, whole, of_lengths, lengths, of_depths, tuple(_adjusted(cells, benjamini_hochberg)))


def _adjusted(apart: Sequence[Difference], adjust: Callable[[Sequence[float]], list[float]]) -> list[Difference]:
    """Differences that are reported together, with p adjusted for their number."""
    values = iter(adjust([one.p for one in apart if one.p is not None]))
    return [one if one.p is None else _judged(one._replace(adjusted=next(values))) for one in apart]


def _judged(apart: Difference) -> Difference:
    """A difference with `noise` set from its interval and its adjusted p."""
    if apart.low is None or apart.high is None or apart.adjusted is None:
        return apart._replace(noise=True)
    return apart._replace(noise=apart.low <= 0 <= apart.high or apart.adjusted >= LEVEL)


def _difference(rows: int, interval: Interval, p: float | None) -> Difference:
    mean, low, high, n, method, *these = interval
    test = NO_TEST if method == ONE_NEEDLE else method
    return Difference(None, None, rows, n, mean, low, high, p, p, test, True, *these)
