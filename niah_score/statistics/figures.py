"""Computes the figures of scores: means with intervals of all rows, of cells (length x depth) and of other groups.

Every figure carries `rows` (the rows of its group), `n` (those with a score: its denominator), and `unanswered` (those
of status missing, error or empty, whether they count as 0 or have no score). Means and intervals are in points, 0 to
100, and null if no row has a score.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from niah_score.statistics.clusters import Clusters
from niah_score.statistics.intervals import Interval, several_means
from niah_score.statistics.scored import Scored, as_scored, coordinate_text
from niah_score.statistics.weighted import several_weighted_means

if TYPE_CHECKING:
    import polars as pl
    from numpy.typing import NDArray

    from niah_score.statistics.cluster_sums import Codes, Floats

GROUPS = ("length", "depth_percent", "part", "language", "corpus", "needle_id", "task", "control")


class Figure(NamedTuple):
    """A mean with its intervals, in points, and its counts of rows.

    `low`, `high`: the interval for needles like these, null if there is one needle. `low_these`, `high_these`: the
    interval for these very needles.
    """

    rows: int
    n: int
    unanswered: int
    mean: float | None
    low: float | None
    high: float | None
    method: str
    low_these: float | None = None
    high_these: float | None = None


class Overall(NamedTuple):
    """`of_rows`: the mean of all rows. `of_lengths`: that of the lengths' means, each the mean of its depths' means.

    The second is the overall score of NeedleBench and OpenCompass's plots (a pivot table's column means); it leaves out
    rows without a length.
    """

    of_rows: Figure
    of_lengths: Figure


def figures(
    scored: Scored, metric: str, codes: Codes, count: int, weights: Floats | None = None, kept: Any = None
) -> list[Figure]:
    """Compute a figure for each code below `count`. `kept`: the rows to use, if not all; `weights`: of all rows."""
    return figures_by_metric(scored, [metric], codes, count, weights, kept)[0]


def figures_by_metric(
    scored: Scored,
    metrics: Sequence[str],
    codes: Codes,
    count: int,
    weights: Floats | None = None,
    kept: Any = None,
) -> list[list[Figure]]:
    """Compute the figures of several metrics, a list for each; metrics that score the same rows share their clusters.

    Figures of all rows with equal weights are cached, as summaries, cells and pictures ask for the same ones.
    """
    if weights is not None and bool((weights == 1).all()):
        weights = None
    if kept is not None and len(kept) == len(codes):
        kept = None
    if weights is not None or kept is not None:
        by_metric = _figures_by_metric(scored, metrics, codes, count, weights, kept)
        return [by_metric[metric] for metric in metrics]
    codes = scored.together if count == 1 else codes
    known = scored.kept_figures.setdefault((id(codes), count), (codes, {}))[1]
    missing = [metric for metric in metrics if metric not in known]
    if missing:
        known.update(_figures_by_metric(scored, missing, codes, count))
    return [known[metric] for metric in metrics]


def _figures_by_metric(
    scored: Scored,
    metrics: Sequence[str],
    codes: Codes,
    count: int,
    weights: Floats | None = None,
    kept: Any = None,
) -> dict[str, list[Figure]]:
    import numpy as np

    kept_codes = codes if kept is None else codes[kept]
    unanswered = scored.unanswered if kept is None else scored.unanswered[kept]
    rows = np.bincount(kept_codes, minlength=count).tolist()
    silent = np.bincount(kept_codes[unanswered], minlength=count).tolist()
    by_metric: dict[str, list[Figure]] = {}
    for alike in _scoring_the_same(scored, metrics):
        different = list(dict.fromkeys(map(scored.same_as, alike)))
        intervals = _intervals(scored, different, codes, count, weights, kept)
        known = {
            name: [figure_of(*group) for group in zip(rows, silent, of_groups, strict=True)]
            for name, of_groups in zip(different, intervals, strict=True)
        }
        by_metric |= {metric: known[scored.same_as(metric)] for metric in alike}
    return by_metric


def _intervals(
    scored: Scored, metrics: Sequence[str], codes: Codes, count: int, weights: Floats | None, kept: Any
) -> list[list[Interval]]:
    """For each of some metrics that score the same rows, the intervals of all groups."""
    has = scored.values(metrics[0])[1]
    has = has if kept is None else has[kept]
    all_have = bool(has.all())

    def of(column: NDArray[Any]) -> NDArray[Any]:
        """A column of the kept rows that have a score."""
        column = column if kept is None else column[kept]
        return column if all_have else column[has]

    needles, named = scored.needles
    clustered = of(needles), of(scored.factor("haystack_id").codes)
    strata = of(scored.factor("length").codes)
    weights = None if weights is None else of(weights)
    scores = _Scores(scored, metrics, of)
    each = scored.row_weights(metrics[0])
    if each is None:
        return several_means(Clusters(of(codes), count, *clustered, weights, strata=strata, named=named), scores)
    parts = of(scored.factor("part").codes)
    return several_weighted_means(
        of(codes), count, parts, of(each), *clustered, scores, weights, strata=strata, named=named
    )  # fmt: skip


class _Scores:
    """The selected scores of each metric, read anew in every iteration so that only one array is held at a time."""

    def __init__(self, scored: Scored, metrics: Sequence[str], of: Callable[[Floats], Floats]) -> None:
        self._scored, self._metrics, self._of = scored, metrics, of

    def __iter__(self) -> Iterator[Floats]:
        return (self._of(self._scored.values(metric)[0]) for metric in self._metrics)


def _scoring_the_same(scored: Scored, metrics: Sequence[str]) -> list[list[str]]:
    """Metrics grouped by the rows that have a score."""
    alike: dict[int, list[str]] = {}
    for metric in dict.fromkeys(metrics):
        alike.setdefault(id(scored.values(metric)[1]), []).append(metric)
    return list(alike.values())


def figure_of(rows: int, unanswered: int, interval: Interval) -> Figure:
    """The figure of a group with this many rows and this interval."""
    mean, low, high, n, method, *these = interval
    return Figure(rows, n, unanswered, mean, low, high, method, *these)


def figure_schema() -> dict[str, pl.DataType]:
    """The columns of a figure in a frame."""
    import polars as pl

    whole, points = pl.Int64(), pl.Float64()
    return {
        "rows": whole, "n": whole, "unanswered": whole, "mean": points, "low": points, "high": points,
        "method": pl.String(), "low_these": points, "high_these": points,
    }  # fmt: skip


def cells(scores: pl.DataFrame | Scored, metric: str = "score") -> pl.DataFrame:
    """Compute the cells, length x depth: over all languages (language null), then for each one if there are several.

    Columns: language, length, depth_percent and those of a figure. Rows without a language count only in the former.
    """
    return _cells(as_scored(scores), [metric])[0]


def _cells(scored: Scored, metrics: Sequence[str]) -> list[pl.DataFrame]:
    import numpy as np
    import polars as pl

    language = scored.factor("language")
    combinations, codes = scored.crossed("length", "depth_percent")
    lines = [
        [(None, *names, *figure) for names, figure in zip(combinations, of_cells, strict=True)]
        for of_cells in figures_by_metric(scored, metrics, codes, len(combinations))
    ]
    languages = [name for name in language.values if name is not None]
    if len(languages) > 1:
        apart, codes = scored.crossed("language", "length", "depth_percent")
        # None sorts last, so cells with a language come first.
        count = sum(names[0] is not None for names in apart)
        kept = None if count == len(apart) else np.flatnonzero(codes < count)
        for listed, of_cells in zip(lines, figures_by_metric(scored, metrics, codes, count, kept=kept), strict=True):
            listed += [(*names, *figure) for names, figure in zip(apart[:count], of_cells, strict=True)]
    schema = {
        "language": pl.String(), "length": pl.Int64(), "depth_percent": pl.Float64(), **figure_schema(),
    }  # fmt: skip
    return [pl.DataFrame(listed, schema=schema, orient="row") for listed in lines]


def groups(scores: pl.DataFrame | Scored, metric: str = "score") -> pl.DataFrame:
    """Compute figures by each of GROUPS that rows have. Columns: group, value (as text) and those of a figure.

    The rows of every group add up to all rows; rows without a value come last, as a null value.
    """
    import polars as pl

    scored = as_scored(scores)
    lines: list[tuple[Any, ...]] = []
    for name, (values, (of_values,)) in groups_by_metric(scored, [metric]).items():
        lines += [(name, coordinate_text(value), *figure) for value, figure in zip(values, of_values, strict=True)]
    return pl.DataFrame(
        lines, schema={"group": pl.String(), "value": pl.String(), **figure_schema()}, orient="row"
    )  # fmt: skip


def groups_by_metric(
    scored: Scored, metrics: Sequence[str], parts_of: Scored | None = None
) -> dict[str, tuple[list[Any], list[list[Figure]]]]:
    """For each of GROUPS that rows have, its values, and for each metric a figure of every value.

    `parts_of`: the rows to use for the group `part`, if not the same.
    """
    by_group = {}
    for name in GROUPS:
        rows = parts_of if parts_of is not None and name == "part" else scored
        factor = rows.factor(name)
        if any(value is not None for value in factor.values):
            by_group[name] = factor.values, figures_by_metric(rows, metrics, factor.codes, len(factor.values))
    return by_group


def overall(scores: pl.DataFrame | Scored, metric: str = "score") -> Overall:
    """The mean of all rows, and the mean of the lengths' means."""
    return overall_by_metric(as_scored(scores), [metric])[0]


