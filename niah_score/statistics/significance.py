"""Tests paired differences of groups of rows, and adjusts p values where several are stated at once.

p is the chance of a difference at least as large between equally good runs:

McNemar     where all scores of a group are right or wrong: the exact binomial test of the rows on which runs differ.
sign flips  otherwise: sums of differences per needle and haystack (rows where there are none), each with its sign
            flipped or not: all ways up to 13 sums, 10,000 random ones up to 500, beyond that their normal limit.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from niah_score.statistics.bootstrap import raw_numbers
from niah_score.statistics.cluster_sums import cluster_sums

if TYPE_CHECKING:
    from niah_score.statistics.cluster_sums import Floats, Whole

_FLIPS = 10_000
_ALL_WAYS = 13
_MOST_FLIPPED = 500


def mcnemar(one: int, other: int) -> float:
    """p of the exact McNemar test, two-sided: one run alone was right `one` times, the other alone `other` times.

    min(1, 2 P(X <= min)), X binomial of as many trials at one half. Terms are added from the greatest down.
    """
    trials, least = one + other, min(one, other)
    log = math.lgamma(trials + 1) - math.lgamma(least + 1) - math.lgamma(trials - least + 1) - trials * math.log(2)
    term = total = 1.0
    for k in range(least, 0, -1):
        term *= k / (trials - k + 1)
        total += term
        if term < 1e-18 * total:
            break
    return min(1.0, 2 * total * math.exp(log))


def holm(values: Sequence[float]) -> list[float]:
    """Adjust p values for their number (S. Holm, Scand. J. Stat. 6, 1979); they stay in their order."""
    adjusted = [0.0] * len(values)
    reached = 0.0
    for rank, place in enumerate(sorted(range(len(values)), key=values.__getitem__)):
        reached = max(reached, min(1.0, (len(values) - rank) * values[place]))
        adjusted[place] = reached
    return adjusted


def benjamini_hochberg(values: Sequence[float]) -> list[float]:
    """Adjust p values so that at most 5 % of those below 0.05 are expected to be chance; they stay in their order.

    Y. Benjamini and Y. Hochberg, J. R. Stat. Soc. B 57, 1995: from the largest down, p times number over rank.
    """
    adjusted = [0.0] * len(values)
    reached = 1.0
    ranked = sorted(range(len(values)), key=values.__getitem__)
    for rank in range(len(ranked), 0, -1):
        reached = min(reached, len(values) / rank * values[ranked[rank - 1]])
        adjusted[ranked[rank - 1]] = reached
    return adjusted


def p_values(
    codes: Whole,
    count: int,
    one: Floats,
    other: Floats,
    needles: Whole,
    haystacks: Whole,
    weights: Floats | None = None,
) -> list[tuple[float | None, str]]:
    """Compute p of every group, and name the test. `weights`: what a row counts; with them signs are flipped."""
    import numpy as np

    n = np.bincount(codes, minlength=count)
    between = ((one != 0) & (one != 100)) | ((other != 0) & (other != 100))
    graded = np.bincount(codes[between], minlength=count) > 0
    lost = np.bincount(codes[one > other], minlength=count).tolist()
    won = np.bincount(codes[one < other], minlength=count).tolist()
    if weights is not None:
        graded = n > 0
    flipped = _sign_flips(codes, count, other - one, needles, haystacks, np.flatnonzero(graded), weights)
    found: list[tuple[float | None, str]] = []
    for group, size in enumerate(n.tolist()):
        if not size:
            found.append((None, "none"))
        elif graded[group]:
            found.append((flipped[group], "sign flips"))
        else:
            found.append((mcnemar(lost[group], won[group]), "mcnemar"))
    return found


def _sign_flips(
    codes: Whole,
    count: int,
    apart: Floats,
    needles: Whole,
    haystacks: Whole,
    members: Whole,
    weights: Floats | None = None,
) -> dict[int, float]:
    """p of some groups by flipping the signs of their clusters' sums. Sums are whole numbers, so that ties are ties."""
    import numpy as np

    if not len(members):
        return {}
    clusters = cluster_sums(codes, count, apart, needles, haystacks, weights)
    sums = np.rint(clusters.total * 2.0 ** (51 - math.frexp(100.0 * len(codes))[1]))
    ends = np.cumsum(np.bincount(clusters.group, minlength=count)).tolist()
    parts = {group: sums[ends[group - 1] if group else 0 : ends[group]] for group in members.tolist()}
    # A cluster without a difference is the same with either sign.
    parts = {group: part[part != 0] for group, part in parts.items()}
    found = {}
    flippable: dict[int, dict[int, Floats]] = {_ALL_WAYS: {}, _MOST_FLIPPED: {}}
    for group, part in parts.items():
        if not len(part):
            found[group] = 1.0
        elif len(part) > _MOST_FLIPPED:
            found[group] = math.erfc(abs(float(part.sum())) / math.sqrt(2 * float((part * part).sum())))
        else:
            flippable[_ALL_WAYS if len(part) <= _ALL_WAYS else _MOST_FLIPPED][group] = part
    for width, some in flippable.items():
        step = 1_000
        for first in range(0, len(some), step):
            names = list(some)[first : first + step]
            table = np.zeros((width, len(names)))
            for column, name in enumerate(names):
                table[: len(some[name]), column] = some[name]
            reached = np.abs(_signs(width) @ table) >= np.abs(table.sum(axis=0))
            # The signs as they are count as one of the random ways.
            extra = 0 if width == _ALL_WAYS else 1
            shares = (reached.sum(axis=0) + extra) / (len(reached) + extra)
            found.update(zip(names, shares.tolist(), strict=True))
    return found


def _signs(clusters: int) -> Floats:
    """Ways x clusters, 1 and -1: all ways of a few clusters, random ones of many, always the same."""
    import numpy as np

    if clusters == _ALL_WAYS:
        ways = np.arange(2**clusters)[:, None] >> np.arange(clusters) & 1
        return 1.0 - 2.0 * ways.astype(np.float64)
    words = raw_numbers("niah|sign flips", _FLIPS * clusters // 64 + 1).astype("<u8")
    bits = np.unpackbits(words.view(np.uint8))[: _FLIPS * clusters].reshape(_FLIPS, clusters)
    return 1.0 - 2.0 * bits.astype(np.float64)
