"""Computes means of clustered rows with 95 % intervals, and tests paired differences, for many groups of rows at once.

An interval covers the mean over all needles like these: what another draw of needles would give. Rows of one needle
are correlated, so the interval depends on how much needles differ, and few needles make it wide. The `method` of an
interval names its basis: `clopper-pearson: 6 needles, rough` (fewer than ten are rough), `clopper-pearson: 34 needles,
2 haystacks` where fewer haystacks than needles limit it, `clopper-pearson: 40 rows` where rows do not say which needle
they have and each counts as one. A single needle does not show how much needles differ: there is no such interval, and
the method is `one needle: no interval over needles`. A second interval is for these very needles; its trials are rows.

Variance (`Clusters`). That of a mean is cluster-robust: V = V(needles) + V(haystacks) - V(needle and haystack), but no
less than either of the first two and no less than for independent rows (Cameron, Gelbach and Miller, JBES 29, 2011).
Each V is the sum over clusters of the squared sum of residuals, over n^2, times a factor that makes it unbiased:
k / (k - 1) for k needles with equally many rows. A haystack belongs to one length, and lengths are not drawn at random,
so haystack residuals are taken from the mean of their length; otherwise a score that falls with the length would look
like differences between haystacks. Needles have k - 1 degrees of freedom, where k is the effective number of needles:
1 / sum of squared shares of rows (Kish). Where haystacks have fewer, the two are combined by Satterthwaite's formula
(Biometrics Bulletin 2, 1946); the result lies between them.

Scores (`means`). Clopper and Pearson's interval (Biometrika 26, 1934), with the effective number of right and wrong
rows as n: m (1 - m) / V, for a mean m of variance V, times (z / t)^2, which allows for V being estimated with few
degrees of freedom (E. L. Korn and B. I. Graubard, Surv. Methodol. 24, 1998). Two bounds on n apply where V is a poor
estimate:

- At least k, the number of needles: no scores from 0 to 100 vary more than needles that are all right or all wrong.
- At most k x w, where w is the number of wrong rows (of right ones, if fewer, and at least 1): without wrong rows
  nothing shows how much needles differ, and each needle is one trial. So k needles without a fault have the interval
  of k out of k, however many rows each has. Graded scores count as the rows that would vary as much.

Weighted means of parts (`weighted_means`). The parts of a dataset are no sample: another draw of needles would bring
other needles of the same parts, with the same weights, so differences between parts widen no interval. It is combined
from those of the parts' means by the square-and-add rule (G. Y. Zou and A. Donner, Stat. Med. 27, 2008; R. G. Newcombe,
Stat. Med. 17, 1998): the distance of the low end from the weighted mean is the root of the sum of the squares of each
part's share times its own distance from mean to low end; the same for the high end. A part with a single needle could
be anywhere from 0 to 100 with other needles, and counts with those ends. The rule assumes independent parts. If they
share needles or haystacks, the distance to both ends is multiplied by the root of T / D, if that is above 1. T is the
sum over needles of the squared sums of residuals; D is the same with the rows that a needle has in two parts counted as
two needles. Residuals are taken from the mean of their part; for haystacks, of their part and length.

Differences (`differences`). Student's t of the mean difference over V^(1/2), with the degrees of freedom of V: with
equally many rows per needle it is the paired t-test of the needles' means. The interval uses the same t, so it excludes
0 exactly where p is below 0.05. V counts one extra row without a difference: three rows that all fell prove nothing.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from statistics import NormalDist
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]
# Numbers from 0, of groups, needles, haystacks and so on.
Codes = NDArray[np.integer[Any]]
Joined = tuple[tuple[Codes, Codes], Codes]

CONFIDENCE = 0.95
# Intervals over fewer needles are called rough.
ENOUGH_NEEDLES = 10
ROUGH = ", rough"
ONE_NEEDLE = "one needle: no interval over needles"
NO_TEST = "one needle: no test"
# Ends are rounded to a millionth of a point, which hides differences between processors in the last digits.
_DECIMALS = 6


class Figure(NamedTuple):
    """A mean with its intervals, in points, and its counts of rows.

    `rows`: all of the group; `n`: those with a score; `unanswered`: those of status missing, error or empty. `low`,
    `high`: the interval for needles like these, null if there is one needle. `low_these`, `high_these`: the interval
    for these very needles. `method`: what the intervals are based on. Without scores, mean and ends are null.
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