def overall_by_metric(scored: Scored, metrics: Sequence[str]) -> list[Overall]:
    """The overall means of several metrics."""
    of_rows = figures_by_metric(scored, metrics, scored.together, 1)
    of_lengths: dict[str, Figure] = {}
    for alike in _scoring_the_same(scored, metrics):
        of_lengths |= _of_lengths(scored, alike)
    return [Overall(rows[0], of_lengths[metric]) for metric, rows in zip(metrics, of_rows, strict=True)]


def _of_lengths(scored: Scored, metrics: Sequence[str]) -> dict[str, Figure]:
    """The mean of the lengths' means, for each of some metrics that score the same rows."""
    import numpy as np

    length = scored.factor("length")
    cells, codes = scored.crossed("length", "depth_percent")
    n = _score_counts(scored, metrics[0], codes, len(cells))
    n = [0.0 if name is None else size for (name, _), size in zip(cells, n, strict=True)]
    cells_of: dict[Any, list[int]] = defaultdict(list)
    for cell, (name, _) in enumerate(cells):
        if n[cell]:
            cells_of[name].append(cell)
    weights = np.array(depth_weights([name for name, _ in cells], n, lengths_alike=True))
    kept = np.flatnonzero(length.codes < sum(value is not None for value in length.values))
    wholes = figures_by_metric(scored, metrics, scored.together, 1, weights[codes], kept)
    means: dict[str, Figure] = {}
    for metric, (whole,) in zip(metrics, wholes, strict=True):
        (values, has), each = scored.values(metric), scored.row_weights(metric)
        totals = np.bincount(codes[has], values[has] * (1.0 if each is None else each[has]), len(cells)).tolist()
        by_length = [mean_of([totals[cell] / n[cell] for cell in own]) for own in cells_of.values()]
        means[metric] = with_mean(whole, mean_of(by_length)) if by_length else whole
    return means


