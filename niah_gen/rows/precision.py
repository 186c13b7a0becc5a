"""Computes how precisely a number of rows tells a score: half the width of its interval, in percentage points."""

from __future__ import annotations

import math
from statistics import NormalDist

_CONFIDENCE = 0.95


def half_width(rows: int, percent: float = 50.0) -> float:
    """Half of the Wilson interval at 95 % around a score of right and wrong rows, in percentage points.

    z / (1 + z^2/n) x sqrt(p (1 - p) / n + z^2 / (4 n^2)): E. B. Wilson, JASA 22 (1927). At 50 % it is widest.
    """
    if rows < 1:
        return 50.0
    z = NormalDist().inv_cdf((1 + _CONFIDENCE) / 2)
    share = percent / 100
    return 100 * z / (1 + z * z / rows) * math.sqrt(share * (1 - share) / rows + z * z / (4 * rows * rows))


def rows_for(points: float) -> int:
    """The fewest rows whose interval at 50 % is at most that many percentage points to each side."""
    z = NormalDist().inv_cdf((1 + _CONFIDENCE) / 2)
    # At one half the formula is z / (2 sqrt(n + z^2)).
    return max(1, math.ceil(z * z * ((50 / points) ** 2 - 1)))