NOTHING = Figure(0, 0, 0, None, None, None, "none")


class Spread(NamedTuple):
    """The mean of each group and its variance, with `df` degrees of freedom.

    `rows_variance`: the variance if rows were independent.
    """

    mean: Floats
    variance: Floats
    rows_variance: Floats
    df: Floats


class Clusters:
    """Rows in groups, with the needle, haystack and length of each: found once for all metrics of the same rows.

    `group`, `needle`, `haystack`, `length`: codes of each row, from 0. `count`: the number of groups. `weight`: of each
    row in its group's mean, above 0. `unnamed`: which rows do not say which needle they have; each has a needle of its
    own.
    """

    def __init__(
        self,
        group: Codes,
        count: int,
        needle: Codes,
        haystack: Codes,
        length: Codes | None = None,
        weight: Floats | None = None,
        unnamed: Mask | None = None,
    ) -> None:

        self.group, self.count = group, count
        self.weight = np.ones(len(group)) if weight is None else weight
        length = np.zeros(len(group), np.int64) if length is None else length
        self.n = np.bincount(group, minlength=count)
        kinds = (needle, haystack, length, joined(needle, haystack)[1], joined(haystack, length)[1])
        parts = [joined(group, codes) for codes in kinds]
        self.needle, self.haystack, self.stratum, self.both, _ = parts
        self.needles, haystacks, strata, both, nested = (np.bincount(of, minlength=count) for (of, _), _ in parts)
        named = group if unnamed is None else group[~unnamed]
        self.unnamed = np.bincount(named, minlength=count) == 0
        # Residuals of haystacks are taken from as many means as a group has lengths, if no haystack is in several.
        levels = np.where(nested > haystacks, 1, strata)
        self.haystack_df = np.maximum(haystacks - levels, 0)
        self._of_haystacks, self._of_both = _unbiased(haystacks, levels), _unbiased(both, levels)
        with np.errstate(divide="ignore", invalid="ignore"):
            self.total = np.bincount(group, self.weight, count)
            self.even_rows = self.total**2 / np.bincount(group, self.weight**2, count)
            (of, _), at = self.needle
            shares = np.bincount(at, self.weight) / self.total[of]
            second, third = (np.bincount(of, shares**power, count) for power in (2, 3))
            self.even_needles = 1 / second
            # The expected sum of squared residuals if only needles, not rows, vary by chance.
            expected = second - 2 * third + second**2
            self._of_needles = np.where((self.needles > 1) & (expected > 0), second / expected, 0.0)

    def squares(self, parts: Joined, values: Floats) -> Floats:
        """For each group, the sum over some parts of its rows of the squared sum of their values."""
        (of, _), at = parts
        return np.bincount(of, np.bincount(at, values, len(of)) ** 2, self.count).astype(np.float64, copy=False)

    def residuals(self, values: Floats, mean: Floats) -> tuple[Floats, Floats]:
        """How far each value is from its group's mean, and from the mean of its group at its length."""

        at = self.stratum[1]
        of_strata = np.bincount(at, self.weight * values) / np.bincount(at, self.weight)
        return values - mean[self.group], values - of_strata[at]

    def spread(self, values: Floats) -> Spread:
        """The means of some values and their variances; NaN for a group without rows."""
        with np.errstate(divide="ignore", invalid="ignore"):
            mean = np.bincount(self.group, self.weight * values, self.count) / self.total
            ours, of_length = (self.weight * apart for apart in self.residuals(values, mean))
            rows = np.bincount(self.group, ours**2, self.count)
            rows_variance = rows / self.total**2 * _unbiased(self.n, np.minimum(self.n, 1))
            needles = self.squares(self.needle, ours) * self._of_needles
            haystacks = self.squares(self.haystack, of_length) * self._of_haystacks
            both = self.squares(self.both, of_length) * self._of_both
            clustered = np.maximum(np.maximum(needles, haystacks), needles + haystacks - both)
            most = np.maximum(self.even_needles - 1, 1.0)
            together = clustered**2 / (needles**2 / most + haystacks**2 / self.haystack_df)
            # Where the sums of clusters are all 0, their squares are mere rounding errors: only rows differ.
            fewer = (self.haystack_df > 0) & (self.haystack_df < most) & (clustered > 1e-12 * rows)
            df = np.where(fewer, np.clip(together, self.haystack_df, most), most)
            return Spread(mean, np.maximum(clustered / self.total**2, rows_variance), rows_variance, df)


