"""Computes the figures of scores: means with intervals of all rows, of cells (length x depth) and of other groups.

Every figure carries `rows` (the lines of its group), `n` (those that have a score: its denominator), and `unanswered`
(those of status missing, error or empty, whether they count as 0 or have no score). Means and intervals are in points,
0 to 100; a figure without scores has null ones.
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
    """A mean with its intervals, in points, and what it was counted from.

    `low`, `high`: of needles like these, null where there is one needle. `low_these`, `high_these`: of these needles.
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
    """`of_rows`: the mean of all rows. `of_lengths`: of the lengths' means, each the mean of its depths' means.

    The second is the overall score of NeedleBench and OpenCompass's plots (a pivot table's column means); rows without
    a length have no part in it.
    """

    of_rows: Figure
    of_lengths: Figure


def figures(
    scored: Scored, metric: str, codes: Codes, count: int, weights: Floats | None = None, kept: Any = None
) -> list[Figure]:
    """Compute a figure for each code below `count`. `kept`: the rows that count, if not all; `weights`: theirs."""
    return figures_by_metric(scored, [metric], codes, count, weights, kept)[0]


def figures_by_metric(
    scored: Scored,
    metrics: Sequence[str],
    codes: Codes,
    count: int,
    weights: Floats | None = None,
    kept: Any = None,
) -> list[list[Figure]]:
    """Compute the figures of several metrics, a list for each; metrics of the same rows share their clusters.

    The figures of all rows, weighing the same, are kept for the next call: summaries, cells and pictures show the same.
    """
    if weights is not None and bool((weights == 1).all()):
        weights = None
    if kept is not None and len(kept) == len(codes):
        kept = None
    if weights is not None or kept is not None:
        found = _figures_by_metric(scored, metrics, codes, count, weights, kept)
        return [found[metric] for metric in metrics]
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

    (needles, named), unanswered = scored.needles, scored.unanswered
    haystacks, lengths = scored.factor("haystack_id").codes, scored.factor("length").codes

    def of(rows: NDArray[Any], wanted: Any) -> NDArray[Any]:
        return rows if wanted is None else rows[wanted]

    codes, needles, haystacks, lengths = (of(rows, kept) for rows in (codes, needles, haystacks, lengths))
    weights = None if weights is None else of(weights, kept)
    rows = np.bincount(codes, minlength=count).tolist()
    silent = np.bincount(codes[of(unanswered, kept)], minlength=count).tolist()
    found: dict[str, list[Figure]] = {}
    for alike in _scoring_the_same(scored, metrics):
        has = of(scored.values(alike[0])[1], kept)
        some = None if has.all() else has
        own = None if weights is None else of(weights, some)
        clustered = of(needles, some), of(haystacks, some)
        different = list(dict.fromkeys(map(scored.same_as, alike)))
        several = _Several(scored, different, kept, some)
        each = scored.row_weights(alike[0])
        if each is None:
            clusters = Clusters(of(codes, some), count, *clustered, own, strata=of(lengths, some), named=named)
            intervals = several_means(clusters, several)
        else:
            parts = of(of(scored.factor("part").codes, kept), some)
            intervals = several_weighted_means(
                of(codes, some), count, parts, of(of(each, kept), some), *clustered, several, own,
                strata=of(lengths, some), named=named,
            )  # fmt: skip
        known = {
            name: [figure_of(*item) for item in zip(rows, silent, one, strict=True)]
            for name, one in zip(different, intervals, strict=True)
        }
        found |= {metric: known[scored.same_as(metric)] for metric in alike}
    return found


class _Several:
    """The scores of some metrics, one after the other: of `kept` rows, and of those the ones that have a score."""

    def __init__(self, scored: Scored, metrics: Sequence[str], kept: Any, some: Any) -> None:
        self._scored, self._metrics, self._kept, self._some = scored, metrics, kept, some

    def __iter__(self) -> Iterator[Floats]:
        for metric in self._metrics:
            values = self._scored.values(metric)[0]
            values = values if self._kept is None else values[self._kept]
            yield values if self._some is None else values[self._some]


def _scoring_the_same(scored: Scored, metrics: Sequence[str]) -> list[list[str]]:
    """Metrics grouped by which rows have a score."""
    alike: dict[int, list[str]] = {}
    for metric in dict.fromkeys(metrics):
        alike.setdefault(id(scored.values(metric)[1]), []).append(metric)
    return list(alike.values())


