"""Picks the sentences or lines whose tokens add up to what is left of a budget."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from niah_gen.tokenizers.find import Ints

# How many of the last lines that fit are given back, and among how many lines the last ones are then picked.
_GIVEN_BACK = ((4, 24), (8, 48), (32, 256), (128, 512))
# Lines beyond those that fit among which the last ones are picked: at first, and where these do not do.
FEW, MANY = 32, 512


def pick(sizes: Sequence[int], left: int, aim: int) -> tuple[int, ...]:
    """Numbers of sizes that add up to at most `left` and at least `left - aim`; empty if none do.

    Sizes of 0 are never picked. The single one that comes nearest, else the first sum found.
    """
    single = min(
        ((left - size, number) for number, size in enumerate(sizes) if 0 < size <= left <= size + aim), default=None
    )
    if single:
        return (single[1],)
    sums: dict[int, tuple[int, ...]] = {0: ()}
    for number, size in enumerate(sizes):
        for total, picked in list(sums.items()):
            more = total + size
            if size > 0 and more <= left and more not in sums:
                sums[more] = (*picked, number)
                if more >= left - aim:
                    return sums[more]
    return ()


def pick_lines(sizes: Ints, left: int, aim: int) -> Ints | None:
    """Numbers of lines, ascending, whose sizes add up to at most `left` and at least `left - aim`; None if none do.

    The first lines, and a few of those that follow, any of which may stand for any other.
    """
    ends = np.cumsum(sizes)
    count = int(np.searchsorted(ends, left, side="right"))
    if count and ends[count - 1] >= left - aim:
        return np.arange(count)
    for back, among in _GIVEN_BACK:
        first = max(0, count - back)
        rest = left - (int(ends[first - 1]) if first else 0)
        picked = pick(sizes[first : first + among].tolist(), rest, aim)
        if picked:
            return np.concatenate([np.arange(first), np.array(picked) + first])
        if first + among >= len(sizes):
            return None
    return None
