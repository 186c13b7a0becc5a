"""Computes weighted means of parts, such as the headline, with 95 % intervals.

The parts of a dataset are no sample: another draw of needles would bring other needles of the same parts, with the same
weights. So differences between parts widen no interval. The interval is combined from those of the parts' means by the
square-and-add rule (G. Y. Zou and A. Donner, Stat. Med. 27, 2008; R. G. Newcombe, Stat. Med. 17, 1998): the distance of
the low end from the weighted mean is the root of the sum of the squares of each part's share times its own distance
from mean to low end; the same for the high end. A part with a single needle could be anywhere from 0 to 100 with other
needles, and counts with those ends.

The rule assumes independent parts. If they share needles or haystacks, the distance to both ends is multiplied by the
root of T / D, if that is above 1. T is the sum over needles of the squared sums of residuals; D is the same with the
rows that a needle has in two parts counted as two needles. Residuals are taken from the mean of their part; for
haystacks, of their part and length.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from niah_score.statistics.cluster_sums import distinct, wide
from niah_score.statistics.clusters import Clusters
from niah_score.statistics.intervals import NOTHING, ONE_NEEDLE, ROUGH, Interval, rounded_end, several_means

if TYPE_CHECKING:
    from niah_score.statistics.cluster_sums import Codes, Floats

SQUARE_AND_ADD = "square-and-add"


def several_weighted_means(
    groups: Codes,
    count: int,
    parts: Codes,
    each: Floats,
    needles: Codes,
    haystacks: Codes,
    several: Iterable[Floats],
    weights: Floats | None = None,
    *,
    strata: Codes,
    named: int,
) -> list[list[Interval]]:
    """The means of several metrics of the same rows, weighted by part in every group; a list of groups for each metric.

    `groups`, `parts`, `needles`, `haystacks` and `strata` are codes from 0; item i of each belongs to row i. `count`,
    `named`: as in `Clusters`. `each`: each row's weight by its part, equal within a part; `weights`: a further weight
    of each row. A group with a single part has that part's mean and intervals.
    """
    import numpy as np

    if not len(groups):
        return [[NOTHING] * count for _ in several]
    size = int(parts.max()) + 1
    places, place = distinct(wide(groups, size, parts), count * size)
    of_group = places // size
    clusters = Clusters(place, len(places), needles, haystacks, weights, strata=strata, named=named)
    of_parts = several_means(clusters, several)
    whole = each if weights is None else each * weights
    shares = np.bincount(place, whole, minlength=len(places))
    means = []
    for values, intervals in zip(several, of_parts, strict=True):
        wider = np.ones(count)
        for clustered, means_of in ((needles, place), (haystacks, distinct_pairs(place, strata))):
            residuals = whole * (values - _means(means_of, values, weights)[means_of])
            wider = np.maximum(wider, _shared(groups, count, place, len(places), clustered, residuals))
        means.append(_combined(of_group.tolist(), count, shares.tolist(), intervals, np.sqrt(wider).tolist()))
    return means


def distinct_pairs(one: Codes, other: Codes) -> Codes:
    """The codes, from 0, of the pairs of codes that occur."""
    size = int(other.max()) + 1
    return distinct(wide(one, size, other), (int(one.max()) + 1) * size)[1]


def _means(codes: Codes, values: Floats, weights: Floats | None) -> Floats:
    import numpy as np

    total = np.bincount(codes, weights)
    sums = np.bincount(codes, values if weights is None else values * weights)
    means: Floats = sums / np.where(total > 0, total, 1.0)
    return means


def _shared(groups: Codes, count: int, place: Codes, places: int, clusters: Codes, residuals: Floats) -> Floats:
    """T / D of every group: the factor by which clusters shared between parts increase the variance."""
    import numpy as np

    size = int(clusters.max()) + 1
    squares = []
    for codes, several in ((groups, count), (place, places)):
        keys, cluster = distinct(wide(codes, size, clusters), several * size)
        sums = np.bincount(cluster, residuals, minlength=len(keys))
        group = np.zeros(len(keys), np.int64)
        group[cluster] = groups
        squares.append(np.bincount(group, sums * sums, minlength=count))
    together, apart = squares
    # Residuals of equal values are mere rounding errors.
    some = apart > 1e-9 * max(float(apart.max()), 1e-9)
    ratio: Floats = np.where(some, together / np.where(some, apart, 1.0), 1.0)
    return ratio


def _combined(
    groups: Sequence[int], count: int, shares: Sequence[float], intervals: Sequence[Interval], wider: Sequence[float]
) -> list[Interval]:
    """The weighted mean of every group. `groups`, `shares`: the group of each interval, and its weight there."""
    members: list[list[int]] = [[] for _ in range(count)]
    for number, group in enumerate(groups):
        if intervals[number].n:
            members[group].append(number)
    combined = []
    for group, own in enumerate(members):
        if len(own) > 1:
            own = [number for number in own if shares[number] > 0]
        if len(own) < 2:
            combined.append(intervals[own[0]] if own else NOTHING)
            continue
        total = math.fsum(shares[number] for number in own)
        parts = [(shares[number] / total, intervals[number]) for number in own]
        combined.append(_square_and_add(parts, wider[group]))
    return combined


def _square_and_add(parts: Sequence[tuple[float, Interval]], wider: float) -> Interval:
    """The sum of shares times means, with its intervals. `wider`: the factor for the interval over needles."""
    mean = math.fsum(share * one.mean for share, one in parts if one.mean is not None)
    ends = {}
    for name, most in (("low", 0.0), ("high", 100.0), ("low_these", 0.0), ("high_these", 100.0)):
        distances = []
        for share, one in parts:
            end = getattr(one, name)
            distances.append(share * ((most if end is None else end) - (one.mean or 0.0)))
        distance = math.hypot(*distances) * (1.0 if name.endswith("these") else wider)
        ends[name] = rounded_end(mean, max(0.0, mean - distance) if most == 0 else min(100.0, mean + distance))
    rough = ROUGH if any(one.method.endswith(ROUGH) or one.method == ONE_NEEDLE for _, one in parts) else ""
    return Interval(
        mean, n=sum(one.n for _, one in parts), method=f"{SQUARE_AND_ADD}: {len(parts)} parts{rough}", **ends
    )
