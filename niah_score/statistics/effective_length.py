"""Computes effective lengths: the longest length whose mean still reaches a threshold, as in RULER and NoLiMa.

The effective context is stricter: up to it, the mean of every depth reaches the threshold.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
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
    `base`: the best mean among `base_lengths`, of which the threshold is a share; null for a fixed threshold. Any mean
    would reach a share of 0, so with a base of 0 there is no threshold and no length.
    `base_is_short`: whether these are lengths up to 1,000 tokens, as in NoLiMa; if not, the shortest length is used.
    `next_length`, `is_significant`: the first length after `length`, and whether the threshold lies outside its
    interval; if not, the rows do not show which of the two is the effective length. Null if no length follows.
    `lengths`: every length and its figure. `without_length`: the number of rows left out, as they have no length.
    """

    threshold: float | None
    length: int | None
    longest_unbroken: int | None
    base: float | None
    base_lengths: tuple[int, ...]
    base_is_short: bool | None
    next_length: int | None
    is_significant: bool | None
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
    # The base lengths are the same; only their mean is computed differently.
    whole = effective_length_of(by_length, None, share_of_base, base_lengths)
    base = _base_by_needle(scored, metric, whole.base_lengths)
    least = share_of_base * base if base else math.inf
    again = effective_length_of(by_length, least)
    return again._replace(
        threshold=least if base else None, base=base, base_lengths=whole.base_lengths, base_is_short=whole.base_is_short
    )


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
    """The effective length from the figures of all lengths, null included. Raises the same as `effective_length`."""
    lengths = tuple((int(length), figure) for length, figure in by_length if length is not None)
    without = sum(figure.rows for length, figure in by_length if length is None)
    means = {length: figure.mean for length, figure in lengths if figure.mean is not None}
    base, used, short = None, tuple[int, ...](), None
    if share_of_base is not None:
        used, short = _base_lengths(means, base_lengths)
        base = max((means[length] for length in used), default=None)
        threshold = share_of_base * base if base else None
    elif threshold is None:
        threshold = RULER_THRESHOLD
    # The mean of rows that all score 85.6 may differ from it in the last digit.
    least = math.inf if threshold is None else threshold - 1e-9
    passed = [length for length, mean in means.items() if mean >= least]
    length = max(passed, default=None)
    unbroken = None
    for size, figure in lengths:
        if figure.mean is None or figure.mean < least:
            break
        unbroken = size
    after = next(((size, figure) for size, figure in lengths if length is None or size > length), None)
    significant = None
    if after is not None and threshold is not None and after[1].low is not None and after[1].high is not None:
        significant = not after[1].low <= threshold <= after[1].high
    return EffectiveLength(
        threshold, length, unbroken, base, used, short, after[0] if after else None, significant, lengths, without
    )


class EffectiveContext(NamedTuple):
    """The longest length up to which, at every length, the mean of every depth reaches the threshold (points).

    `length`: null if a depth of the shortest length stays below. `next_length`: the first length at which a depth does,
    or which has no score; null if there is none. `depths_below`: the depths below the threshold there, in percent.
    `is_significant`: whether the interval of one of these lies below the threshold; if none does, the rows do not show
    that the context ends there. `fewest_rows`: the smallest n of a cell; null if no row has a length, a depth and a
    score.
    """

    threshold: float
    length: int | None
    next_length: int | None
    depths_below: tuple[float, ...]
    is_significant: bool | None
    fewest_rows: int | None


def effective_context(
    scores: pl.DataFrame | Scored, metric: str = "score", threshold: float = RULER_THRESHOLD
) -> EffectiveContext:
    """Compute the effective context, by default with RULER's threshold."""
    scored = as_scored(scores)
    places, codes = scored.crossed("length", "depth_percent")
    return effective_context_of(list(zip(places, figures(scored, metric, codes, len(places)), strict=True)), threshold)


def effective_context_of(
    cells: Sequence[tuple[tuple[int | None, float | None], Figure]], threshold: float = RULER_THRESHOLD
) -> EffectiveContext:
    """The effective context from the figures of all cells (length, depth), by increasing length."""
    counted = [
        (length, depth, figure) for (length, depth), figure in cells
        if length is not None and depth is not None and figure.n
    ]  # fmt: skip
    fewest = min((figure.n for _, _, figure in counted), default=None)
    lengths = sorted({length for (length, _), _ in cells if length is not None}) if counted else []
    reached = None
    for length in lengths:
        at = [(depth, figure) for size, depth, figure in counted if size == length]
        below = [(depth, figure) for depth, figure in at if figure.mean is None or figure.mean < threshold - 1e-9]
        if below or not at:
            ends = [figure.high for _, figure in below if figure.high is not None]
            significant = min(ends) < threshold if ends else None
            depths = tuple(depth for depth, _ in below)
            return EffectiveContext(threshold, reached, int(length), depths, significant, fewest)
        reached = int(length)
    return EffectiveContext(threshold, reached, None, (), None, fewest)


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


def as_record(effective: EffectiveLength | EffectiveContext) -> dict[str, Any]:
    """An effective length or context for JSON files, without the figures, which the files hold elsewhere."""
    record: dict[str, Any] = {}
    for name, value in effective._asdict().items():
        if name != "lengths":
            # Files keep the field's original name.
            key = "told_apart" if name == "is_significant" else name
            record[key] = list(value) if isinstance(value, tuple) else value
    return record
