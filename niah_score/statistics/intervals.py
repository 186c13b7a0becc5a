"""Computes 95 % intervals of mean scores, for many groups of rows at once, and tests paired differences.

An interval covers the mean over all needles like these: what another draw of needles would give. Rows of one needle
are correlated, so the interval depends on how much needles differ, and few needles make it wide. The `method` of an
interval names its basis: `clopper-pearson: 6 needles, rough` (fewer than ten are rough), `clopper-pearson: 34 needles,
2 haystacks` where fewer haystacks than needles limit it, `clopper-pearson: 40 rows` where rows do not say which needle
they have and each counts as one. A single needle does not show how much needles differ: there is no such interval, and
the method is `one needle: no interval over needles`. A second interval is for these very needles; its trials are rows.

Scores (`means`). Clopper and Pearson's interval (Biometrika 26, 1934), with the effective number of right and wrong
rows as n: m (1 - m) / V, for a mean m of variance V (clusters.py), times (z / t)^2, which allows for V being estimated
with few degrees of freedom (E. L. Korn and B. I. Graubard, Surv. Methodol. 24, 1998). Two bounds on n apply where V is
a poor estimate:

- At least k, the number of needles: no scores from 0 to 100 vary more than needles that are all right or all wrong.
- At most k x w, where w is the number of wrong rows (of right ones, if fewer, and at least 1): without wrong rows
  nothing shows how much needles differ, and each needle is one trial. So k needles without a fault have the interval
  of k out of k, however many rows each has. Graded scores count as the rows that would vary as much.

Differences (`differences`). Student's t of the mean difference over V^(1/2), with the degrees of freedom of V: with
equally many rows per needle it is the paired t-test of the needles' means. The interval uses the same t, so it excludes
0 exactly where p is below 0.05. V counts one extra row without a difference: three rows that all fell prove nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from statistics import NormalDist
from typing import TYPE_CHECKING, NamedTuple, Protocol

from niah_score.statistics.clusters import Clusters, Spread
from niah_score.statistics.quantiles import beta_quantile, t_quantile, t_tail

if TYPE_CHECKING:
    from niah_score.statistics.cluster_sums import Floats

CONFIDENCE = 0.95
# Intervals over fewer needles are called rough.
ENOUGH_NEEDLES = 10
ROUGH = ", rough"
ONE_NEEDLE = "one needle: no interval over needles"
NO_TEST = "one needle: no test"
_Z = NormalDist().inv_cdf((1 + CONFIDENCE) / 2)
# Ends are rounded to a millionth of a point, which hides differences between processors in the last digits.
_DECIMALS = 6


class Interval(NamedTuple):
    """A mean of `n` values, in points (percent), and its intervals, null if n is 0. `method`: see the module.

    `low`, `high`: the interval for needles like these, null if there is one needle. `low_these`, `high_these`: the
    interval for these very needles.
    """

    mean: float | None
    low: float | None
    high: float | None
    n: int
    method: str
    low_these: float | None = None
    high_these: float | None = None


NOTHING = Interval(None, None, None, 0, "none")


class Estimate(Protocol):
    """Anything with a mean and its intervals: an interval, a figure, a difference."""

    @property
    def mean(self) -> float | None: ...
    @property
    def low(self) -> float | None: ...
    @property
    def high(self) -> float | None: ...
    @property
    def low_these(self) -> float | None: ...
    @property
    def high_these(self) -> float | None: ...


def ends_of(estimate: Estimate) -> dict[str, float | None]:
    """The ends of both intervals by name, as JSON files hold them."""
    return {name: getattr(estimate, name) for name in ("high", "high_these", "low", "low_these")}


def clopper_pearson(share: Floats, n: Floats) -> tuple[Floats, Floats]:
    """The ends of Clopper and Pearson's interval for a share of n rows that are right, all 0 to 1; n need not be whole.

    For x right rows: quantiles of the beta distributions (x, n - x + 1) and (x + 1, n - x).
    """
    import numpy as np

    tail = (1 - CONFIDENCE) / 2
    pairs, place = np.unique(np.stack([share * n, (1 - share) * n], axis=1), axis=0, return_inverse=True)
    right, wrong = pairs[:, 0], pairs[:, 1]
    low, high = np.zeros(len(pairs)), np.ones(len(pairs))
    # If practically nothing is right or wrong, the end on that side stays 0 or 1.
    any_right, any_wrong = right > 1e-9, wrong > 1e-9
    ends = beta_quantile(
        np.repeat([tail, 1 - tail], [np.count_nonzero(any_right), np.count_nonzero(any_wrong)]),
        np.concatenate([right[any_right], right[any_wrong] + 1]),
        np.concatenate([wrong[any_right] + 1, wrong[any_wrong]]),
    )
    low[any_right], high[any_wrong] = np.split(ends, [np.count_nonzero(any_right)])
    place = place.reshape(-1)
    return low[place], high[place]


def means(clusters: Clusters, values: Floats) -> list[Interval]:
    """The mean of every group, with its intervals. `values`: a score from 0 to 100 for each row of the clusters."""
    return several_means(clusters, [values])[0]


def several_means(clusters: Clusters, several: Iterable[Floats]) -> list[list[Interval]]:
    """The means of several metrics of the same rows, which are faster computed together; one is held at a time."""
    import numpy as np

    count = clusters.count
    if not clusters.n.any():
        return [[NOTHING] * count for _ in several]
    spreads = [clusters.spread(values) for values in several]
    if not spreads:
        return []
    joined = Spread(*(np.concatenate(column) for column in zip(*spreads, strict=True)))
    share = np.clip(joined.mean / 100, 0, 1)
    # First over needles like these, then over these needles.
    low, high = clopper_pearson(np.concatenate([share, share]), _effective_sizes(joined, share))
    intervals = _as_intervals(joined, 100 * low, 100 * high, "clopper-pearson")
    return [intervals[first : first + count] for first in range(0, len(intervals), count)]


def _effective_sizes(spread: Spread, share: Floats) -> Floats:
    """The number of right and wrong rows that tell as much as each group: over needles, then over these needles.

    `share`: the groups' means, 0 to 1.
    """
    import numpy as np

    # Residuals of equal values are mere rounding errors.
    rows_variance = np.where(spread.rows_variance < 1e-18, 0.0, spread.rows_variance) / 1e4
    variance = np.where(rows_variance > 0, spread.variance / 1e4, 0.0)
    twice = np.concatenate([share, share])
    df = np.concatenate([spread.df, np.maximum(spread.even_rows - 1, 1.0)])
    estimated = _over(twice * (1 - twice), np.concatenate([variance, rows_variance]), np.inf)
    estimated = estimated * (_Z / t_quantile(df, CONFIDENCE)) ** 2
    # The rows that are right, or wrong if those are fewer; for graded scores, the rows that would vary as much.
    alike = _over(share * (1 - share), rows_variance * (spread.weighing - 1), 0.0)
    fewer = np.maximum(spread.weighing * np.minimum(share, 1 - share) * alike, 1)
    most = np.concatenate([spread.even_needles * fewer, spread.even_rows * fewer])
    haystacks = np.where(spread.haystack_df > 0, spread.haystack_df + 1.0, np.inf)
    least = np.concatenate([np.minimum(spread.even_needles, haystacks), spread.even_rows])
    sizes: Floats = np.maximum(np.maximum(np.minimum(estimated, most), least), 1e-9)
    return sizes


def _over(upper: Floats, lower: Floats, otherwise: float) -> Floats:
    """`upper` / `lower`, or `otherwise` where `lower` is 0."""
    import numpy as np

    quotient: Floats = np.where(lower > 0, upper / np.where(lower > 0, lower, 1.0), otherwise)
    return quotient


def differences(clusters: Clusters, values: Floats) -> list[tuple[Interval, float | None]]:
    """The mean of every group of differences, -100 to 100, with its intervals, and p of a mean at least as far from 0.

    p is null if n is 0 or there is one needle.
    """
    import numpy as np

    if not len(values):
        return [(NOTHING, None)] * clusters.count
    spread = clusters.spread(values)
    more_rows = np.maximum(spread.even_rows - 1, 1.0)
    rows = spread.rows_variance + spread.mean**2 / np.maximum(spread.even_rows * more_rows, 1.0)
    errors = np.sqrt(np.maximum(spread.variance, rows)), np.sqrt(rows)
    reach = t_quantile(np.concatenate([spread.df, more_rows]), CONFIDENCE) * np.concatenate(errors)
    t = np.where(spread.mean == 0, 0.0, np.abs(spread.mean) / np.where(errors[0] > 0, errors[0], 1.0))
    p = t_tail(t, spread.df)
    middle = np.concatenate([spread.mean, spread.mean])
    intervals = _as_intervals(spread, np.clip(middle - reach, -100, 100), np.clip(middle + reach, -100, 100), "t")
    return [
        (interval, float(f"{chance:.9g}") if interval.low is not None else None)
        for interval, chance in zip(intervals, p.tolist(), strict=True)
    ]


def _as_intervals(spread: Spread, low: Floats, high: Floats, name: str) -> list[Interval]:
    """The intervals of each group. `low`, `high`: the ends of all groups over needles, then for these needles."""
    import numpy as np

    middle = np.concatenate([spread.mean, spread.mean])
    low = np.minimum(np.round(low, _DECIMALS), middle).reshape(2, -1)
    high = np.maximum(np.round(high, _DECIMALS), middle).reshape(2, -1)
    intervals = []
    columns = (spread.n, spread.mean, low[0], high[0], low[1], high[1])
    for basis, (n, mean, start, end, *these) in zip(
        _bases(spread), zip(*(column.tolist() for column in columns), strict=True), strict=True
    ):
        if not n:
            intervals.append(NOTHING)
        elif basis is None:
            intervals.append(Interval(mean, None, None, n, ONE_NEEDLE, *these))
        else:
            intervals.append(Interval(mean, start, end, n, f"{name}: {basis}", *these))
    return intervals


def _bases(spread: Spread) -> Iterator[str | None]:
    """What the interval of each group is based on, in words; None for one needle."""
    columns = (spread.needles, spread.haystack_df, spread.df, spread.unnamed)
    for needles, haystack_df, df, unnamed in zip(*(column.tolist() for column in columns), strict=True):
        limits = f", {haystack_df + 1} haystacks" if 0 < haystack_df < needles - 1 else ""
        # Needles with nearly equal numbers of rows have nearly their number less one degrees of freedom.
        rough = ROUGH if round(df) + 1 < ENOUGH_NEEDLES and (limits or not unnamed) else ""
        drawn = f"row{'s' * (needles != 1)}" if unnamed else "needles"
        yield None if needles == 1 and not unnamed else f"{needles} {drawn}{limits}{rough}"


def rounded_end(mean: float, end: float) -> float:
    """An end of an interval, rounded but not across the mean."""
    rounded = round(end, _DECIMALS)
    return min(rounded, mean) if end <= mean else max(rounded, mean)


def interval_text(figure: Estimate) -> str:
    """The 95 % interval of a mean, [low, high]; for a mean at an end, both intervals, as they differ most there."""

    def ends(low: float | None, high: float | None) -> str:
        return "" if low is None or high is None else f"[{low:.2f}, {high:.2f}]"

    over, these = ends(figure.low, figure.high), ends(figure.low_these, figure.high_these)
    if figure.mean is None:
        return "no interval"
    if not over:
        return f"{these} of this needle alone" if these else "no interval"
    extreme = figure.mean in (figure.low, figure.high) and these not in ("", over)
    return f"{over}, of these needles {these}" if extreme else over


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
