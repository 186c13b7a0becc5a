"""Picks sentences or lines whose tokens add up to what is left of a budget."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from niah_gen.tokenizers.find import Ints

# How many of the last lines that fit are given back, and from how many lines the last ones are then picked.
_GIVEN_BACK = ((4, 24), (8, 48), (32, 256), (128, 512))
# How many lines to draw beyond those that fit, so that the last ones can be picked: at first, and if that fails.
FEW, MANY = 32, 512


def pick(sizes: Sequence[int], left: int, aim: int) -> tuple[int, ...]:
    """Numbers of sizes that add up to at most `left` and at least `left - aim`; empty if none do.

    Prefers the single size that comes nearest, else takes the first sum found. Sizes of 0 are never picked.
    """
    single = min(
        ((left - size, number) for number, size in enumerate(sizes) if 0 < size <= left <= size + aim), default=None
    )
    if single:
        return (single[1],)
    if left < 1:
        return ()
    least, whole = max(left - aim, 1), (1 << left + 1) - 1
    # Bit t of `reached[n]` says whether some of the first n sizes add up to t.
    reached = [1]
    for size in sizes:
        sums = reached[-1]
        if size > 0:
            sums |= sums << size & whole
        reached.append(sums)
        if sums >> least:
            near = (total for total in range(least, left + 1) if sums >> total & 1)
            return min(_numbers(total, sizes, reached) for total in near)[::-1]
    return ()


def _numbers(total: int, sizes: Sequence[int], reached: Sequence[int]) -> tuple[int, ...]:
    """The numbers of the sizes that first added up to a total, the last one first."""
    picked = []
    while total:
        last = next(number for number in range(len(sizes)) if reached[number + 1] >> total & 1)
        picked.append(last)
        total -= sizes[last]
    return tuple(picked)


def pick_lines(sizes: Ints, left: int, aim: int) -> Ints | None:
    """Numbers of lines, ascending, whose sizes add up to at most `left` and at least `left - aim`; None if none do.

    These are the first lines and a few of those that follow; lines are interchangeable.
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
