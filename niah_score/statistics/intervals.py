"""Intervals at 95 % of mean scores, of one sample or of many groups of rows at once.

Rows that share a needle or a haystack rise and fall together, so rows are clustered by both; a group in which neither
has two values is one of independent rows. What an interval was made by is its `method`, and behind the colon what it is
clustered by:

wilson     Rows that are all right or wrong, and rows that all say the same. n is the number of independent rows that
           would tell as much: rows / design effect, never more than the rows, never less than one. The design effect is
           the cluster-robust variance over that of independent rows; rows that are all right have none to show and
           count as independent. Of scores between 0 and 100 with a given mean none vary more than right and wrong ones,
           so the interval errs on the wide side where it stands in for others.
bootstrap  Any other mean: percentiles of 1,000 resamples in which needles and haystacks are drawn anew, independently
           (Owen's pigeonhole bootstrap, Ann. Appl. Stat. 1, 2007). It errs on the wide side where haystacks belong to
           one needle each; with fewer than about ten clusters every bootstrap is somewhat narrow.
normal     The same beyond 2,000 needles or haystacks or 10,000 combinations: mean +- 1.96 cluster-robust standard
           errors.

Cluster-robust: V = V(needles) + V(haystacks) - V(needle and haystack), at least either of the first two; each is the
sum of the squared sums of residuals in a cluster times k / (k - 1) / n^2 (Cameron, Gelbach and Miller, JBES 29, 2011).

All sums are taken in the order of the rows, or of whole numbers: the same rows in the same order give the same bits.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from hashlib import sha256
from statistics import NormalDist
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Whole = NDArray[np.int64]

CONFIDENCE = 0.95
RESAMPLES = 1_000
_Z = NormalDist().inv_cdf((1 + CONFIDENCE) / 2)
_MOST_CLUSTERS = 2_000
_MOST_COMBINATIONS = 10_000
# Up to as many clusters are resampled exactly as many at a time.
_EXACT = 100
# Numbers that a step of the bootstrap holds at once: 64 MB.
_HELD = 1 << 23


class Interval(NamedTuple):
    """A mean and its interval in points (percent), of `n` values; null where there are none. `method`: see above."""

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
    """The mean of scores with its interval; null ones are left out. The order of the rows does not matter."""
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


class Resamples:
    """How often each of k clusters is drawn in each resample, drawn once for all groups of as many clusters.

    Seeded by a text alone, from the generator's raw numbers, which no release of numpy changes. Up to 100 clusters are
    drawn k at a time. More are the first k of 2,000 that are drawn together: their number varies around k, which a mean
    does not feel.
    """

    def __init__(self, seed_text: str) -> None:
        self._seed_text = seed_text
        self._known: dict[tuple[str, int], Floats] = {}

    def weights(self, factor: str, clusters: int) -> Floats:
        """Clusters x resamples. Weights of different factors are independent."""
        drawn = clusters if clusters <= _EXACT else _MOST_CLUSTERS
        if (factor, drawn) not in self._known:
            self._known[factor, drawn] = self._drawn(factor, drawn)
        return self._known[factor, drawn][:clusters]

    def _drawn(self, factor: str, clusters: int) -> Floats:
        import numpy as np

        raw = raw_numbers(f"{self._seed_text}|{factor}|{clusters}", clusters * RESAMPLES)
        places = ((raw >> np.uint64(32)) * np.uint64(clusters) >> np.uint64(32)).astype(np.int64) * RESAMPLES
        places += np.tile(np.arange(RESAMPLES), clusters)
        counts = np.bincount(places, minlength=clusters * RESAMPLES)
        return counts.reshape(clusters, RESAMPLES).astype(np.float64)


def raw_numbers(seed_text: str, count: int) -> NDArray[np.uint64]:
    """As many random 64-bit numbers, the same for the same text everywhere."""
    import numpy as np

    return np.random.PCG64(int.from_bytes(sha256(seed_text.encode()).digest()[:16])).random_raw(count)


class Pairs(NamedTuple):
    """Sums per group, needle and haystack, sorted by group; of groups without clusters, each row by itself.

    `needle` and `haystack` count from 0 within the group; `needles` and `haystacks` say how many a group has, `rows`
    whether it is one of independent rows (which then stand in for haystacks).
    """

    group: Whole
    needle: Whole
    haystack: Whole
    total: Floats
    weight: Floats
    needles: Whole
    haystacks: Whole
    rows: NDArray[np.bool_]

    def clustered_by(self, group: int) -> str:
        """What a group is clustered by, as a method says it."""
        if self.rows[group]:
            return "rows"
        factors = (("needles", self.needles), ("haystacks", self.haystacks))
        return ", ".join(name for name, counts in factors if counts[group] > 1)


class Clusters:
    """Groups of rows and what they are clustered by, made once for all values of these rows.

    Where needles and haystacks split a group's rows alike, they are one factor under two names, and needles stand for
    both. `groups`, `needles` and `haystacks` are codes from 0, item i of each belongs to row i; `weights`: what a row
    counts in its group's mean.
    """

    def __init__(
        self, groups: Whole, count: int, needles: Whole, haystacks: Whole, weights: Floats | None = None
    ) -> None:
        import numpy as np

        self.count = count
        self._groups = groups
        self._weights = weights
        self._tables: tuple[bytes, Resamples, list[_Table]] | None = None
        self.n: Whole = np.bincount(groups, minlength=count)
        if len(groups):
            self._bring_together(needles, haystacks)

    def _bring_together(self, needles: Whole, haystacks: Whole) -> None:
        """The pairs: rows of one group, needle and haystack."""
        import numpy as np

        groups, count = self._groups, self.count
        loose = _all_one(groups, needles, count) & _all_one(groups, haystacks, count)
        if loose.any():
            needles = np.where(loose[groups], 0, needles)
            haystacks = np.where(loose[groups], np.arange(len(groups)), haystacks)
        of_needles, of_haystacks = int(needles.max()) + 1, int(haystacks.max()) + 1
        keys = (groups * of_haystacks + haystacks) * of_needles + needles
        found, self._place = distinct(keys, count * of_haystacks * of_needles)
        group = found // (of_haystacks * of_needles)
        needle, needle_counts = _ranked(group, found % of_needles, count, of_needles)
        haystack, haystack_counts = _ranked(group, found // of_needles % of_haystacks, count, of_haystacks)
        pairs = np.bincount(group, minlength=count)
        alike = (pairs == needle_counts) & (pairs == haystack_counts) & ~loose & (pairs > 0)
        self._pairs = Pairs(
            group,
            needle,
            np.where(alike[group], 0, haystack),
            np.zeros(0),
            np.bincount(self._place, self._weights).astype(np.float64, copy=False),
            needle_counts,
            np.where(alike, 1, haystack_counts),
            loose,
        )

    def pairs(self, values: Floats) -> Pairs:
        """The sums of some values; there is a row at least."""
        import numpy as np

        weighted = values if self._weights is None else values * self._weights
        return self._pairs._replace(total=np.bincount(self._place, weighted).astype(np.float64, copy=False))

    def graded(self, values: Floats) -> NDArray[np.bool_]:
        """Which groups have values that are neither right nor wrong."""
        import numpy as np

        found = np.zeros(self.count, np.bool_)
        found[self._groups[(values != 0) & (values != 100)]] = True
        return found

    def tables(self, members: Whole, resamples: Resamples) -> Iterable[_Table]:
        """What the bootstrap of some groups needs whatever the values are; kept for the next ones if it is small."""
        found = _tables(self._pairs, members, resamples)
        if len(members) * RESAMPLES > _HELD:
            return found
        key = members.tobytes()
        if self._tables is None or self._tables[:2] != (key, resamples):
            self._tables = key, resamples, list(found)
        return self._tables[2]

    @cached_property
    def factors(self) -> tuple[_Factor, _Factor, _Factor]:
        """The clusters of needles, of haystacks, and of both."""
        import numpy as np

        pairs = self._pairs
        sizes = np.bincount(pairs.group, minlength=self.count)
        return (
            _Factor(*_numbered(pairs.group, pairs.needle, pairs.needles)),
            _Factor(*_numbered(pairs.group, pairs.haystack, pairs.haystacks)),
            _Factor(None, pairs.group, sizes),
        )


class _Factor(NamedTuple):
    """What rows are clustered by: for each pair its cluster (None: its own), for each cluster its group, their numbers
    in every group."""

    cluster: Whole | None
    group: Whole
    sizes: Whole


def _numbered(group: Whole, local: Whole, sizes: Whole) -> tuple[Whole, Whole, Whole]:
    """Clusters that are numbered within their groups, numbered through."""
    import numpy as np

    return (np.cumsum(sizes) - sizes)[group] + local, np.repeat(np.arange(len(sizes)), sizes), sizes


def pair_sums(
    groups: Whole, count: int, values: Floats, needles: Whole, haystacks: Whole, weights: Floats | None = None
) -> Pairs:
    """Bring rows together that share group, needle and haystack. Codes count from 0; there is a row at least."""
    return Clusters(groups, count, needles, haystacks, weights).pairs(values)


def _all_one(groups: Whole, codes: Whole, count: int) -> NDArray[np.bool_]:
    """For each group whether all its rows have the same code."""
    import numpy as np

    some = np.zeros(count, np.int64)
    some[groups] = codes
    found: NDArray[np.bool_] = np.bincount(groups[codes != some[groups]], minlength=count) == 0
    return found


def distinct(keys: Whole, size: int) -> tuple[Whole, Whole]:
    """The different keys in order, and for every key its place among them. `size`: more than any key; there is one."""
    import numpy as np

    if size <= 4 * len(keys):
        seen = np.zeros(size, np.bool_)
        seen[keys] = True
        return np.flatnonzero(seen), (np.cumsum(seen) - 1)[keys]
    order = None if bool((keys[1:] >= keys[:-1]).all()) else np.argsort(keys)
    ordered = keys if order is None else keys[order]
    new = np.empty(len(keys), np.bool_)
    new[0] = True
    np.not_equal(ordered[1:], ordered[:-1], out=new[1:])
    place = np.cumsum(new) - 1
    if order is not None:
        unordered = place
        place = np.empty(len(keys), np.int64)
        place[order] = unordered
    return ordered[new], place


def _ranked(group: Whole, codes: Whole, count: int, size: int) -> tuple[Whole, Whole]:
    """Codes as ranks within their group, and how many different ones each group has."""
    import numpy as np

    found, place = distinct(group * size + codes, count * size)
    counts = np.bincount(found // size, minlength=count)
    return place - (np.cumsum(counts) - counts)[group], counts


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
    """The means of `count` groups of rows with their intervals; item i of every array belongs to row i.

    `groups`, `needles` and `haystacks` are codes from 0. `values` are scores without null, or with `signed` their
    differences, -100 to 100, which are never right or wrong. `weights`: what a row counts in its group's mean.
    """
    return means(Clusters(groups, count, needles, haystacks, weights), values, resamples, signed=signed)


def means(clusters: Clusters, values: Floats, resamples: Resamples, *, signed: bool = False) -> list[Interval]:
    """The mean of every group with its interval; values are as `grouped` has them."""
    import numpy as np

    count, n = clusters.count, clusters.n
    if not len(values):
        return [NOTHING] * count
    pairs = clusters.pairs(values)
    some = n > 0
    weight = np.where(some, np.bincount(pairs.group, pairs.weight, minlength=count), 1.0)
    mean = np.bincount(pairs.group, pairs.total, minlength=count) / weight
    variance = _variance(clusters.factors, pairs, mean, weight)

    low, high = np.full(count, np.nan), np.full(count, np.nan)
    # Residuals of equal values are what rounding leaves of them.
    still = variance < 1e-18
    by_wilson = some & (still | ~clusters.graded(values)) & (not signed)
    share = np.clip(mean[by_wilson] / 100, 0, 1)
    independent = _independent(share, n[by_wilson], variance[by_wilson])
    low[by_wilson], high[by_wilson] = _wilson(share, independent)

    few, many = np.minimum(pairs.needles, pairs.haystacks), np.maximum(pairs.needles, pairs.haystacks)
    by_normal = some & ~by_wilson & ((many > _MOST_CLUSTERS) | (few * many > _MOST_COMBINATIONS))
    reach = _Z * np.sqrt(variance[by_normal])
    low[by_normal], high[by_normal] = mean[by_normal] - reach, mean[by_normal] + reach

    by_bootstrap = some & ~by_wilson & ~by_normal
    for table in clusters.tables(np.flatnonzero(by_bootstrap), resamples):
        ends = _percentiles(table.resampled(pairs.total), table.weights)
        low[table.members], high[table.members] = ends

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
            method = f"wilson: {pairs.clustered_by(group)}" if clustered[group] else "wilson"
        else:
            method = f"{'normal' if by_normal[group] else 'bootstrap'}: {pairs.clustered_by(group)}"
        found.append(Interval(middle, bottom_end, top_end, size, method))
    return found


def _variance(factors: tuple[_Factor, _Factor, _Factor], pairs: Pairs, mean: Floats, weight: Floats) -> Floats:
    """The cluster-robust variance of every group's mean."""
    import numpy as np

    residuals = pairs.total - mean[pairs.group] * pairs.weight

    def part(cluster: Whole | None, group: Whole, sizes: Whole) -> Floats:
        sums = residuals if cluster is None else np.bincount(cluster, residuals, minlength=len(group))
        return np.bincount(group, sums * sums, minlength=len(mean)) * sizes / np.maximum(sizes - 1, 1)

    one, other, both = (part(*factor) for factor in factors)
    found: Floats = np.maximum(np.maximum(one, other), one + other - both) / (weight * weight)
    return found


