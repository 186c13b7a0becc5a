"""Finds the rows that share a group, a needle and a haystack, which all intervals and tests of clustered rows sum over.

Sums are taken in row order, so the same rows in the same order give the same bits.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Whole = NDArray[np.int64]
    # Codes from 0, in the smallest type that holds them; cast to int64 before adding or multiplying.
    Codes = NDArray[np.integer[Any]]


class Combinations(NamedTuple):
    """The combinations of group, needle and haystack that occur in the rows, sorted by group.

    `place`: the combination of each row. `needle`, `haystack`: the needle and haystack of each combination; the same
    needle in two groups has two numbers. `group_of_needle`, `group_of_haystack`, `group`: the group of each needle,
    haystack and combination.
    """

    place: Codes
    group: Whole
    needle: Codes
    group_of_needle: Whole
    haystack: Codes
    group_of_haystack: Whole


def combinations_of(groups: Codes, count: int, needles: Codes, haystacks: Codes) -> Combinations:
    """Find the combinations of at least one row; item i of each array belongs to row i.

    `groups`, `needles` and `haystacks` are codes from 0; groups are below `count`.
    """
    of_needles, of_haystacks = int(needles.max()) + 1, int(haystacks.max()) + 1
    keys = wide(groups, of_haystacks, haystacks)
    keys *= of_needles
    keys += needles
    present, place = distinct(keys, count * of_haystacks * of_needles)
    del keys
    group = present // (of_haystacks * of_needles)
    needle_keys, needle = distinct(group * of_needles + present % of_needles, count * of_needles)
    haystack_keys, haystack = distinct(present // of_needles, count * of_haystacks)
    return Combinations(place, group, needle, needle_keys // of_needles, haystack, haystack_keys // of_haystacks)


def wide(codes: Codes, size: int, others: Codes) -> Whole:
    """A distinct key for each pair of codes; `others` are below `size`."""
    import numpy as np

    keys: Whole = codes.astype(np.int64)
    keys *= size
    keys += others
    return keys


def distinct(keys: Whole, size: int) -> tuple[Whole, Codes]:
    """The distinct keys, sorted, and each key's index among them. There is at least one key; all are below `size`."""
    import numpy as np

    # Below 2^32 rows, indices take half the memory.
    kind: Any = np.uint32 if len(keys) < 2**32 else np.int64
    if size <= 4 * len(keys):
        seen = np.zeros(size, np.bool_)
        seen[keys] = True
        present: Whole = np.flatnonzero(seen)
        places: Codes = np.zeros(size, kind)
        places[present] = np.arange(len(present), dtype=kind)
        return present, places[keys]
    order = None if bool((keys[1:] >= keys[:-1]).all()) else np.argsort(keys)
    ordered = keys if order is None else keys[order]
    new = np.empty(len(keys), np.bool_)
    new[0] = True
    np.not_equal(ordered[1:], ordered[:-1], out=new[1:])
    place: Codes = np.cumsum(new, dtype=kind)
    place -= kind(1)
    if order is not None:
        unordered = place
        place = np.empty(len(keys), kind)
        place[order] = unordered
    return ordered[new], place