def distinct(keys: Codes) -> tuple[Codes, Codes]:
    """The distinct keys, sorted, and each key's index among them."""
    size = int(keys.max(initial=0)) + 1
    if size <= 8 * len(keys) + 1_000:
        # With few possible keys, a table is faster than sorting.
        seen = np.zeros(size, np.bool_)
        seen[keys] = True
        return np.flatnonzero(seen), (np.cumsum(seen, dtype=np.int32) - 1)[keys]
    return np.unique(keys, return_inverse=True)


def joined(one: Codes, other: Codes) -> Joined:
    """The distinct pairs of two codes of each row, sorted, as two columns; and the number of each row's pair."""
    size = int(other.max(initial=0)) + 1
    present, place = distinct(one.astype(np.int64) * size + other)
    return np.divmod(present, size), place


def _unbiased(clusters: Codes, means: Codes) -> Floats:
    """k / (k - m) for k clusters whose residuals are taken from m means; 0 where k - m is 0."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(clusters > means, clusters / (clusters - means), 0.0)


def clopper_pearson(share: Floats, n: Floats) -> tuple[Floats, Floats]:
    """The ends of Clopper and Pearson's interval for a share of n rows that are right, all 0 to 1; n need not be whole.

    For x right rows: quantiles of the beta distributions (x, n - x + 1) and (x + 1, n - x).
    """
    from scipy.special import betaincinv

    tail = (1 - CONFIDENCE) / 2
    right, wrong = share * n, (1 - share) * n
    # If practically nothing is right or wrong, the end on that side is 0 or 1.
    low = np.where(right > 1e-9, betaincinv(right, wrong + 1, tail), 0.0)
    high = np.where(wrong > 1e-9, betaincinv(right + 1, wrong, 1 - tail), 1.0)
    return low, high


def t_quantile(df: Floats) -> Floats:
    """The t within which 95 % of Student's t distribution lies, on both sides of 0."""
    from scipy.special import stdtrit

    reach: Floats = stdtrit(df, (1 + CONFIDENCE) / 2)
    return reach


def means(rows: Clusters, values: Floats) -> list[Figure]:
    """The mean of every group, with its intervals. `values`: a score from 0 to 100 for each row, all of which count."""
    return _of_scores(rows, rows.spread(values))


def weighted_means(rows: Clusters, parts: Clusters, values: Floats, each: Floats) -> list[Figure]:
    """The mean of every group, weighted by part; a group with a single part has that part's mean and intervals.

    `rows`: the rows in groups; `parts`: the same rows, in the parts of the groups. `each`: the weight of each row by
    its part, equal within a part; rows weigh that times `parts.weight`.
    """
    spread = parts.spread(values)
    group, weights = np.zeros(parts.count, np.int64), each * parts.weight
    group[parts.group] = rows.group
    wider = np.ones(rows.count)
    clusters = zip((rows.needle, rows.haystack), (parts.needle, parts.haystack), strict=True)
    for (shared, own), apart in zip(clusters, parts.residuals(values, spread.mean), strict=True):
        together = rows.squares(shared, weights * apart)
        alone = np.bincount(group, parts.squares(own, weights * apart), rows.count)
        # Residuals of equal values are mere rounding errors.
        some = alone > 1e-9 * max(float(alone.max(initial=0.0)), 1e-9)
        wider = np.maximum(wider, np.where(some, together / np.where(some, alone, 1.0), 1.0))
    of_group: list[list[tuple[float, Figure]]] = [[] for _ in range(rows.count)]
    shares = np.bincount(parts.group, weights, parts.count).tolist()
    for place, share, figure in zip(group.tolist(), shares, _of_scores(parts, spread), strict=True):
        of_group[place].append((share, figure))
    return [_combined(named, by) for named, by in zip(of_group, np.sqrt(wider).tolist(), strict=True)]