def _independent(share: Floats, n: Whole, variance: Floats) -> Floats:
    """How many independent right and wrong rows would have that variance, between 1 and n."""
    import numpy as np

    alone = 100 * 100 * share * (1 - share) / np.maximum(n - 1, 1)
    # What rounding makes of a design effect of one is one.
    effect = np.where(variance > alone * (1 + 1e-9), variance, alone) / np.where(alone > 0, alone, 1)
    found: Floats = n / np.clip(np.where(alone > 0, effect, 1), 1, n)
    return found


class _Table(NamedTuple):
    """Some groups of as many lesser and greater clusters, to be resampled together.

    `places`: their pairs; `at`: where each stands in a table of groups x lesser x greater. `inner`, `outer`: how often
    the greater and the lesser clusters are drawn. Sums times `scale` are rounded to whole numbers. `weights`: the
    resamples of the weights, a line for each group, or one for all.
    """

    members: Whole
    places: Whole
    at: Whole
    inner: Floats
    outer: Floats
    scale: float
    weights: Floats

    def resampled(self, sums: Floats) -> Floats:
        """Groups x resamples of the sums of all pairs."""
        import numpy as np

        table = np.zeros(len(self.members) * len(self.outer) * len(self.inner))
        table[self.at] = sums[self.places]
        return _drawn_sums(table.reshape(-1, len(self.inner)), self.inner, self.outer, self.scale)