def _score_counts(scored: Scored, metric: str, codes: Codes, count: int) -> list[float]:
    """How many rows of each group have a score; with weights by part, the sum of their weights."""
    import numpy as np

    has, each = scored.values(metric)[1], scored.row_weights(metric)
    n: list[float] = np.bincount(codes[has], None if each is None else each[has], minlength=count).tolist()
    return n


def by_length_and_depth(scored: Scored, metric: str) -> tuple[dict[tuple[int, int], Figure], list[Figure | None]]:
    """The figure of each cell, by the indices of its length and depth, and the mean of each length's depths' means.

    The latter is None for a length without scores.
    """
    import numpy as np

    length, depth = scored.factor("length"), scored.factor("depth_percent")
    combinations, codes = scored.crossed("length", "depth_percent")
    cells = figures(scored, metric, codes, len(combinations))
    n = _score_counts(scored, metric, codes, len(cells))
    weights = depth_weights([name for name, _ in combinations], n)
    weighted = figures(scored, metric, length.codes, len(length.values), np.array(weights)[codes])
    of_lengths: list[Figure | None] = []
    for value, figure in zip(length.values, weighted, strict=True):
        known = [cell.mean for (name, _), cell in zip(combinations, cells, strict=True)
                 if name == value and cell.mean is not None]  # fmt: skip
        of_lengths.append(with_mean(figure, mean_of(known)) if known else None)
    across, down = ({value: index for index, value in enumerate(factor.values)} for factor in (length, depth))
    return {(across[a], down[b]): cell for (a, b), cell in zip(combinations, cells, strict=True)}, of_lengths


def depth_weights(lengths: Sequence[Any], counts: Sequence[float], *, lengths_alike: bool = False) -> list[float]:
    """Compute the weight of a row in each cell that gives every depth of a length the same share in its mean.

    `lengths`: the length of each cell; `counts`: its rows with a score, or the sum of their weights. `lengths_alike`:
    lengths have equal shares too.
    The weights of all rows add up to their number, per length or, with `lengths_alike`, over all lengths.
    """
    rows: dict[Any, float] = defaultdict(float)
    depths = Counter[Any]()
    for length, count in zip(lengths, counts, strict=True):
        rows[length] += count
        depths[length] += count > 0
    size, several = sum(rows.values()), sum(count > 0 for count in depths.values())
    if lengths_alike:
        return [
            size / (several * depths[at] * count) if count else 0.0 for at, count in zip(lengths, counts, strict=True)
        ]
    return [rows[at] / (depths[at] * count) if count else 0.0 for at, count in zip(lengths, counts, strict=True)]


def mean_of(values: Sequence[float]) -> float:
    """The mean of at least one value."""
    return math.fsum(values) / len(values)


def with_mean(figure: Figure, mean: float) -> Figure:
    """A figure with a mean that was computed differently; its intervals are stretched to hold it."""

    def held(end: float | None, outer: Callable[[float, float], float]) -> float | None:
        return None if end is None else outer(end, mean)

    return figure._replace(
        mean=mean,
        low=held(figure.low, min),
        high=held(figure.high, max),
        low_these=held(figure.low_these, min),
        high_these=held(figure.high_these, max),
    )


def cells_by_metric(scores: pl.DataFrame | Scored, metrics: Sequence[str]) -> pl.DataFrame:
    """The cells of several metrics, one after another, with `metric` as the first column."""
    import polars as pl

    named = zip(metrics, _cells(as_scored(scores), metrics), strict=True)
    return pl.concat([frame.insert_column(0, pl.lit(name).alias("metric")) for name, frame in named])
