"""Computes quotients of sums, such as nats over tokens, with clustered 95 % intervals.

A quotient of sums is the mean of the rows' quotients weighted by their denominators. Its variance is that of
clusters.py with these weights, which is the linearised variance of a ratio (W. G. Cochran, Sampling Techniques, 1977,
ch. 6); its interval is Student's t with the degrees of freedom of the clusters.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import NamedTuple

from niah_score.statistics.clusters import Clusters
from niah_score.statistics.intervals import CONFIDENCE
from niah_score.statistics.quantiles import t_quantile

_DECIMALS = 9
# Intervals over fewer clusters are called rough.
_ENOUGH = 10


class Ratio(NamedTuple):
    """A quotient of sums over `rows` rows of `clusters` clusters, null without rows.

    `low`, `high`: null for one cluster, which does not show how much clusters differ. `method`: the basis of the
    interval.
    """

    value: float | None
    low: float | None
    high: float | None
    rows: int
    clusters: int
    method: str


NO_RATIO = Ratio(None, None, None, 0, 0, "none")


def ratio(
    above: Sequence[float],
    below: Sequence[float],
    clusters: Sequence[Hashable],
    haystacks: Sequence[Hashable] | None = None,
    *,
    what: str = "documents",
) -> Ratio:
    """The sum of `above` over the sum of `below` (positive numbers); item i of each sequence belongs to row i.

    `clusters`: what rows were drawn by. `haystacks`: a second kind of clusters. `what`: the word for the clusters in
    the method.
    """
    import numpy as np

    if not above:
        return NO_RATIO
    weights = np.asarray(below, np.float64)
    values = np.asarray(above, np.float64) / weights
    drawn = _codes(clusters)
    spread = Clusters(
        np.zeros(len(values), np.int64), 1, drawn, drawn if haystacks is None else _codes(haystacks), weights
    ).spread(values)  # fmt: skip
    value = float(np.sum(np.asarray(above, np.float64)) / np.sum(weights))
    count = int(spread.needles[0])
    if count < 2:
        return Ratio(value, None, None, len(values), count, f"one of {what}: no interval")
    # The variance is at least that of independent rows.
    reach = float(t_quantile(spread.df, CONFIDENCE)[0] * np.sqrt(spread.variance[0]))
    rough = ", rough" if count < _ENOUGH else ""
    low, high = round(value - reach, _DECIMALS), round(value + reach, _DECIMALS)
    return Ratio(value, min(low, value), max(high, value), len(values), count, f"t: {count} {what}{rough}")


def _codes(names: Sequence[Hashable]):  # type: ignore[no-untyped-def]
    import numpy as np

    known: dict[Hashable, int] = {}
    return np.array([known.setdefault(name, len(known)) for name in names], np.int64)
