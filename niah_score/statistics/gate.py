"""Tells a real drop between two runs of the same rows from noise, however often it looks while answers come in.

Rows are paired by id; those of a needle in one language (a world, at all its lengths) are one cluster. The difference
of the runs is the weighted mean of their parts' differences, as in the score. Its variance V is the sum of the parts'
(intervals.py: cluster-robust, with k - 1 degrees of freedom for k needles), of which each counts one extra needle
without a difference; the degrees of freedom are Satterthwaite's. If a needle is in two parts, or a part has a single
one, all rows count as one part, which is safe: parts then look like needles that differ.

While answers come in, the difference over its standard error, times the root of the share of the answers that have
come, moves like Brownian motion (C. Jennison and B. W. Turnbull, JASA 92, 1997), with Student's t turned into a normal
quantile of the same chance at every look. By the principle of reflection, such a path B leaves a bound c before its end
or is beyond a lower bound e at its end with the chance

    P(B(t) >= c for a t <= 1, or B(1) >= e) = P(Z >= e) + P(Z >= 2c - e),       Z standard normal, e <= c

`bounds` splits an error between the two terms, most of it for the end. That is a group-sequential test whose looks need
not be planned, counted or remembered (P. C. O'Brien and T. R. Fleming, Biometrics 35, 1979, with an unlimited number of
looks; K. K. G. Lan and D. L. DeMets, Biometrika 70, 1983): the verdict follows from the answers that are there.

Two paths are watched. Against runs that are equally good, a drop is shown if the difference falls below its bound;
the error is `alarm`. Against a drop of `drop` points, none is shown if the difference plus `drop` rises above its
bound; the error is 1 - `power`. As hardly any answer differs early on, this second test takes V to be at least what the
drop would make it, if rows were right or wrong and needles differed by a logit.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from statistics import NormalDist
from typing import Any, NamedTuple

import numpy as np

from niah_score.statistics.intervals import Clusters, Codes, Floats, Mask, joined
from niah_score.statistics.paired import adjusted, differences_by, holm
from niah_score.statistics.scored import Scored

# How much of an error is spent on the last look, and how much of all alarms on rows without an answer.
_AT_END, SILENT = 0.8, 0.1
# The correlation of rows of a needle whose chances differ by a logit.
_CORRELATION = 0.1735
PASSED, FAILED, UNDECIDED = "passed", "failed", "undecided"


def bounds(error: float) -> tuple[float, float]:
    """How far a path may move by chance: before the last answer, and with it. See the formula above."""
    at_end, mirrored = (NormalDist().inv_cdf(1 - share * error) for share in (_AT_END, 1 - _AT_END))
    return (at_end + mirrored) / 2, at_end


class Shift(NamedTuple):
    """The mean differences of several pairs of runs, in points; an entry for each pair.

    `variance`: of the mean, with `df` degrees of freedom. `least`: that which a drop would bring.
    """

    mean: Floats
    variance: Floats
    df: Floats
    least: Floats


def of_drop(drop: float, rows: Floats, needles: Floats) -> Floats:
    """The variance of a mean difference, if so many points were lost by rows that were right and are wrong."""
    return drop * (100 - drop) / rows * (1 + np.maximum(rows / needles - 1, 0) * _CORRELATION)


def shift(parts: Clusters, values: Floats, pair: Codes, share: Floats, drop: float) -> Shift:
    """The difference of each pair, from those of its parts. `pair`, `share`: the pair and weight of each part.

    `values`: of each row, the second run's score minus the first's. The weights of a pair's parts add up to 1.
    """
    spread, count = parts.spread(values), int(pair.max(initial=0)) + 1
    needles, rows = parts.even_needles, parts.even_rows
    with np.errstate(divide="ignore", invalid="ignore"):
        extra = np.where(spread.mean == 0, 0.0, spread.mean**2 / (needles * (needles - 1)))
        each = (spread.variance + extra) * share**2
        least = of_drop(drop, rows, needles) * share**2
        variance = np.bincount(pair, each, count).astype(np.float64)
        together = variance**2 / np.bincount(pair, each**2 / spread.df, count)
        df = np.where(variance > 0, together, np.bincount(pair, spread.df, count))
        mean, least = (np.bincount(pair, of, count).astype(np.float64) for of in (spread.mean * share, least))
    return Shift(mean, variance, df, least)


def _path(mean: Floats, variance: Floats, df: Floats, seen: Floats) -> Floats:
    """Where the path of each pair stands, after the share `seen` of the answers."""
    from scipy.special import ndtri, stdtr

    with np.errstate(divide="ignore", invalid="ignore"):
        far = np.where(mean == 0, 0.0, np.abs(mean) / np.sqrt(variance))
        path: Floats = -np.sign(mean) * ndtri(stdtr(df, -far)) * np.sqrt(seen)
    return np.where(seen > 0, path, 0.0)


def fallen(of: Shift, seen: Floats, alarm: float) -> Mask:
    """Whether each pair's second run is shown to be worse."""
    early, at_end = bounds(alarm)
    return _path(of.mean, of.variance, of.df, seen) <= -np.where(seen < 1, early, at_end)