def _combined(parts: Sequence[tuple[float, Figure]], wider: float) -> Figure:
    """The mean of some parts, each with its weight. `wider`: the factor for the interval over needles."""
    if len(parts) < 2:
        return parts[0][1] if parts else NOTHING
    total = math.fsum(weight for weight, _ in parts)
    known = [(weight / total, one.mean or 0.0, one._asdict()) for weight, one in parts]
    mean = math.fsum(share * middle for share, middle, _ in known)
    ends = {}
    for name in ("low", "high", "low_these", "high_these"):
        most, outer, sign = (0.0, min, -1) if name.startswith("low") else (100.0, max, 1)
        far = [share * ((most if one[name] is None else one[name]) - middle) for share, middle, one in known]
        end = mean + sign * math.hypot(*far) * (1.0 if name.endswith("these") else wider)
        ends[name] = outer(round(min(max(end, 0.0), 100.0), _DECIMALS), mean)
    rough = ROUGH if any(one.method.endswith(ROUGH) or one.method == ONE_NEEDLE for _, one in parts) else ""
    n = sum(one.n for _, one in parts)
    return Figure(n, n, 0, mean, method=f"square-and-add: {len(parts)} parts{rough}", **ends)


def _of_scores(rows: Clusters, spread: Spread) -> list[Figure]:
    """The figure of each group, with Clopper and Pearson's intervals for as many rows as tell as much as the group."""
    z = NormalDist().inv_cdf((1 + CONFIDENCE) / 2)
    share = np.clip(spread.mean / 100, 0, 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        # Residuals of equal values are mere rounding errors.
        rows_variance = np.where(spread.rows_variance < 1e-18, 0.0, spread.rows_variance) / 1e4
        variance = np.where(rows_variance > 0, spread.variance / 1e4, 0.0)
        # The rows that are right, or wrong if those are fewer; for graded scores, the rows that would vary as much.
        alike = np.where(rows_variance > 0, share * (1 - share) / (rows_variance * (rows.n - 1)), 0.0)
        fewer = np.maximum(rows.n * np.minimum(share, 1 - share) * alike, 1)
        haystacks = np.where(rows.haystack_df > 0, rows.haystack_df + 1.0, np.inf)
        ends = []
        for of_mean, df, most, least in (
            (variance, spread.df, rows.even_needles, np.minimum(rows.even_needles, haystacks)),
            (rows_variance, np.maximum(rows.even_rows - 1, 1.0), rows.even_rows, rows.even_rows),
        ):
            worth = np.where(of_mean > 0, share * (1 - share) / of_mean, np.inf) * (z / t_quantile(df)) ** 2
            n = np.maximum(np.maximum(np.minimum(worth, most * fewer), least), 1e-9)
            ends.append(clopper_pearson(share, n))
    return _figures("clopper-pearson", rows, spread, 100 * np.array(ends))


def differences(rows: Clusters, values: Floats) -> list[dict[str, Any]]:
    """Every group's mean of differences (second minus first, -100 to 100), with its intervals and p, as files hold it.

    `n` of the `rows` have a score in both runs; here all. `p`: of a mean at least as far from 0; it, `low` and `high`
    are for needles like these, null if n is 0 or there is one needle; `low_these`, `high_these` for these very needles.
    `test`: what interval and p are based on. `adjusted`: p adjusted for the differences that are reported together.
    `noise`: the interval contains 0, or `adjusted` is not below 0.05; true if there is neither. Whoever reports several
    sets these two.
    """
    from scipy.special import stdtr

    spread = rows.spread(values)
    with np.errstate(divide="ignore", invalid="ignore"):
        more = np.maximum(rows.even_rows - 1, 1.0)
        alone = spread.rows_variance + spread.mean**2 / np.maximum(rows.even_rows * more, 1.0)
        over, these = np.sqrt(np.maximum(spread.variance, alone)), np.sqrt(alone)
        reach = np.array([t_quantile(spread.df) * over, t_quantile(more) * these])
        chances = np.where(spread.mean == 0, 1.0, 2 * stdtr(spread.df, -np.abs(spread.mean) / over))
    ends = np.clip(np.stack([spread.mean - reach, spread.mean + reach], axis=1), -100, 100)
    several = []
    for one, chance in zip(_figures("t", rows, spread, ends), chances.tolist(), strict=True):
        p = None if one.low is None else float(f"{chance:.9g}")
        test = NO_TEST if one.method == ONE_NEEDLE else one.method
        several.append(
            {
                "rows": one.n, "n": one.n, "mean": one.mean, "low": one.low, "high": one.high, "p": p, "adjusted": p,
                "test": test, "noise": True, "low_these": one.low_these, "high_these": one.high_these,
            }
        )  # fmt: skip
    return several


def _figures(name: str, rows: Clusters, spread: Spread, ends: Floats) -> list[Figure]:
    """The figures of groups. `ends`: low and high, over needles and for these; rounded, but not across the mean."""
    low, high = np.round(ends, _DECIMALS).swapaxes(0, 1)
    low, high = np.minimum(low, spread.mean), np.maximum(high, spread.mean)
    columns = (rows.n, spread.mean, rows.needles, rows.haystack_df, spread.df, rows.unnamed, *low, *high)
    figures = []
    for n, mean, needles, haystack_df, df, unnamed, over, these, to, to_these in zip(
        *(column.tolist() for column in columns), strict=True
    ):
        limits = f", {haystack_df + 1} haystacks" if 0 < haystack_df < needles - 1 else ""
        # Needles with nearly equal numbers of rows have nearly their number less one degrees of freedom.
        rough = ROUGH if df <= ENOUGH_NEEDLES - 1.5 and (limits or not unnamed) else ""
        drawn = f"row{'s' * (needles != 1)}" if unnamed else "needles"
        one = Figure(n, n, 0, mean, over, to, f"{name}: {needles} {drawn}{limits}{rough}", these, to_these)
        if needles == 1 and not unnamed:
            one = one._replace(low=None, high=None, method=ONE_NEEDLE)
        figures.append(one if n else NOTHING)
    return figures


def interval_text(figure: Mapping[str, Any]) -> str:
    """The 95 % interval of a mean, [low, high]; for a mean at an end, both intervals, as they differ most there."""

    def ends(low: float | None, high: float | None) -> str:
        return "" if low is None or high is None else f"[{low:.2f}, {high:.2f}]"

    mean, low, high = (figure.get(name) for name in ("mean", "low", "high"))
    over, these = ends(low, high), ends(figure.get("low_these"), figure.get("high_these"))
    if mean is None:
        return "no interval"
    if not over:
        return f"{these} of this needle alone" if these else "no interval"
    return f"{over}, of these needles {these}" if mean in (low, high) and these not in ("", over) else over


def needles_note(method: str) -> str | None:
    """A sentence (without a full stop) on too few needles, from the method of an interval; None if there are enough."""
    if method == ONE_NEEDLE:
        return "One needle: intervals are for this one alone and do not show what others would give"
    basis = method.partition(": ")[2]
    if not basis.endswith(ROUGH):
        return None
    if basis.removesuffix(ROUGH).endswith(" parts"):
        return f"{basis.removesuffix(ROUGH)}: those with fewer than ten needles have rough intervals"
    return f"{basis.removesuffix(ROUGH)}: intervals over fewer than ten are rough"
