"""Forecasts how precisely needles and rows will tell a score: half the width of its interval, in percentage points.

The scorer's interval is over needles: what a model would score with other needles like these. How much needles differ
is unknown before there are answers; the forecast assumes a standard deviation of one on the logit scale and a score of
50 %, where intervals are widest.
"""

from __future__ import annotations

import math
from statistics import NormalDist

_Z = NormalDist().inv_cdf(0.975)
# The variance of the chances of needles whose logits are normal around 0 with a standard deviation of one, over 1/4.
_CORRELATION = 0.1735


def half_width(needles: int, rows_each: int) -> float | None:
    """Half the width of the 95 % interval over `needles` with `rows_each` rows; None for one needle or no rows.

    The number of independent rows n is the rows divided by the design effect 1 + (m - 1) x correlation, times (z / t)^2
    with needles - 1 degrees of freedom (E. L. Korn and B. I. Graubard, Surv. Methodol. 24, 1998), at least the number
    of needles. The half width is that of Wilson's interval with continuity correction, (1 + z sqrt(z^2 + n - 1/n)) /
    (2n + 2z^2), which is near the exact interval that the scorer computes (R. G. Newcombe, Stat. Med. 17, 1998).
    """
    if needles < 2 or rows_each < 1:
        return None
    n = needles * rows_each / (1 + (rows_each - 1) * _CORRELATION) * (_Z / t_quantile(needles - 1)) ** 2
    n = max(n, needles)
    return 100 * min(0.5, (1 + _Z * math.sqrt(_Z * _Z + n - 1 / n)) / (2 * (n + _Z * _Z)))


def needles_for(points: float, rows_each: int) -> int:
    """The fewest needles of `rows_each` rows whose interval is at most `points` percentage points to each side."""
    low, high = 1, 2
    while _wider(high, rows_each, points):
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if _wider(middle, rows_each, points) else (low, middle)
    return high


def _wider(needles: int, rows_each: int, points: float) -> bool:
    width = half_width(needles, rows_each)
    return width is None or width > points


def t_quantile(df: int) -> float:
    """The distance from 0 within which 95 % of Student's t distribution with `df` degrees of freedom lies."""
    low, high = 0.0, math.pi / 2
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if _within(middle, df) < 0.95 else (low, middle)
    return math.sqrt(df) * math.tan(low)


def _within(angle: float, df: int) -> float:
    """The share of t / sqrt(df) between the tangents of -angle and angle (Abramowitz and Stegun 26.7.3 and 26.7.4)."""
    sine, cosine = math.sin(angle), math.cos(angle)
    odd = df % 2
    term = cosine if odd else 1.0
    total = 0.0
    for power in range(1 + odd, df, 2):
        total += term
        term *= power / (power + 1) * cosine * cosine
    return (angle + sine * total) * 2 / math.pi if odd else sine * total