def held(of: Shift, seen: Floats, drop: float, power: float) -> Mask:
    """Whether each pair's second run is shown not to have dropped by `drop` points."""
    early, at_end = bounds(1 - power)
    path = _path(of.mean + drop, np.maximum(of.variance, of.least), of.df, seen)
    return path >= np.where(seen < 1, early, at_end)


class Look(NamedTuple):
    """What a gate sees of two runs, in points.

    `held`: whether no such drop is shown; `fell`: whether the second run is shown to be worse, by however little.
    `before`, `after`: the scores of both over the `rows` that both answered. `seen`: the share of all rows, in the
    part, language and length that has the least, that have been answered; `to_come`: the rows that have not. `more`:
    how many more contexts of rows are needed at most, None if unknown; `enough`: whether the dataset has them.
    `lost`: of each run, how often each status that is no answer occurs; `silent`: whether the second run has more of
    them; `shares`: of each run, the percent of the rows asked. `places`: the differences by part and by length.
    """

    held: bool
    fell: bool
    rows: int
    needles: int
    before: float | None
    after: float | None
    seen: float
    to_come: int
    more: int | None
    enough: bool
    silent: bool
    asked: int
    lost: tuple[Mapping[str, int], Mapping[str, int]]
    shares: tuple[float, float]
    places: Mapping[str, list[dict[str, Any]]]

    @property
    def verdict(self) -> str:
        """Of the scores: passed, failed or undecided."""
        return PASSED if self.held else FAILED if self.fell else UNDECIDED


