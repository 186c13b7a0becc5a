"""Computes intervals at 95 % of mean scores, of many groups of rows at once, and tests paired differences.

An interval says where the mean over all needles like these lies: what another draw of needles would give. Rows of one
needle rise and fall together, so it rests on how much needles differ, and with few needles is wide. The `method` of an
interval names what it rests on: `clopper-pearson: 6 needles, rough` (fewer than ten are rough), `clopper-pearson: 34
needles, 2 haystacks` where fewer haystacks than needles limit it, `clopper-pearson: 40 rows` where rows do not say
which needle they have and count as one each. Of a single needle nothing says how much needles differ: there is no such
interval, and the method is `one needle: no interval over needles`. Beside it stands the interval of these very needles,
for which rows are the trials.

Scores (`means`). Clopper and Pearson's interval (Biometrika 26, 1934) of as many right and wrong rows as would tell as
much: m (1 - m) / V, for a mean m of variance V (clusters.py), times (z / t)^2, which makes up for V being estimated
with few degrees of freedom (E. L. Korn and B. I. Graubard, Surv. Methodol. 24, 1998). Two bounds hold where V says
little:

- At least as many as there are needles, k: no scores between 0 and 100 vary more than needles all right or all wrong.
- At most k x w, where w rows are wrong (right, if those are fewer), and k if w is below one: without wrong rows nothing
  tells how much needles differ, and each is one trial. So k needles without a fault have Clopper and Pearson's
  interval of k out of k, however many rows each has. Graded scores count as the rows that would vary like them.

Differences (`differences`). Student's t of the mean difference over V^(1/2), with the degrees of freedom of V: with as
many rows for each needle it is the paired t-test of the needles' means. The interval is that of the same t, so that it
excludes 0 where p is below 0.05. V counts one more row without a difference: three rows that all fell are no proof.
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
# Fewer needles make an interval that is called rough.
ENOUGH_NEEDLES = 10
ROUGH = ", rough"
ONE_NEEDLE = "one needle: no interval over needles"
NO_TEST = "one needle: no test"
_Z = NormalDist().inv_cdf((1 + CONFIDENCE) / 2)
# Ends are told to a millionth of a point: no processor's last digits show.
_DECIMALS = 6


class Interval(NamedTuple):
    """A mean of `n` values, in points (percent), and its intervals, null where n is 0. `method`: as the module says.

    `low`, `high`: of needles like these, null where there is one needle. `low_these`, `high_these`: of these needles.
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
    """What has a mean and its intervals: an interval, a figure, a difference."""

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


def clopper_pearson(share: Floats, n: Floats) -> tuple[Floats, Floats]:
    """The ends of Clopper and Pearson's interval of a share of n right and wrong rows, all 0 to 1; n need not be whole.

    Quantiles of the beta distribution of x and n - x + 1, and of x + 1 and n - x, where x of n are right.
    """
    import numpy as np

    tail = (1 - CONFIDENCE) / 2
    pairs, place = np.unique(np.stack([share * n, (1 - share) * n], axis=1), axis=0, return_inverse=True)
    right, wrong = pairs[:, 0], pairs[:, 1]
    low, high = np.zeros(len(pairs)), np.ones(len(pairs))
    # Where next to nothing is right or wrong, the end on that side is 0 or 100.
    some, other = right > 1e-9, wrong > 1e-9
    ends = beta_quantile(
        np.repeat([tail, 1 - tail], [np.count_nonzero(some), np.count_nonzero(other)]),
        np.concatenate([right[some], right[other] + 1]),
        np.concatenate([wrong[some] + 1, wrong[other]]),
    )
    low[some], high[other] = np.split(ends, [np.count_nonzero(some)])
    place = place.reshape(-1)
    return low[place], high[place]


def means(clusters: Clusters, values: Floats) -> list[Interval]:
    """The mean of every group of scores without null, 0 to 100, with its intervals."""
    return several_means(clusters, [values])[0]


def several_means(clusters: Clusters, several: Iterable[Floats]) -> list[list[Interval]]:
    """The means of several scores of the same rows, which are faster computed together; one is held at a time."""
    import numpy as np

    count = clusters.count
    if not clusters.n.any():
        return [[NOTHING] * count for _ in several]
    spreads = [clusters.spread(values) for values in several]
    if not spreads:
        return []
    columns = zip(*spreads, strict=True)
    found = Spread(*(np.concatenate(column) for column in columns))
    share = np.clip(found.mean / 100, 0, 1)
    # Residuals of equal values are what rounding leaves of them.
    rows_variance = np.where(found.rows_variance < 1e-18, 0.0, found.rows_variance) / 1e4
    variance = np.where(rows_variance > 0, found.variance / 1e4, 0.0)
    # Rows that are right or wrong, whichever are fewer, or as many as would vary like graded scores.
    alike = _over(share * (1 - share), rows_variance * (found.n - 1), 0.0)
    fewer = np.maximum(found.n * np.minimum(share, 1 - share) * alike, 1)
    few_haystacks = np.where(found.haystack_df > 0, found.haystack_df + 1.0, np.inf)
    # First of needles like these, then of these needles.
    twice = np.concatenate([share, share])
    estimated = _over(twice * (1 - twice), np.concatenate([variance, rows_variance]), np.inf)
    df = np.concatenate([found.df, np.maximum(found.even_rows - 1, 1.0)])
    estimated = estimated * (_Z / t_quantile(df, CONFIDENCE)) ** 2
    known = np.concatenate([found.even_needles * fewer, found.even_rows * fewer])
    fewest = np.concatenate([np.minimum(found.even_needles, few_haystacks), found.even_rows])
    low, high = clopper_pearson(twice, np.maximum(np.maximum(np.minimum(estimated, known), fewest), 1e-9))
    intervals = _intervals(found, 100 * low, 100 * high, "clopper-pearson")
    return [intervals[first : first + count] for first in range(0, len(intervals), count)]


