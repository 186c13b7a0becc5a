"""Resamples needles and haystacks: Owen's pigeonhole bootstrap (Ann. Appl. Stat. 1, 2007) of many groups at once."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from hashlib import sha256
from typing import TYPE_CHECKING, NamedTuple

from niah_score.statistics.cluster_sums import ClusterSums

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from niah_score.statistics.cluster_sums import Floats, Whole

CONFIDENCE = 0.95
RESAMPLES = 1_000
MOST_CLUSTERS = 2_000
# Up to as many clusters are resampled exactly as many at a time.
_EXACT = 100
# Numbers that a step of the bootstrap holds at once: 64 MB.
_HELD = 1 << 23


class Resamples:
    """Counts how often each of k clusters is drawn in each resample, once for all groups that have k clusters.

    Seeded by a text alone, from the generator's raw numbers, which no release of numpy changes. Up to 100 clusters are
    drawn k at a time. More are the first k of 2,000 that are drawn together: their number varies around k, which a mean
    does not feel.
    """

    def __init__(self, seed_text: str) -> None:
        self._seed_text = seed_text
        self._known: dict[tuple[str, int], Floats] = {}

    def weights(self, factor: str, clusters: int) -> Floats:
        """How often each cluster is drawn: clusters x resamples. Different factors are drawn independently."""
        drawn = clusters if clusters <= _EXACT else MOST_CLUSTERS
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
    """`count` random 64-bit numbers; the same text gives the same ones everywhere."""
    import numpy as np

    return np.random.PCG64(int.from_bytes(sha256(seed_text.encode()).digest()[:16])).random_raw(count)


class ResampleTable(NamedTuple):
    """Groups that have equal numbers of lesser and of greater clusters, laid out to be resampled together.

    `members`: the groups. `places`: their combinations of needle and haystack; `at`: where each stands in a table of
    groups x lesser x greater. `inner`, `outer`: how often the greater and the lesser clusters are drawn. Sums times
    `scale` are rounded to whole numbers. `weights`: the resampled weights, a line for each group, or one for all.
    """

    members: Whole
    places: Whole
    at: Whole
    inner: Floats
    outer: Floats
    scale: float
    weights: Floats

    def interval_ends(self, totals: Floats) -> tuple[Floats, Floats]:
        """Low and high end of every member's mean, from the totals of all combinations."""
        import numpy as np

        table = np.zeros(len(self.members) * len(self.outer) * len(self.inner))
        table[self.at] = totals[self.places]
        drawn = _drawn_sums(table.reshape(-1, len(self.inner)), self.inner, self.outer, self.scale)
        return _percentiles(drawn, self.weights)


class ResampleTables:
    """Makes the tables of some groups, which do not depend on the values; keeps the last ones if they are small."""

    def __init__(self, sums: ClusterSums) -> None:
        self._sums = sums
        self._last: tuple[bytes, Resamples, list[ResampleTable]] | None = None

    def of(self, members: Whole, resamples: Resamples) -> Iterable[ResampleTable]:
        """The tables of the groups `members`."""
        found = _tables(self._sums, members, resamples)
        if len(members) * RESAMPLES > _HELD:
            return found
        key = members.tobytes()
        if self._last is None or self._last[:2] != (key, resamples):
            self._last = key, resamples, list(found)
        return self._last[2]


def _tables(sums: ClusterSums, members: Whole, resamples: Resamples) -> Iterator[ResampleTable]:
    """One table or more for all groups with the same numbers of clusters, since they share their draws.

    With weights U of the lesser and V of the greater factor a resample's mean is sum(U_a V_b S_ab) / sum(U_a V_b N_ab),
    S and N the sums and weights of the rows of a and b. Sums are taken of whole numbers below 2^52, which are exact in
    any order, so that no processor's or library's way to multiply matrices shows.
    """
    import numpy as np

    swapped = sums.needles > sums.haystacks
    few = np.where(swapped, sums.haystacks, sums.needles)
    many = np.where(swapped, sums.needles, sums.haystacks)
    sizes = np.bincount(sums.group, minlength=len(few))
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
            turned = swapped[sums.group[places]]
            row = np.where(turned, sums.haystack[places], sums.needle[places])
            row += np.repeat(np.arange(len(part)), sizes[part]) * lesser
            at = row * greater + np.where(turned, sums.needle[places], sums.haystack[places])
            weight = np.zeros((len(part) * lesser, greater))
            weight.reshape(-1)[at] = sums.weight[places]
            largest = 100 * float(np.bincount(sums.group[places], sums.weight[places]).max())
            scale = 2.0 ** (51 - math.frexp(largest * float(outer.max()) * float(inner.max()))[1])
            # Of a full grid all groups have the same numbers of rows.
            same = bool((weight.reshape(len(part), -1) == weight[:lesser].reshape(1, -1)).all())
            weights = _drawn_sums(weight[:lesser] if same else weight, inner, outer, scale)
            yield ResampleTable(part, places, at, inner, outer, scale, weights)


def _drawn_sums(table: Floats, inner: Floats, outer: Floats, scale: float) -> Floats:
    """The resampled sums (groups x resamples) of a table of (groups and lesser clusters) x greater clusters."""
    import numpy as np

    drawn = (np.rint(table * scale) @ inner).reshape(-1, len(outer), RESAMPLES)
    drawn *= outer
    sums: Floats = drawn.sum(axis=1)
    return sums


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
