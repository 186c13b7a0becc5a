"""Scores of rows in; cells, groups, means, effective lengths and a summary out, each with what it was counted from.

Every figure carries `rows` (the lines of its group), `n` (those that have a score: its denominator), and `unanswered`
(those of status missing, error or empty, whether they count as 0 or have no score). Means and intervals are in points,
0 to 100; a figure without scores has null ones. A coordinate that a row does not have is null, and makes a group of its
own. Everything is computed in the order of the ids: it does not depend on the order of the rows that are given.
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from niah_score.errors import ScoreError
from niah_score.scoring.findings import FINDINGS
from niah_score.scoring.statuses import STATUSES
from niah_score.statistics.intervals import Clusters, Interval, Resamples, distinct, grouped, means

if TYPE_CHECKING:
    import numpy as np
    import polars as pl
    from numpy.typing import NDArray

    from niah_score.statistics.intervals import Floats, Whole

GROUPS = ("length", "depth_percent", "language", "corpus", "needle_id", "task", "control")
UNANSWERED = ("missing", "error", "empty")
RULER_THRESHOLD = 85.6
NOLIMA_SHARE = 0.85
# NoLiMa takes its base from contexts of 250, 500 and 1,000 tokens.
_LONGEST_BASE = 1_000


class Factor(NamedTuple):
    """A coordinate of all rows: `values`, sorted, null last, and for each row the index of its own."""

    values: list[Any]
    codes: Whole


class Scored:
    """A scored frame, one line a row, in the order of its ids, with its coordinates as numbers.

    Everything here takes a frame or one of these; for several figures of one frame, this is made once.
    Raises ScoreError where an id stands in several lines.
    """

    def __init__(self, scores: pl.DataFrame) -> None:
        ids = scores["id"]
        if not (ids[1:] > ids[:-1]).all():
            scores = scores.sort("id")
            again = scores["id"].filter(scores["id"].is_duplicated())
            if len(again):
                raise ScoreError(
                    f"id {again[0]!r} stands in several lines of the scores; a figure needs one line a row, so bring "
                    "samples together first (--samples mean)"
                )
        self.frame = scores
        # All metrics share resamples: the same scores have the same interval, whatever they are called.
        self.resamples = Resamples("niah")
        self._factors: dict[str, Factor] = {}
        self._values: dict[str, tuple[Floats, NDArray[np.bool_]]] = {}

    def factor(self, name: str) -> Factor:
        """A coordinate as sorted values and codes."""
        if name not in self._factors:
            self._factors[name] = _factor(self.frame[name])
        return self._factors[name]

    def values(self, metric: str) -> tuple[Floats, NDArray[np.bool_]]:
        """A metric's scores, and which rows have one; the same arrays for metrics that give the same.

        Raises ScoreError where the frame does not have the metric.
        """
        if metric not in self._values:
            if metric not in self.frame.columns or not self.frame[metric].dtype.is_numeric():
                raise ScoreError(f"{metric!r} is no metric of these scores; they have {', '.join(self.metrics)}")
            values, has = _numbers(self.frame[metric])
            for others, theirs in self._values.values():
                has = theirs if _equal(has, theirs) else has
                values = others if has is theirs and _equal(values, others) else values
            self._values[metric] = values, has
        return self._values[metric]

    @property
    def metrics(self) -> list[str]:
        """The columns that hold scores."""
        others = {"length", "depth_percent", "repeat", "sample", "samples"}
        return [
            name for name, kind in self.frame.schema.items()
            if kind.is_numeric() and name not in others and "." not in name
        ]  # fmt: skip

    @cached_property
    def unanswered(self) -> NDArray[np.bool_]:
        """Which rows have no answer to judge."""
        return self.frame["status"].is_in(UNANSWERED).to_numpy()


def _numbers(column: pl.Series) -> tuple[Floats, NDArray[np.bool_]]:
    """The numbers of a column, 0 where there is none, and where there is one."""
    import polars as pl

    column = column.cast(pl.Float64)
    if column.is_nan().any():
        column = column.fill_nan(None)
    return column.fill_null(0.0).to_numpy(), column.is_not_null().to_numpy()


def _equal(one: NDArray[Any], other: NDArray[Any]) -> bool:
    """Whether arrays are equal; most that are not differ within the first thousand."""
    import numpy as np

    return bool(np.array_equal(one[:1000], other[:1000]) and np.array_equal(one, other))


def _factor(column: pl.Series) -> Factor:
    import numpy as np
    import polars as pl

    values = column.unique().drop_nulls().sort()
    if column.dtype == pl.String:
        codes = column.cast(pl.Enum(values)).to_physical()
    elif column.dtype == pl.Null:
        codes = column.cast(pl.Int64)
    else:
        codes = pl.Series(np.searchsorted(values.to_numpy(), column.fill_null(0).to_numpy()))
        codes = pl.select(pl.when(column.is_not_null()).then(codes)).to_series()
    listed = values.to_list()
    found: Whole = codes.cast(pl.Int64).fill_null(len(listed)).to_numpy()
    return Factor([*listed, None] if column.null_count() else listed, found)


class Figure(NamedTuple):
    """A mean with its interval, in points, and what it was counted from."""

    rows: int
    n: int
    unanswered: int
    mean: float | None
    low: float | None
    high: float | None
    method: str


class Overall(NamedTuple):
    """`of_rows`: the mean of all rows. `of_lengths`: of the lengths' means, each the mean of its depths' means.

    The second is the overall score of NeedleBench and OpenCompass's plots (a pivot table's column means); rows without
    a length have no part in it.
    """

    of_rows: Figure
    of_lengths: Figure


def _as_scored(scores: pl.DataFrame | Scored) -> Scored:
    return scores if isinstance(scores, Scored) else Scored(scores)


def figures(
    scored: Scored, metric: str, codes: Whole, count: int, weights: Floats | None = None, kept: Any = None
) -> list[Figure]:
    """A figure for each code below `count`. `kept`: the only rows that count; `weights`: how much each does."""
    return _figures(scored, [metric], codes, count, weights, kept)[0]


def _figures(
    scored: Scored,
    metrics: Sequence[str],
    codes: Whole,
    count: int,
    weights: Floats | None = None,
    kept: Any = None,
) -> list[list[Figure]]:
    """The figures of several metrics, a list for each: rows are brought together once for all that score the same."""
    import numpy as np

    needles, haystacks = scored.factor("needle_id").codes, scored.factor("haystack_id").codes
    unanswered = scored.unanswered

    def of(rows: NDArray[Any], wanted: Any) -> NDArray[Any]:
        return rows if wanted is None else rows[wanted]

    codes, needles, haystacks = of(codes, kept), of(needles, kept), of(haystacks, kept)
    weights = None if weights is None else of(weights, kept)
    rows = np.bincount(codes, minlength=count).tolist()
    silent = np.bincount(codes[of(unanswered, kept)], minlength=count).tolist()
    found: dict[str, list[Figure]] = {}
    for alike in _scoring_the_same(scored, metrics):
        has = of(scored.values(alike[0])[1], kept)
        some = None if has.all() else has
        clusters = Clusters(
            of(codes, some), count, of(needles, some), of(haystacks, some),
            None if weights is None else of(weights, some),
        )  # fmt: skip
        known: dict[int, list[Figure]] = {}
        for metric in alike:
            values = scored.values(metric)[0]
            if id(values) not in known:
                intervals = means(clusters, of(of(values, kept), some), scored.resamples)
                known[id(values)] = [_figure(*item) for item in zip(rows, silent, intervals, strict=True)]
            found[metric] = known[id(values)]
    return [found[metric] for metric in metrics]


def _scoring_the_same(scored: Scored, metrics: Sequence[str]) -> list[list[str]]:
    """Metrics by the rows that have a score."""
    alike: dict[int, list[str]] = {}
    for metric in dict.fromkeys(metrics):
        alike.setdefault(id(scored.values(metric)[1]), []).append(metric)
    return list(alike.values())


def _figure(rows: int, unanswered: int, found: Interval) -> Figure:
    return Figure(rows, found.n, unanswered, found.mean, found.low, found.high, found.method)


def _figure_schema() -> dict[str, pl.DataType]:
    import polars as pl

    whole, points = pl.Int64(), pl.Float64()
    return {
        "rows": whole, "n": whole, "unanswered": whole, "mean": points, "low": points, "high": points,
        "method": pl.String(),
    }  # fmt: skip


def _crossed(*factors: Factor) -> tuple[list[tuple[Any, ...]], Whole]:
    """The combinations of coordinates that there are, sorted, and each row's index among them."""
    import numpy as np

    keys = np.zeros(len(factors[0].codes), np.int64)
    for factor in factors:
        keys = keys * max(len(factor.values), 1) + factor.codes
    if not len(keys):
        return [], keys
    found, codes = distinct(keys, math.prod(max(len(factor.values), 1) for factor in factors))
    combinations = []
    for key in found.tolist():
        places = []
        for factor in reversed(factors):
            key, place = divmod(key, len(factor.values))
            places.append(factor.values[place])
        combinations.append(tuple(reversed(places)))
    return combinations, codes


