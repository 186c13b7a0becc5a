"""Computes weighted means of parts, such as the headline, with intervals at 95 %.

The parts of a dataset are no sample: another draw of needles would bring other needles of the same parts, with the same
weights. So no interval counts how much parts differ. It is put together from the intervals of the parts' means, by the
square-and-add rule (G. Y. Zou and A. Donner, Stat. Med. 27, 2008; R. G. Newcombe, Stat. Med. 17, 1998): the weighted
mean lies above its low end by the root of the sum of the squares of what every part adds to that, its share times the
way from its own mean to its own low end; the high end likewise. A part of a single needle may be anywhere from 0 to 100
with other needles, and adds as much.

The rule takes parts for independent. Where they have needles in common, or haystacks, both ends move away from the mean
by the root of T / D, if that is above 1. T is the sum over needles of the squared sums of residuals, D the same where
the rows that a needle has in two parts count as two needles; residuals are taken from the mean of their part, for
haystacks of their part and length.
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
    """The means of several scores of the same rows, in every group weighted by part; a list of groups for each.

    `groups`, `parts`, `needles`, `haystacks` and `strata` are codes from 0, item i of each belongs to row i; `count`
    and `named` are as `Clusters` has them. `each`: what a row counts for its part, the same for all rows of one;
    `weights`: what it counts besides. A group of a single part has that part's mean and intervals.
    """
    import numpy as np

    if not len(groups):
        return [[NOTHING] * count for _ in several]
    size = int(parts.max()) + 1
    places, place = distinct(wide(groups, size, parts), count * size)
    of_group = places // size
    clusters = Clusters(place, len(places), needles, haystacks, weights, strata=strata, named=named)
    apart = several_means(clusters, several)
    whole = each if weights is None else each * weights
    shares = np.bincount(place, whole, minlength=len(places))
    found = []
    for values, intervals in zip(several, apart, strict=True):
        wider = np.ones(count)
        for clustered, means_of in ((needles, place), (haystacks, distinct_pairs(place, strata))):
            residuals = whole * (values - _means(means_of, values, weights)[means_of])
            wider = np.maximum(wider, _shared(groups, count, place, len(places), clustered, residuals))
        found.append(_combined(of_group.tolist(), count, shares.tolist(), intervals, np.sqrt(wider).tolist()))
    return found


def distinct_pairs(one: Codes, other: Codes) -> Codes:
    """A code from 0 for every pair of codes."""
    size = int(other.max()) + 1
    return distinct(wide(one, size, other), (int(one.max()) + 1) * size)[1]


def _means(codes: Codes, values: Floats, weights: Floats | None) -> Floats:
    import numpy as np

    total = np.bincount(codes, weights)
    sums = np.bincount(codes, values if weights is None else values * weights)
    found: Floats = sums / np.where(total > 0, total, 1.0)
    return found


def _shared(groups: Codes, count: int, place: Codes, places: int, clusters: Codes, residuals: Floats) -> Floats:
    """T / D of every group: by how much clusters that parts have in common make the variance larger."""
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
    # Residuals of equal values are what rounding leaves of them.
    some = apart > 1e-9 * max(float(apart.max()), 1e-9)
    found: Floats = np.where(some, together / np.where(some, apart, 1.0), 1.0)
    return found


def _combined(
    groups: Sequence[int], count: int, shares: Sequence[float], found: Sequence[Interval], wider: Sequence[float]
) -> list[Interval]:
    """The weighted mean of every group. `groups`: of each of the intervals; `shares`: what each counts in its group."""
    members: list[list[int]] = [[] for _ in range(count)]
    for number, group in enumerate(groups):
        if found[number].n:
            members[group].append(number)
    combined = []
    for group, own in enumerate(members):
        if len(own) > 1:
            own = [number for number in own if shares[number] > 0]
        if len(own) < 2:
            combined.append(found[own[0]] if own else NOTHING)
            continue
        total = math.fsum(shares[number] for number in own)
        parts = [(shares[number] / total, found[number]) for number in own]
        combined.append(_square_and_add(parts, wider[group]))
    return combined


def _square_and_add(parts: Sequence[tuple[float, Interval]], wider: float) -> Interval:
    """The sum of shares times means, with its intervals."""
    mean = math.fsum(share * one.mean for share, one in parts if one.mean is not None)
    ends = {}
    for name, most in (("low", 0.0), ("high", 100.0), ("low_these", 0.0), ("high_these", 100.0)):
        ways = []
        for share, one in parts:
            end = getattr(one, name)
            ways.append(share * ((most if end is None else end) - (one.mean or 0.0)))
        way = math.hypot(*ways) * (1.0 if name.endswith("these") else wider)
        ends[name] = rounded_end(mean, max(0.0, mean - way) if most == 0 else min(100.0, mean + way))
    rough = ROUGH if any(one.method.endswith(ROUGH) or one.method == ONE_NEEDLE for _, one in parts) else ""
    return Interval(
        mean, n=sum(one.n for _, one in parts), method=f"{SQUARE_AND_ADD}: {len(parts)} parts{rough}", **ends
    )