def _drawn_sums(table: Floats, inner: Floats, outer: Floats, scale: float) -> Floats:
    """Groups x resamples of a table of groups and lesser clusters x greater ones."""
    import numpy as np

    drawn = (np.rint(table * scale) @ inner).reshape(-1, len(outer), RESAMPLES)
    drawn *= outer
    sums: Floats = drawn.sum(axis=1)
    return sums


def _tables(pairs: Pairs, members: Whole, resamples: Resamples) -> Iterator[_Table]:
    """The groups by their numbers of clusters, as resamples of as many share their draws.

    With weights U of the lesser and V of the greater factor a resample's mean is sum(U_a V_b S_ab) / sum(U_a V_b N_ab),
    S and N the sums and weights of the rows of a and b. Sums are taken of whole numbers below 2^52, which are exact in
    any order, so that no processor's or library's way to multiply matrices shows.
    """
    import numpy as np

    swapped = pairs.needles > pairs.haystacks
    few = np.where(swapped, pairs.haystacks, pairs.needles)
    many = np.where(swapped, pairs.needles, pairs.haystacks)
    sizes = np.bincount(pairs.group, minlength=len(few))
    starts = np.cumsum(sizes) - sizes
    shapes: dict[tuple[int, int], list[int]] = {}
    for group in members.tolist():
        shapes.setdefault((int(few[group]), int(many[group])), []).append(group)
    for (lesser, greater), alike in sorted(shapes.items()):
        outer, inner = resamples.weights("lesser", lesser), resamples.weights("greater", greater)
        step = max(1, _HELD // (lesser * max(greater, RESAMPLES)))
        for first in range(0, len(alike), step):
            part = np.array(alike[first : first + step], np.int64)
            places = np.concatenate([np.arange(starts[g], starts[g] + sizes[g]) for g in part.tolist()])
            turned = swapped[pairs.group[places]]
            row = np.where(turned, pairs.haystack[places], pairs.needle[places])
            row += np.repeat(np.arange(len(part)), sizes[part]) * lesser
            at = row * greater + np.where(turned, pairs.needle[places], pairs.haystack[places])
            weight = np.zeros((len(part) * lesser, greater))
            weight.reshape(-1)[at] = pairs.weight[places]
            largest = 100 * float(np.bincount(pairs.group[places], pairs.weight[places]).max())
            scale = 2.0 ** (51 - math.frexp(largest * float(outer.max()) * float(inner.max()))[1])
            # Of a full grid all groups have the same numbers of rows.
            same = bool((weight.reshape(len(part), -1) == weight[:lesser].reshape(1, -1)).all())
            weights = _drawn_sums(weight[:lesser] if same else weight, inner, outer, scale)
            yield _Table(part, places, at, inner, outer, scale, weights)


def _percentiles(totals: Floats, weights: Floats) -> tuple[Floats, Floats]:
    """The ends between which 95 % of the resamples' means lie; resamples that drew no row have none."""
    import numpy as np

    drawn = weights > 0
    means = np.sort(np.where(drawn, totals / np.where(drawn, weights, 1), np.inf), axis=1)
    last = np.broadcast_to(drawn, totals.shape).sum(axis=1) - 1
    tail = (1 - CONFIDENCE) / 2
    low = np.floor(tail * last).astype(np.int64)
    lines = np.arange(len(means))
    return means[lines, low], means[lines, last - low]