def _over(upper: Floats, lower: Floats, otherwise: float) -> Floats:
    """A quotient, and something else where the divisor is 0."""
    import numpy as np

    found: Floats = np.where(lower > 0, upper / np.where(lower > 0, lower, 1.0), otherwise)
    return found


def differences(clusters: Clusters, values: Floats) -> list[tuple[Interval, float | None]]:
    """The mean of every group of differences, -100 to 100, with its intervals, and p of a mean at least as far from 0.

    p is null where n is 0 or there is one needle.
    """
    import numpy as np

    if not len(values):
        return [(NOTHING, None)] * clusters.count
    found = clusters.spread(values)
    more_rows = np.maximum(found.even_rows - 1, 1.0)
    rows = found.rows_variance + found.mean**2 / np.maximum(found.even_rows * more_rows, 1.0)
    errors = np.sqrt(np.maximum(found.variance, rows)), np.sqrt(rows)
    reach = t_quantile(np.concatenate([found.df, more_rows]), CONFIDENCE) * np.concatenate(errors)
    t = np.where(found.mean == 0, 0.0, np.abs(found.mean) / np.where(errors[0] > 0, errors[0], 1.0))
    p = t_tail(t, found.df)
    middle = np.concatenate([found.mean, found.mean])
    intervals = _intervals(found, np.clip(middle - reach, -100, 100), np.clip(middle + reach, -100, 100), "t")
    return [
        (one, float(f"{chance:.9g}") if one.low is not None else None)
        for one, chance in zip(intervals, p.tolist(), strict=True)
    ]


def _intervals(found: Spread, low: Floats, high: Floats, name: str) -> list[Interval]:
    """The intervals of each group. `low`, `high`: the ends over needles of all groups, then those of these needles."""
    import numpy as np

    middle = np.concatenate([found.mean, found.mean])
    low = np.minimum(np.round(low, _DECIMALS), middle).reshape(2, -1)
    high = np.maximum(np.round(high, _DECIMALS), middle).reshape(2, -1)
    intervals = []
    columns = (found.n, found.mean, low[0], high[0], low[1], high[1])
    for rests_on, (n, mean, start, end, *these) in zip(
        _rests_on(found), zip(*(column.tolist() for column in columns), strict=True), strict=True
    ):
        if not n:
            intervals.append(NOTHING)
        elif rests_on is None:
            intervals.append(Interval(mean, None, None, n, ONE_NEEDLE, *these))
        else:
            intervals.append(Interval(mean, start, end, n, f"{name}: {rests_on}", *these))
    return intervals


def _rests_on(found: Spread) -> Iterator[str | None]:
    """What the interval of each group rests on, in words; None for one needle."""
    columns = (found.needles, found.haystack_df, found.df, found.unnamed)
    for needles, haystack_df, freedom, unnamed in zip(*(column.tolist() for column in columns), strict=True):
        limits = f", {haystack_df + 1} haystacks" if 0 < haystack_df < needles - 1 else ""
        # Needles of nearly as many rows each are as good as their number.
        rough = ROUGH if round(freedom) + 1 < ENOUGH_NEEDLES and (limits or not unnamed) else ""
        drawn = f"row{'s' * (needles != 1)}" if unnamed else "needles"
        yield None if needles == 1 and not unnamed else f"{needles} {drawn}{limits}{rough}"


def rounded_end(mean: float, end: float) -> float:
    """An end of an interval, rounded, and still not on the other side of the mean."""
    rounded = round(end, _DECIMALS)
    return min(rounded, mean) if end <= mean else max(rounded, mean)


def interval_text(figure: Estimate) -> str:
    """The 95 % interval of a mean, [low, high]; at 0 and 100 both of them, as they differ most there."""

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
    """What the method of an interval says of too few needles, as a sentence without a full stop; None if enough."""
    if method == ONE_NEEDLE:
        return "One needle: intervals are of this one alone, and nothing tells what others would give"
    rests_on = method.partition(": ")[2]
    if not rests_on.endswith(ROUGH):
        return None
    if rests_on.removesuffix(ROUGH).endswith(" parts"):
        return f"{rests_on.removesuffix(ROUGH)}: those with fewer than ten needles have rough intervals"
    return f"{rests_on.removesuffix(ROUGH)}: intervals over fewer than ten are rough"
