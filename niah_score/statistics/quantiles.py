"""Computes the incomplete beta function, and from it quantiles of the beta and Student's t distributions.

All functions work elementwise on arrays.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from niah_score.statistics.cluster_sums import Floats

# The absolute error of quantiles of the beta distribution.
_TOLERANCE = 1e-12
# More steps than any fraction or search here needs.
_MOST_STEPS = 1_000


def incomplete_beta(x: Floats, a: Floats, b: Floats) -> Floats:
    """The share of a beta distribution below x, 0 to 1: the regularised incomplete beta function; a and b above 0.

    By its continued fraction (Abramowitz and Stegun 26.5.8), on the side of the mean where it converges fast.
    """
    return _below(x, a, b, _log_beta(a, b))


def beta_quantile(share: Floats, a: Floats, b: Floats) -> Floats:
    """The point below which lies `share` of a beta distribution, to within 1e-12; a and b above 0.

    Newton's method, bisecting the remaining interval where a step would leave it.
    """
    import numpy as np

    log_beta = _log_beta(a, b)
    low, high, x = np.zeros(len(a)), np.ones(len(a)), _guess(share, a, b)
    left = np.arange(len(a))
    for _ in range(_MOST_STEPS):
        if not len(left):
            break
        at, p, q = x[left], a[left], b[left]
        above = _below(at, p, q, log_beta[left]) - share[left]
        low[left], high[left] = np.where(above > 0, low[left], at), np.where(above > 0, at, high[left])
        with np.errstate(all="ignore"):
            step = above / np.exp((p - 1) * np.log(at) + (q - 1) * np.log1p(-at) - log_beta[left])
        inside = (at - step > low[left]) & (at - step < high[left])
        there = (np.abs(step) < _TOLERANCE) | (high[left] - low[left] < _TOLERANCE)
        x[left] = np.where(there, at, np.where(inside, at - step, (low[left] + high[left]) / 2))
        left = left[~there]
    return x


def _guess(share: Floats, a: Floats, b: Floats) -> Floats:
    """A start near the quantile: Abramowitz and Stegun 26.5.22; for a or b below 1, the power laws at both ends."""
    import numpy as np

    with np.errstate(all="ignore"):
        far = np.sqrt(-2 * np.log(np.minimum(share, 1 - share)))
        z = far - (2.30753 + 0.27061 * far) / (1 + far * (0.99229 + 0.04481 * far))
        z = np.where(share < 0.5, z, -z)
        part, other = 1 / (2 * a - 1), 1 / (2 * b - 1)
        h, square = 2 / (part + other), (z * z - 3) / 6
        w = z * np.sqrt(square + h) / h - (other - part) * (square + 5 / 6 - 2 / (3 * h))
        bell = a / (a + b * np.exp(2 * w))
        start, end = np.exp(a * np.log(a / (a + b))) / a, np.exp(b * np.log(b / (a + b))) / b
        rising, falling = (a * (start + end) * share) ** (1 / a), 1 - (b * (start + end) * (1 - share)) ** (1 / b)
        guess = np.where((a >= 1) & (b >= 1), bell, np.where(share < start / (start + end), rising, falling))
    inside: Floats = np.where((guess > 0) & (guess < 1), guess, a / (a + b))
    return inside


def t_quantile(df: Floats, confidence: float) -> Floats:
    """The t within which `confidence` of Student's t distribution lies, on both sides of 0; `df` is above 0.

    t^2 / (df + t^2) has the beta distribution of 1/2 and df/2.
    """
    import numpy as np

    distinct, place = np.unique(df, return_inverse=True)
    share = beta_quantile(np.full(len(distinct), confidence), np.full(len(distinct), 0.5), distinct / 2)
    reach: Floats = np.sqrt(distinct * share / (1 - share))[place]
    return reach


def t_tail(t: Floats, df: Floats) -> Floats:
    """The two-sided share of Student's t distribution at least as far from 0 as t."""
    import numpy as np

    square = np.square(t)
    return incomplete_beta(df / (df + square), df / 2, np.full(len(df), 0.5))


def _log_beta(a: Floats, b: Floats) -> Floats:
    import numpy as np

    pairs = zip(a.tolist(), b.tolist(), strict=True)
    return np.array([math.lgamma(p) + math.lgamma(q) - math.lgamma(p + q) for p, q in pairs], np.float64)


def _below(x: Floats, a: Floats, b: Floats, log_beta: Floats) -> Floats:
    import numpy as np

    turned = x > (a + 1) / (a + b + 2)
    p, q, at = np.where(turned, b, a), np.where(turned, a, b), np.where(turned, 1 - x, x)
    with np.errstate(divide="ignore"):
        front = np.exp(p * np.log(at) + q * np.log1p(-at) - log_beta) / p
    share = np.clip(front * _fraction(at, p, q), 0, 1)
    below: Floats = np.where(turned, 1 - share, share)
    return below


def _fraction(x: Floats, a: Floats, b: Floats) -> Floats:
    """The continued fraction, by Lentz's method (Appl. Opt. 15, 1976); on this side of the mean no divisor is 0."""
    import numpy as np

    upper = np.ones(len(x))
    lower = 1 / (1 - (a + b) * x / (a + 1))
    fraction = lower
    for step in range(1, _MOST_STEPS):
        at = a + 2 * step
        for term in (step * (b - step) * x / ((at - 1) * at), -(a + step) * (a + b + step) * x / (at * (at + 1))):
            lower = 1 / (1 + term * lower)
            upper = 1 + term / upper
            change = upper * lower
            fraction = fraction * change
        if step % 4 == 0 and float(np.abs(change - 1).max(initial=0.0)) < _TOLERANCE:
            break
    return fraction
