"""Sums rows that share a group, a needle and a haystack: what all intervals and tests of clustered rows start from.

All sums are taken in the order of the rows: the same rows in the same order give the same bits.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Whole = NDArray[np.int64]


class ClusterSums(NamedTuple):
    """Sums for each combination of group, needle and haystack, sorted by group.

    In a group without clusters, every row is a combination by itself. Item i of `group`, `needle`, `haystack`, `total`
    (the sum of the values) and `weight` (the sum of the weights) belongs to combination i; `needle` and `haystack`
    count from 0 within the group. Item g of the others belongs to group g: `needles` and `haystacks` say how many it
    has, `rows` whether its rows are independent (they then stand in for haystacks).
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
        """What a group is clustered by, as the method of an interval names it."""
        if self.rows[group]:
            return "rows"
        factors = (("needles", self.needles), ("haystacks", self.haystacks))
        return ", ".join(name for name, counts in factors if counts[group] > 1)


def cluster_sums(
    groups: Whole, count: int, values: Floats, needles: Whole, haystacks: Whole, weights: Floats | None = None
) -> ClusterSums:
    """Sum the values of rows that share group, needle and haystack; there is one row at least.

    `groups`, `needles` and `haystacks` are codes from 0, item i of each belongs to row i; groups are below `count`.
    """
    sums, place = combine_rows(groups, count, needles, haystacks, weights)
    return with_totals(sums, place, values, weights)


def with_totals(sums: ClusterSums, place: Whole, values: Floats, weights: Floats | None) -> ClusterSums:
    """The sums of other values of the same rows; `place` as `combine_rows` returns it."""
    import numpy as np

    weighted = values if weights is None else values * weights
    return sums._replace(total=np.bincount(place, weighted).astype(np.float64, copy=False))


def combine_rows(
    groups: Whole, count: int, needles: Whole, haystacks: Whole, weights: Floats | None
) -> tuple[ClusterSums, Whole]:
    """The combinations of group, needle and haystack, without totals, and each row's index among them.

    Where needles and haystacks split a group's rows alike, they are one factor under two names, and needles stand for
    both.
    """
    import numpy as np

    loose = _all_one(groups, needles, count) & _all_one(groups, haystacks, count)
    if loose.any():
        needles = np.where(loose[groups], 0, needles)
        haystacks = np.where(loose[groups], np.arange(len(groups)), haystacks)
    of_needles, of_haystacks = int(needles.max()) + 1, int(haystacks.max()) + 1
    keys = (groups * of_haystacks + haystacks) * of_needles + needles
    found, place = distinct(keys, count * of_haystacks * of_needles)
    group = found // (of_haystacks * of_needles)
    needle, needle_counts = _ranked(group, found % of_needles, count, of_needles)
    haystack, haystack_counts = _ranked(group, found // of_needles % of_haystacks, count, of_haystacks)
    combinations = np.bincount(group, minlength=count)
    alike = (combinations == needle_counts) & (combinations == haystack_counts) & ~loose & (combinations > 0)
    sums = ClusterSums(
        group,
        needle,
        np.where(alike[group], 0, haystack),
        np.zeros(0),
        np.bincount(place, weights).astype(np.float64, copy=False),
        needle_counts,
        np.where(alike, 1, haystack_counts),
        loose,
    )
    return sums, place


def distinct(keys: Whole, size: int) -> tuple[Whole, Whole]:
    """The different keys in order, and every key's index among them. All are below `size`; there is one at least."""
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


def _all_one(groups: Whole, codes: Whole, count: int) -> NDArray[np.bool_]:
    """For each group whether all its rows have the same code."""
    import numpy as np

    some = np.zeros(count, np.int64)
    some[groups] = codes
    found: NDArray[np.bool_] = np.bincount(groups[codes != some[groups]], minlength=count) == 0
    return found