def figure_of(rows: int, unanswered: int, found: Interval) -> Figure:
    """An interval as a figure of a group that has so many rows."""
    ends = found.low_these, found.high_these
    return Figure(rows, found.n, unanswered, found.mean, found.low, found.high, found.method, *ends)


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

    Columns: language, length, depth_percent and a figure's. Rows whose language is not given are in the former alone.
    """
    return _cells(as_scored(scores), [metric])[0]


def _cells(scored: Scored, metrics: Sequence[str]) -> list[pl.DataFrame]:
    import numpy as np
    import polars as pl

    language = scored.factor("language")
    combinations, codes = scored.crossed("length", "depth_percent")
    lines = [
        [(None, *names, *figure) for names, figure in zip(combinations, found, strict=True)]
        for found in figures_by_metric(scored, metrics, codes, len(combinations))
    ]
    named = [name for name in language.values if name is not None]
    if len(named) > 1:
        apart, codes = scored.crossed("language", "length", "depth_percent")
        # None sorts last, so what has a language comes first.
        count = sum(names[0] is not None for names in apart)
        kept = None if count == len(apart) else np.flatnonzero(codes < count)
        for listed, found in zip(lines, figures_by_metric(scored, metrics, codes, count, kept=kept), strict=True):
            listed += [(*names, *figure) for names, figure in zip(apart[:count], found, strict=True)]
    schema = {
        "language": pl.String(), "length": pl.Int64(), "depth_percent": pl.Float64(), **figure_schema(),
    }  # fmt: skip
    return [pl.DataFrame(listed, schema=schema, orient="row") for listed in lines]


def groups(scores: pl.DataFrame | Scored, metric: str = "score") -> pl.DataFrame:
    """Compute figures by each of GROUPS: group, value (as text) and a figure's columns. Groups of no row are absent.

    The rows of every group add up to all rows; those without a value come last, with a null one.
    """
    import polars as pl

    scored = as_scored(scores)
    lines: list[tuple[Any, ...]] = []
    for name, (values, found) in groups_by_metric(scored, [metric]).items():
        lines += [(name, coordinate_text(value), *figure) for value, figure in zip(values, found[0], strict=True)]
    return pl.DataFrame(
        lines, schema={"group": pl.String(), "value": pl.String(), **figure_schema()}, orient="row"
    )  # fmt: skip


def groups_by_metric(
    scored: Scored, metrics: Sequence[str], parts_of: Scored | None = None
) -> dict[str, tuple[list[Any], list[list[Figure]]]]:
    """For each of GROUPS that rows have its values, and for each metric a figure of every value.

    `parts_of`: the rows that the group `part` is taken from, where those are more.
    """
    found = {}
    for name in GROUPS:
        rows = parts_of if parts_of is not None and name == "part" else scored
        factor = rows.factor(name)
        if any(value is not None for value in factor.values):
            found[name] = factor.values, figures_by_metric(rows, metrics, factor.codes, len(factor.values))
    return found


def overall(scores: pl.DataFrame | Scored, metric: str = "score") -> Overall:
    """The mean of all rows, and the mean of the lengths' means."""
    return overall_by_metric(as_scored(scores), [metric])[0]


def overall_by_metric(scored: Scored, metrics: Sequence[str]) -> list[Overall]:
    """The overall means of several metrics."""
    import numpy as np

    length = scored.factor("length")
    combinations, codes = scored.crossed("length", "depth_percent")
    kept = np.flatnonzero(length.codes < sum(value is not None for value in length.values))
    one = scored.together
    of_rows = figures_by_metric(scored, metrics, one, 1)
    of_lengths: dict[str, Figure] = {}
    for alike in _scoring_the_same(scored, metrics):
        has, each = scored.values(alike[0])[1], scored.row_weights(alike[0])
        each = None if each is None else each[has]
        n = np.bincount(codes[has], each, minlength=len(combinations)).tolist()
        lengths: dict[int, list[int]] = {}
        for cell, (name, _) in enumerate(combinations):
            if name is None:
                n[cell] = 0
            elif n[cell]:
                lengths.setdefault(name, []).append(cell)
        weights = np.array(depth_weights([name for name, _ in combinations], n, lengths_alike=True))
        for metric, (whole,) in zip(alike, figures_by_metric(scored, alike, one, 1, weights[codes], kept), strict=True):
            if lengths:
                values = scored.values(metric)[0][has] * (1.0 if each is None else each)
                totals = np.bincount(codes[has], values, minlength=len(combinations)).tolist()
                by_length = [mean_of([totals[cell] / n[cell] for cell in found]) for found in lengths.values()]
                whole = with_mean(whole, mean_of(by_length))
            of_lengths[metric] = whole
    return [Overall(rows[0], of_lengths[metric]) for metric, rows in zip(metrics, of_rows, strict=True)]


def by_length_and_depth(scored: Scored, metric: str) -> tuple[dict[tuple[int, int], Figure], list[Figure | None]]:
    """The figure of each cell, by the indices of its length and depth, and each length's mean of its depths' means.

    The latter is None for a length without a score.
    """
    import numpy as np

    length, depth = scored.factor("length"), scored.factor("depth_percent")
    combinations, codes = scored.crossed("length", "depth_percent")
    cells = figures(scored, metric, codes, len(combinations))
    n, each, has = [float(cell.n) for cell in cells], scored.row_weights(metric), scored.values(metric)[1]
    if each is not None:
        n = np.bincount(codes[has], each[has], minlength=len(cells)).tolist()
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
    """Compute what a row of each cell counts so that every depth of a length has the same part in its mean.

    `lengths`: of each cell; `counts`: its rows that have a score, or what they count together. `lengths_alike`: all
    lengths have the same part, too.
    The weights of all rows add up to their number, in each length or, with `lengths_alike`, over all of them.
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
    """The mean of some means; there is one at least."""
    return math.fsum(values) / len(values)


def with_mean(figure: Figure, mean: float) -> Figure:
    """A figure with a mean that was computed another way; its intervals are stretched to hold it."""

    def held(end: float | None, way: Callable[[float, float], float]) -> float | None:
        return None if end is None else way(end, mean)

    return figure._replace(
        mean=mean,
        low=held(figure.low, min),
        high=held(figure.high, max),
        low_these=held(figure.low_these, min),
        high_these=held(figure.high_these, max),
    )


def cells_by_metric(scores: pl.DataFrame | Scored, metrics: Sequence[str]) -> pl.DataFrame:
    """The cells of several metrics, one after the other, with the column `metric` before them."""
    import polars as pl

    named = zip(metrics, _cells(as_scored(scores), metrics), strict=True)
    return pl.concat([frame.insert_column(0, pl.lit(name).alias("metric")) for name, frame in named])