def cells(scores: pl.DataFrame | Scored, metric: str = "score") -> pl.DataFrame:
    """Length x depth, over all languages together (language null), then for each language if there are several.

    Columns: language, length, depth_percent and a figure's. Rows whose language is not given are in the former alone.
    """
    return _cells(_as_scored(scores), [metric])[0]


def _cells(scored: Scored, metrics: Sequence[str]) -> list[pl.DataFrame]:
    import numpy as np
    import polars as pl

    length, depth, language = (scored.factor(name) for name in ("length", "depth_percent", "language"))
    combinations, codes = _crossed(length, depth)
    lines = [
        [(None, *names, *figure) for names, figure in zip(combinations, found, strict=True)]
        for found in _figures(scored, metrics, codes, len(combinations))
    ]
    named = [name for name in language.values if name is not None]
    if len(named) > 1:
        apart, codes = _crossed(language, length, depth)
        # None sorts last, so what has a language comes first.
        count = sum(names[0] is not None for names in apart)
        kept = None if count == len(apart) else np.flatnonzero(codes < count)
        for listed, found in zip(lines, _figures(scored, metrics, codes, count, kept=kept), strict=True):
            listed += [(*names, *figure) for names, figure in zip(apart[:count], found, strict=True)]
    schema = {
        "language": pl.String(), "length": pl.Int64(), "depth_percent": pl.Float64(), **_figure_schema(),
    }  # fmt: skip
    return [pl.DataFrame(listed, schema=schema, orient="row") for listed in lines]