def look(one: Scored, other: Scored, metric: str, *, drop: float, alarm: float, power: float) -> Look:
    """Look at two runs of the same rows, the first one complete.

    Rows that the first run left out (missing, without a score) count nowhere; those that the second left out are still
    to come. A row counts if both runs have an answer to it, or both a truncated one.
    """
    runs = (one, other)
    (base, has_base), (scores, has_scores) = (run.values(metric) for run in runs)
    status = [run.column("status").to_numpy() for run in runs]
    absent = [(of == "missing") & ~has for of, has in zip(status, (has_base, has_scores), strict=True)]
    asked, come = ~absent[0], ~absent[0] & ~absent[1]
    cut = (status[0] == "truncated") & (status[1] == "truncated")
    spoken = [(of == "ok") | cut for of in status]
    both = spoken[0] & spoken[1] & has_base & has_scores
    places, place = one.groups("part", "language", "length")
    all_rows = np.bincount(place[asked], minlength=len(places))
    come_rows = np.bincount(place[come], minlength=len(places))
    seen = float(min(come_rows[all_rows > 0] / all_rows[all_rows > 0], default=0.0))
    share = np.array([seen])
    each = one.weights_among(both)
    apart = scores - base
    found, needles = _shift_of(one, apart, both, each, drop)
    worse = needles > 1 and bool(fallen(found, share, alarm * (1 - SILENT))[0])
    safe = needles > 1 and bool(held(found, share, drop, power)[0])
    quiet, asked_needles = _shift_of(one, 100.0 * spoken[1] - 100.0 * spoken[0], come, None, drop)
    silent = asked_needles > 1 and bool(fallen(quiet, share, alarm * SILENT)[0])
    context = one.column("haystack_id")
    contexts = int(asked.sum()) if context.null_count() else len(np.unique(one.factor("haystack_id").codes[asked]))
    more, enough = _more(found, needles, seen, contexts, drop, alarm * (1 - SILENT), 1 - power)
    sides = {name: differences_by(one, apart, both, each, name) for name in ("part", "length")}
    for side in sides.values():
        adjusted(side, holm)
    weight = np.ones(len(base)) if each is None else each
    means = [float(np.average(of[both], weights=weight[both])) if both.any() else None for of in (base, scores)]
    lost = [Counter(of[come & ~said].tolist()) for of, said in zip(status, spoken, strict=True)]
    shares = [100 * float((come & ~said).sum()) / max(int(come.sum()), 1) for said in spoken]
    return Look(
        safe, worse, int(both.sum()), needles, means[0], means[1], seen, int((asked & ~come).sum()), more, enough,
        silent, int(come.sum()), (lost[0], lost[1]), (shares[0], shares[1]), sides,
    )  # fmt: skip


def _shift_of(rows: Scored, apart: Floats, which: Mask, each: Floats | None, drop: float) -> tuple[Shift, int]:
    """The shift of some rows of a pair, and the number of their needles. `each`: the weights of all rows, by part."""
    _, needle = rows.groups("needle", "language")
    unnamed = rows.column("needle_id").is_null().to_numpy()
    needle = np.where(unnamed, len(needle) + np.arange(len(needle)), needle)[which]
    own = len(np.unique(needle))
    if not own:
        nothing = np.zeros(1)
        return Shift(nothing, nothing, nothing + 1, nothing), 0
    weight = np.ones(len(which)) if each is None else each
    part: Codes = np.zeros(len(needle), np.int64)
    if each is not None:
        (of, _), _ = joined(rows.factor("part").codes[which], needle)
        if len(of) == own and np.bincount(of)[np.unique(of)].min() > 1:
            part = np.unique(rows.factor("part").codes[which], return_inverse=True)[1]
    count = int(part.max()) + 1
    haystack, length = (rows.factor(name).codes[which] for name in ("haystack_id", "length"))
    clusters = Clusters(part, count, needle, haystack, length, weight[which], unnamed[which])
    share = np.bincount(part, weight[which], count)
    return shift(clusters, apart[which], np.zeros(count, np.int64), share / share.sum(), drop), own


def _more(
    of: Shift, needles: int, seen: float, contexts: int, drop: float, alarm: float, missed: float
) -> tuple[int | None, bool]:
    """How many contexts are needed at most beyond those seen, and whether they are among the dataset's `contexts`.

    Both bounds must lie within `drop` points of each other; standard errors shrink with the root of what is seen.
    """
    from scipy.special import stdtrit

    if needles < 2 or not drop or not seen:
        return None, True
    error = math.sqrt(max(float(of.variance[0]), float(of.least[0])) * seen)
    early, at_end = (sum(pair) for pair in zip(bounds(alarm), bounds(missed), strict=True))
    wider = sum(float(stdtrit(of.df[0], 1 - _AT_END * one)) for one in (alarm, missed)) / at_end
    if early * wider * error <= drop:
        return max(1, math.ceil(contexts * (early * wider * error / drop - seen))), True
    if at_end * wider * error <= drop:
        return max(1, math.ceil(contexts * (1 - seen))), True
    return max(1, math.ceil(contexts * ((at_end * wider * error / drop) ** 2 - 1))), False
