"""Computes effective lengths: the longest length whose mean still reaches a threshold, as in RULER and NoLiMa."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from itertools import takewhile
from typing import TYPE_CHECKING, Any, NamedTuple

from niah_score.errors import ScoreError
from niah_score.statistics.figures import Figure, figures
from niah_score.statistics.scored import Scored, as_scored

if TYPE_CHECKING:
    import polars as pl

RULER_THRESHOLD = 85.6
NOLIMA_SHARE = 0.85
# NoLiMa takes its base from contexts of 250, 500 and 1,000 tokens.
_LONGEST_BASE = 1_000


class EffectiveLength(NamedTuple):
    """The longest length at which the mean score still reaches a threshold (points).

    `length`: the longest that does (RULER); `longest_unbroken`: the longest up to which all do; null if none does.
    `interval`: from the longest length whose mean has an interval wholly at or above the threshold, to the longest
    whose interval reaches it (null ends: no length's does); null if the mean of any length has no interval.
    `or_more`: whether it ends at the longest length of all, so that longer ones might pass as well.
    `base`: the best mean among `base_lengths`, of which the threshold is a share; null for a fixed threshold. Any mean
    would reach a share of 0, so with a base of 0 there is no threshold, no length and no interval. Intervals take the
    base as exact.
    `base_is_short`: whether these are lengths up to 1,000 tokens, as in NoLiMa; if not, the shortest length is used.
    `lengths`: every length and its figure. `without_length`: the number of rows left out, as they have no length.
    """

    threshold: float | None
    length: int | None
    interval: tuple[int | None, int | None] | None
    or_more: bool
    longest_unbroken: int | None
    base: float | None
    base_lengths: tuple[int, ...]
    base_is_short: bool | None
    lengths: tuple[tuple[int, Figure], ...]
    without_length: int


def effective_length(
    scores: pl.DataFrame | Scored,
    metric: str = "score",
    *,
    threshold: float | None = None,
    share_of_base: float | None = None,
    base_lengths: Sequence[int] | None = None,
    by_needle: bool = False,
) -> EffectiveLength:
    """Compute the effective length by a threshold (by default RULER's 85.6) or by a share of the base (NoLiMa: 0.85).

    The base is the best mean among `base_lengths`, by default those up to 1,000 tokens, or the shortest if there are
    none; with `by_needle`, each needle's best mean among them, averaged over the needles, as in NoLiMa.
    Raises ScoreError if both a threshold and a share are given, or if no row of a base length has a score.
    """
    scored = as_scored(scores)
    if threshold is not None and share_of_base is not None:
        raise ScoreError("an effective length is by a threshold or by a share of the base, not by both")
    factor = scored.factor("length")
    by_length = list(zip(factor.values, figures(scored, metric, factor.codes, len(factor.values)), strict=True))
    if not by_needle or share_of_base is None:
        return effective_length_of(by_length, threshold, share_of_base, base_lengths)
    used, short = _base_lengths(_means(by_length), base_lengths)
    base = _base_by_needle(scored, metric, used)
    return _reached(by_length, share_of_base * base if base else None, base, used, short)


def _base_by_needle(scored: Scored, metric: str, lengths: Sequence[int]) -> float | None:
    """The mean over needles of each one's best mean at some lengths; None if no needle has a score there."""
    places, codes = scored.crossed("needle_id", "length")
    best: dict[str | None, float] = {}
    for (needle, length), figure in zip(places, figures(scored, metric, codes, len(places)), strict=True):
        if length in lengths and figure.mean is not None:
            best[needle] = max(best.get(needle, figure.mean), figure.mean)
    return math.fsum(best.values()) / len(best) if best else None


def effective_length_of(
    by_length: Sequence[tuple[int | None, Figure]],
    threshold: float | None = None,
    share_of_base: float | None = None,
    base_lengths: Sequence[int] | None = None,
) -> EffectiveLength:
    """The effective length from the figures of all lengths, rising; null may follow. Raises as `effective_length`."""
    if share_of_base is None:
        return _reached(by_length, RULER_THRESHOLD if threshold is None else threshold)
    means = _means(by_length)
    used, short = _base_lengths(means, base_lengths)
    base = max((means[length] for length in used), default=None)
    return _reached(by_length, share_of_base * base if base else None, base, used, short)


def _means(by_length: Sequence[tuple[int | None, Figure]]) -> dict[int, float]:
    return {length: figure.mean for length, figure in by_length if length is not None and figure.mean is not None}


def _reached(
    by_length: Sequence[tuple[int | None, Figure]],
    threshold: float | None,
    base: float | None = None,
    base_lengths: tuple[int, ...] = (),
    base_is_short: bool | None = None,
) -> EffectiveLength:
    """The lengths that reach a threshold; none does if it is None."""
    lengths = tuple((int(length), figure) for length, figure in by_length if length is not None)
    without = sum(figure.rows for length, figure in by_length if length is None)

    def reach(end: float | None) -> bool:
        # The mean of rows that all score 85.6 may differ from it in the last digit.
        return threshold is not None and end is not None and end >= threshold - 1e-9

    def longest(of: Iterable[tuple[int, float | None]]) -> int | None:
        return max((length for length, end in of if reach(end)), default=None)

    low = longest((length, figure.low) for length, figure in lengths)
    high = longest((length, figure.high) for length, figure in lengths)
    has_interval = bool(lengths) and threshold is not None and all(figure.low is not None for _, figure in lengths)
    unbroken = [length for length, _ in takewhile(lambda one: reach(one[1].mean), lengths)]
    return EffectiveLength(
        threshold,
        longest((length, figure.mean) for length, figure in lengths),
        (low, high) if has_interval else None,
        has_interval and high == lengths[-1][0],
        unbroken[-1] if unbroken else None,
        base,
        base_lengths,
        base_is_short,
        lengths,
        without,
    )


def _base_lengths(means: dict[int, float], asked: Sequence[int] | None) -> tuple[tuple[int, ...], bool | None]:
    """The lengths that the base is taken from, and whether all of them are short."""
    if asked is not None:
        unscored = sorted(set(asked) - set(means))
        if unscored:
            raise ScoreError(f"base lengths: no row of length {unscored[0]} has a score")
        return tuple(sorted(set(asked))), all(length <= _LONGEST_BASE for length in asked)
    if not means:
        return (), None
    short = tuple(length for length in sorted(means) if length <= _LONGEST_BASE)
    return (short, True) if short else ((min(means),), False)


def as_record(effective: EffectiveLength) -> dict[str, Any]:
    """An effective length for JSON files, without the figures, which the files hold elsewhere."""
    return {
        name: list(value) if isinstance(value, tuple) else value
        for name, value in effective._asdict().items()
        if name != "lengths"
    }