def groups(scores: pl.DataFrame | Scored, metric: str = "score") -> pl.DataFrame:
    """Figures by each of GROUPS: group, value (as text) and a figure's columns. Groups that no row has are left out.

    The rows of every group add up to all rows; those without a value come last, with a null one.
    """
    import polars as pl

    scored = _as_scored(scores)
    lines: list[tuple[Any, ...]] = []
    for name, found in _groups(scored, [metric]).items():
        lines += [
            (name, _text(value), *figure) for value, figure in zip(scored.factor(name).values, found[0], strict=True)
        ]
    return pl.DataFrame(
        lines, schema={"group": pl.String(), "value": pl.String(), **_figure_schema()}, orient="row"
    )  # fmt: skip


def _groups(scored: Scored, metrics: Sequence[str]) -> dict[str, list[list[Figure]]]:
    """For each of GROUPS that rows have, and each metric, a figure of every value."""
    factors = {name: scored.factor(name) for name in GROUPS}
    return {
        name: _figures(scored, metrics, factor.codes, len(factor.values))
        for name, factor in factors.items()
        if any(value is not None for value in factor.values)
    }


def _text(value: Any) -> str | None:
    """A coordinate in words; numbers without a trailing .0."""
    if value is None or isinstance(value, str):
        return value
    return str(int(value)) if value == int(value) else repr(float(value))


def overall(scores: pl.DataFrame | Scored, metric: str = "score") -> Overall:
    """The mean of all rows, and the mean of the lengths' means."""
    return _overall(_as_scored(scores), [metric])[0]


