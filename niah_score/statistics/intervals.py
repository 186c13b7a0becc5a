"""Computes intervals at 95 % of mean scores, of one sample or of many groups of rows at once.

Rows that share a needle or a haystack rise and fall together, so rows are clustered by both; a group in which neither
has two values is one of independent rows. The `method` of an interval says how it was computed, and behind the colon
what the rows are clustered by:

wilson     Rows that are all right or wrong, and rows that all have the same score. n is the number of independent rows
           that would tell as much: rows / design effect, never more than the rows, never less than one. The design
           effect is the cluster-robust variance over that of independent rows; rows that are all right have none to
           show and count as independent. Of scores between 0 and 100 with a given mean none vary more than right and
           wrong ones, so the interval errs on the wide side where it is used for other scores.
bootstrap  Any other mean: percentiles of 1,000 resamples in which needles and haystacks are drawn anew, independently
           (bootstrap.py). It errs on the wide side where haystacks belong to one needle each; with fewer than about ten
           clusters every bootstrap is somewhat narrow.
normal     The same beyond 2,000 needles or haystacks or 10,000 combinations: mean +- 1.96 cluster-robust standard
           errors (clusters.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import NormalDist
from typing import TYPE_CHECKING, Any, NamedTuple

from niah_score.statistics.bootstrap import CONFIDENCE, MOST_CLUSTERS, Resamples
from niah_score.statistics.clusters import Clusters

if TYPE_CHECKING:
    from niah_score.statistics.cluster_sums import Floats, Whole

_Z = NormalDist().inv_cdf((1 + CONFIDENCE) / 2)
_MOST_COMBINATIONS = 10_000


class Interval(NamedTuple):
    """A mean of `n` values and its interval in points (percent), null where n is 0. `method`: as the module says."""

    mean: float | None
    low: float | None
    high: float | None
    n: int
    method: str


NOTHING = Interval(None, None, None, 0, "none")


def wilson(right: float, n: int) -> tuple[float, float] | tuple[None, None]:
    """Wilson's interval of a share of right rows, in percent; null of no rows.

    (p + z^2/2n +- z sqrt(p (1 - p) / n + z^2 / 4n^2)) / (1 + z^2/n): E. B. Wilson, JASA 22 (1927).
    """
    if n < 1:
        return None, None
    low, high = _wilson(right / n, n)
    return max(0.0, min(low, 100 * right / n)), min(100.0, max(high, 100 * right / n))


def _wilson(share: Any, n: Any) -> tuple[Any, Any]:
    """Low and high end in percent, of numbers or of arrays; rounding may carry them past 0 and 100."""
    middle = share + _Z * _Z / (2 * n)
    half = _Z * (share * (1 - share) / n + _Z * _Z / (4 * n * n)) ** 0.5
    whole = 1 + _Z * _Z / n
    return 100 * (middle - half) / whole, 100 * (middle + half) / whole


def interval(
    values: Sequence[float | None],
    needles: Sequence[str | None],
    haystacks: Sequence[str | None],
    seed_text: str,
) -> Interval:
    """Compute the mean of scores with its interval; null scores are left out. The order of the rows does not matter."""
    import numpy as np

    rows = sorted(
        (value, needle or "", haystack or "")
        for value, needle, haystack in zip(values, needles, haystacks, strict=True)
        if value is not None
    )
    codes = [{name: code for code, name in enumerate(sorted({row[at] for row in rows}))} for at in (1, 2)]
    return grouped(
        np.zeros(len(rows), np.int64),
        1,
        np.array([row[0] for row in rows], np.float64),
        np.array([codes[0][row[1]] for row in rows], np.int64),
        np.array([codes[1][row[2]] for row in rows], np.int64),
        Resamples(seed_text),
    )[0]


def grouped(
    groups: Whole,
    count: int,
    values: Floats,
    needles: Whole,
    haystacks: Whole,
    resamples: Resamples,
    *,
    weights: Floats | None = None,
    signed: bool = False,
) -> list[Interval]:
    """Compute the means of `count` groups of rows with their intervals; item i of every array belongs to row i.

    `groups`, `needles` and `haystacks` are codes from 0. `values` are scores without null, or with `signed` their
    differences, -100 to 100, which are never right or wrong. `weights`: what a row counts in its group's mean.
    """
    return means(Clusters(groups, count, needles, haystacks, weights), values, resamples, signed=signed)


def means(clusters: Clusters, values: Floats, resamples: Resamples, *, signed: bool = False) -> list[Interval]:
    """Compute the mean of every group with its interval; `values` and `signed` as in `grouped`."""
    import numpy as np

    count, n = clusters.count, clusters.n
    if not len(values):
        return [NOTHING] * count
    sums = clusters.sums(values)
    some = n > 0
    weight = np.where(some, np.bincount(sums.group, sums.weight, minlength=count), 1.0)
    mean = np.bincount(sums.group, sums.total, minlength=count) / weight
    variance = clusters.variance(sums, mean, weight)

    low, high = np.full(count, np.nan), np.full(count, np.nan)
    # Residuals of equal values are what rounding leaves of them.
    still = variance < 1e-18
    by_wilson = some & (still | ~clusters.graded(values)) & (not signed)
    share = np.clip(mean[by_wilson] / 100, 0, 1)
    independent = _independent(share, n[by_wilson], variance[by_wilson])
    low[by_wilson], high[by_wilson] = _wilson(share, independent)

    few, many = np.minimum(sums.needles, sums.haystacks), np.maximum(sums.needles, sums.haystacks)
    by_normal = some & ~by_wilson & ((many > MOST_CLUSTERS) | (few * many > _MOST_COMBINATIONS))
    reach = _Z * np.sqrt(variance[by_normal])
    low[by_normal], high[by_normal] = mean[by_normal] - reach, mean[by_normal] + reach

    by_bootstrap = some & ~by_wilson & ~by_normal
    for table in clusters.tables.of(np.flatnonzero(by_bootstrap), resamples):
        low[table.members], high[table.members] = table.interval_ends(sums.total)

    bottom = -100.0 if signed else 0.0
    low, high = np.clip(np.minimum(low, mean), bottom, 100.0), np.clip(np.maximum(high, mean), bottom, 100.0)
    clustered = np.zeros(count, np.bool_)
    clustered[by_wilson] = independent < n[by_wilson]
    found = []
    for group, (size, middle, bottom_end, top_end) in enumerate(
        zip(n.tolist(), mean.tolist(), low.tolist(), high.tolist(), strict=True)
    ):
        if not size:
            found.append(NOTHING)
            continue
        if by_wilson[group]:
            method = f"wilson: {sums.clustered_by(group)}" if clustered[group] else "wilson"
        else:
            method = f"{'normal' if by_normal[group] else 'bootstrap'}: {sums.clustered_by(group)}"
        found.append(Interval(middle, bottom_end, top_end, size, method))
    return found


def _independent(share: Floats, n: Whole, variance: Floats) -> Floats:
    """How many independent right and wrong rows would have that variance, between 1 and n."""
    import numpy as np

    alone = 100 * 100 * share * (1 - share) / np.maximum(n - 1, 1)
    # What rounding makes of a design effect of one is one.
    effect = np.where(variance > alone * (1 + 1e-9), variance, alone) / np.where(alone > 0, alone, 1)
    found: Floats = n / np.clip(np.where(alone > 0, effect, 1), 1, n)
    return found