def _overall(scored: Scored, metrics: Sequence[str]) -> list[Overall]:
    import numpy as np

    size = scored.frame.height
    length = scored.factor("length")
    combinations, codes = _crossed(length, scored.factor("depth_percent"))
    kept = np.flatnonzero(length.codes < sum(value is not None for value in length.values))
    one = np.zeros(size, np.int64)
    of_rows = _figures(scored, metrics, one, 1)
    of_lengths: dict[str, Figure] = {}
    for alike in _scoring_the_same(scored, metrics):
        has = scored.values(alike[0])[1]
        n = np.bincount(codes[has], minlength=len(combinations)).tolist()
        lengths: dict[int, list[int]] = {}
        for cell, names in enumerate(combinations):
            if names[0] is not None and n[cell]:
                lengths.setdefault(names[0], []).append(cell)
        scored_rows = sum(n[cell] for found in lengths.values() for cell in found)
        # What a row counts, so that all together count as many as there are: rows of small cells and short lists more.
        shares = np.zeros(len(combinations))
        for found in lengths.values():
            for cell in found:
                shares[cell] = scored_rows / (len(lengths) * len(found) * n[cell])
        for metric, (whole,) in zip(alike, _figures(scored, alike, one, 1, shares[codes], kept), strict=True):
            if lengths:
                totals = np.bincount(codes[has], scored.values(metric)[0][has], minlength=len(combinations)).tolist()
                by_length = [
                    math.fsum(totals[cell] / n[cell] for cell in found) / len(found) for found in lengths.values()
                ]
                mean = math.fsum(by_length) / len(by_length)
                ends = [end for end in (whole.low, whole.high, mean) if end is not None]
                whole = whole._replace(mean=mean, low=min(ends), high=max(ends))
            of_lengths[metric] = whole
    return [Overall(rows[0], of_lengths[metric]) for metric, rows in zip(metrics, of_rows, strict=True)]


def needle_recall(scores: pl.DataFrame | Scored) -> pl.DataFrame:
    """How often the first, second, ... needle of rows with several was found: position (from 1) and a figure's columns.

    A missing answer counts for as many needles as other rows of its needle_id have: as none of them found where missing
    rows score 0. It counts nowhere if no row of its needle_id was answered. A needle that holds no keyword (all but the
    last of a chain) has rows and no n.
    """
    import numpy as np
    import polars as pl

    scored = _as_scored(scores)
    schema = {"position": pl.Int64(), **_figure_schema()}
    if "keyword.needles" not in scored.frame.columns or not scored.frame["keyword.needles"].count():
        return pl.DataFrame(schema=schema)
    verdicts = scored.frame["keyword.needles"].to_list()
    missing = (scored.frame["status"] == "missing").to_list()
    keyword = scored.frame["keyword"].to_list()
    sets = list(zip(scored.factor("task").codes.tolist(), scored.factor("needle_id").codes.tolist(), strict=True))
    known = {name: found for name, found in zip(sets, verdicts, strict=True) if found is not None}
    rows, positions, values = [], [], []
    for row, (name, found) in enumerate(zip(sets, verdicts, strict=True)):
        if found is None and missing[row] and name in known:
            zero = None if keyword[row] is None else False
            found = [None if hit is None else zero for hit in known[name]]
        for position, hit in enumerate(found or ()):
            rows.append(row)
            positions.append(position)
            values.append(None if hit is None else 100.0 * hit)
    if not rows:
        return pl.DataFrame(schema=schema)
    count = max(positions) + 1
    place, codes = np.array(rows), np.array(positions)
    recalls = _figures_of(scored, values, place, codes, count)
    return pl.DataFrame([(k, *figure) for k, figure in enumerate(recalls, 1)], schema=schema, orient="row")


def _figures_of(scored: Scored, values: Sequence[float | None], place: Whole, codes: Whole, count: int) -> list[Figure]:
    """Figures of values that are not a column of the frame; `place`: the row that each belongs to."""
    import numpy as np

    has = np.array([value is not None for value in values])
    rows = np.bincount(codes, minlength=count).tolist()
    silent = np.bincount(codes[scored.unanswered[place]], minlength=count).tolist()
    scores = np.array([value for value in values if value is not None], np.float64)
    needles, haystacks = (scored.factor(name).codes[place][has] for name in ("needle_id", "haystack_id"))
    found = grouped(codes[has], count, scores, needles, haystacks, scored.resamples)
    return [_figure(*item) for item in zip(rows, silent, found, strict=True)]


class EffectiveLength(NamedTuple):
    """The longest length at which the mean score still reaches a threshold (points).

    `length`: the longest that does (RULER); `longest_unbroken`: the longest up to which all do; null if none does.
    `base`: the best mean among `base_lengths`, of which the threshold is a share; null where it is a number by itself.
    `base_is_short`: whether those are lengths up to 1,000 tokens, as NoLiMa has it, or the shortest for want of one.
    `next_length`, `told_apart`: the first length after `length`, and whether the threshold lies outside its interval;
    if it does not, the rows do not tell which of the two the effective length is. Null where there is none after it.
    `lengths`: every length and its figure. `without_length`: rows that have no part in this.
    """

    threshold: float | None
    length: int | None
    longest_unbroken: int | None
    base: float | None
    base_lengths: tuple[int, ...]
    base_is_short: bool | None
    next_length: int | None
    told_apart: bool | None
    lengths: tuple[tuple[int, Figure], ...]
    without_length: int


def effective_length(
    scores: pl.DataFrame | Scored,
    metric: str = "score",
    *,
    threshold: float | None = None,
    share_of_base: float | None = None,
    base_lengths: Sequence[int] | None = None,
) -> EffectiveLength:
    """The effective length by a threshold (RULER's 85.6 if none is given), or by a share of the base (NoLiMa: 0.85).

    The base is the best mean among `base_lengths`, by default those up to 1,000 tokens, or the shortest if none is.
    Raises ScoreError for both a threshold and a share, and for base lengths of which no row has a score.
    """
    scored = _as_scored(scores)
    if threshold is not None and share_of_base is not None:
        raise ScoreError("an effective length is by a threshold or by a share of the base, not by both")
    factor = scored.factor("length")
    found = figures(scored, metric, factor.codes, len(factor.values))
    return _effective(list(zip(factor.values, found, strict=True)), threshold, share_of_base, base_lengths)


def _effective(
    found: Sequence[tuple[int | None, Figure]],
    threshold: float | None = None,
    share_of_base: float | None = None,
    base_lengths: Sequence[int] | None = None,
) -> EffectiveLength:
    """The effective length by the figures of the lengths, null among them."""
    lengths = tuple((int(length), figure) for length, figure in found if length is not None)
    without = sum(figure.rows for length, figure in found if length is None)
    means = {length: figure.mean for length, figure in lengths if figure.mean is not None}
    base, used, short = None, tuple[int, ...](), None
    if share_of_base is not None:
        used, short = _base_lengths(means, base_lengths)
        base = max((means[length] for length in used), default=None)
        threshold = None if base is None else share_of_base * base
    elif threshold is None:
        threshold = RULER_THRESHOLD
    # The mean of rows that all score 85.6 may come out a last digit below it.
    least = math.inf if threshold is None else threshold - 1e-9
    passed = [length for length, mean in means.items() if mean >= least]
    length = max(passed, default=None)
    unbroken = None
    for size, figure in lengths:
        if figure.mean is None or figure.mean < least:
            break
        unbroken = size
    after = next(((size, figure) for size, figure in lengths if length is None or size > length), None)
    apart = None
    if after is not None and threshold is not None and after[1].low is not None and after[1].high is not None:
        apart = not after[1].low <= threshold <= after[1].high
    return EffectiveLength(
        threshold, length, unbroken, base, used, short, after[0] if after else None, apart, lengths, without
    )


def _base_lengths(means: dict[int, float], asked: Sequence[int] | None) -> tuple[tuple[int, ...], bool | None]:
    """The lengths that the base is taken from, and whether all are short."""
    if asked is not None:
        lost = sorted(set(asked) - set(means))
        if lost:
            raise ScoreError(f"base lengths: no row of length {lost[0]} has a score")
        return tuple(sorted(set(asked))), all(length <= _LONGEST_BASE for length in asked)
    if not means:
        return (), None
    short = tuple(length for length in sorted(means) if length <= _LONGEST_BASE)
    return (short, True) if short else ((min(means),), False)


def opencompass_summary(scores: pl.DataFrame | Scored, metric: str, model: str) -> str:
    """The scores as CSV in OpenCompass's layout, which its tools_needleinahaystack.py plots.

    dataset, version, metric, mode, <model>; a line for each task, language, length and depth, named like
    Length1000Depth0_origin_zh_8k (origin is its word for a single needle, 8k the longest length), the mean with two
    decimals as OpenCompass writes it. The tool takes a cell for the mean of its lines. An empty field is a cell without
    scores. Rows without length or depth have no name there and are left out.
    """
    import numpy as np

    scored = _as_scored(scores)
    combinations, codes = _crossed(*(scored.factor(name) for name in ("task", "language", "length", "depth_percent")))
    values, has = scored.values(metric)
    n = np.bincount(codes[has], minlength=len(combinations)).tolist()
    totals = np.bincount(codes[has], values[has], minlength=len(combinations)).tolist()
    longest = max((names[2] for names in combinations if names[2] is not None), default=0)
    size = f"{longest // 1000}k" if longest % 1000 == 0 else str(longest)
    text = io.StringIO()
    lines = csv.writer(text, lineterminator="\n")
    # A spreadsheet takes what begins like this for a formula.
    lines.writerow(["dataset", "version", "metric", "mode", f"'{model}" if model[:1] in "=+-@\t\r" else model])
    for (task, language, length, depth), count, total in zip(combinations, n, totals, strict=True):
        if length is None or depth is None:
            continue
        kind = "origin" if task in (None, "single") else task
        name = "_".join(part for part in (f"Length{length}Depth{_text(depth)}", kind, language, size) if part)
        lines.writerow([name, "-", metric, "gen", f"{total / count:.2f}" if count else ""])
    return text.getvalue()


def summary(scores: pl.DataFrame | Scored, metrics: Sequence[str] = ("score",)) -> dict[str, Any]:
    """All figures but the cells, as a dict that makes the same JSON whatever the order of the rows; null for no number.

    rows = the sum over statuses = the sum over findings (`not_applicable`: rows without keywords).
    """
    scored = _as_scored(scores)
    frame = scored.frame
    statuses, findings = (_counted(frame[name], known) for name, known in (("status", STATUSES), ("finding", FINDINGS)))
    assert sum(statuses.values()) == sum(findings.values()) == frame.height
    return {
        "findings": findings,
        "metrics": _metric_summaries(scored, sorted(set(metrics))),
        "needle_recall": needle_recall(scored).to_dicts(),
        "rows": frame.height,
        "statuses": statuses,
    }


def cells_of(scores: pl.DataFrame | Scored, metrics: Sequence[str]) -> pl.DataFrame:
    """The cells of several metrics, one after the other, with the column `metric` before them."""
    import polars as pl

    named = zip(metrics, _cells(_as_scored(scores), metrics), strict=True)
    return pl.concat([frame.insert_column(0, pl.lit(name).alias("metric")) for name, frame in named])


def _counted(column: pl.Series, known: Sequence[str]) -> dict[str, int]:
    counts = dict.fromkeys(known, 0)
    for value, count in column.value_counts().iter_rows():
        counts["not_applicable" if value is None else value] = count
    return dict(sorted(counts.items()))


def _metric_summaries(scored: Scored, metrics: Sequence[str]) -> dict[str, Any]:
    wholes, by_group = _overall(scored, metrics), _groups(scored, metrics)
    length = scored.factor("length").values
    summaries = {}
    for place, (metric, whole) in enumerate(zip(metrics, wholes, strict=True)):
        # Where no row has a length, all are those of the null one.
        of_lengths = by_group["length"][place] if "length" in by_group else [whole.of_rows] * len(length)
        by_length = list(zip(length, of_lengths, strict=True))
        summaries[metric] = {
            "effective_length": {
                "nolima": _plain(_effective(by_length, share_of_base=NOLIMA_SHARE)),
                "ruler": _plain(_effective(by_length)),
            },
            "groups": {
                name: [
                    dict(sorted({"value": _text(value), **figure._asdict()}.items()))
                    for value, figure in zip(scored.factor(name).values, found[place], strict=True)
                ]
                for name, found in sorted(by_group.items())
            },
            "overall": dict(sorted(whole.of_rows._asdict().items())),
            "overall_of_lengths": dict(sorted(whole.of_lengths._asdict().items())),
        }
    return summaries


def _plain(found: EffectiveLength) -> dict[str, Any]:
    """Without the lengths' figures, which the groups hold."""
    plain = {name: list(value) if isinstance(value, tuple) else value for name, value in found._asdict().items()}
    del plain["lengths"]
    return dict(sorted(plain.items()))
