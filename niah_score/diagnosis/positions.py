"""Finds by where the facts stood which part of its prompts a model did not see.

A region is a rule for which rows' facts a fault would hide: those more than so many tokens before the end, those beyond
a length. Facts outside of it are found in a share b of the rows, which is fitted for each part and language; facts in
it in a share c x b. The region with the highest likelihood is taken, if it explains the rows better than equal chances
for all do, by more than worlds and contexts differ among themselves.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from niah_score.statistics.intervals import Codes, Floats, Mask

# Rows that a region has to hide, and to leave.
_FEWEST = 8
# A region found by chance among so many gains about 8 nats of log-likelihood at the most.
GAIN = 12.0
# A region with two edges has to be this much likelier than one with a single edge.
_SECOND_EDGE = 5.0
# How much of what is found elsewhere may be found in a region.
_MOST_KEPT = 0.8
# Beyond a cliff at most this share of the facts is found that are found elsewhere.
CLIFF = 0.2
_CUTS = 24
_LENGTHS = 64
_POWERS = np.array([1.0, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0])
_PASSES = 20


class Places(NamedTuple):
    """Rows with one deciding fact. `right`: 0 to 1. `start`, `end`: tokens before the fact, and after it.

    `length`: tokens. `stratum`: the code of the part and language. `context`: that of the haystack.
    """

    right: Floats
    start: Floats
    end: Floats
    length: Floats
    stratum: Codes
    context: Codes


class Region(NamedTuple):
    """Where facts are not seen. `kept`: the share of facts found there, of those found elsewhere.

    `hidden`: the rows in it. `explained`: how many more of them are wrong than elsewhere. `first`, `last`: its edges,
    in the unit `unit`: tokens from the start and from the end of the prompt, percent of its depth, or tokens of length.
    """

    fault: str
    unit: str
    first: float
    last: float
    hidden: Mask
    kept: float
    explained: float


class Fall(NamedTuple):
    """A fall of what is found with length. `found`: of each row, the share of facts found of those in short prompts.

    `whole`: the longest length, in tokens, at which nine of ten are found that are found in short prompts. `power`: how
    many facts an answer from several of them needs, going by its fall. `lost`: how many more answers would be right
    without the fall. `gain`: nats of log-likelihood gained over no fall, divided by how much contexts differ;
    `power_gain`: over a fall that is the same for one and for several facts.
    """

    found: Floats
    whole: float
    power: float
    lost: float
    gain: float
    power_gain: float


def lost_region(places: Places) -> Region | None:
    """The region whose facts the model does not see; None if none explains the answers."""
    rules = _rules(places)
    if not rules:
        return None
    hidden = np.array([rule[-1] for rule in rules])
    kept, likelihood = _fitted(hidden.astype(np.float64), places)
    gains = likelihood - _fitted(np.zeros((1, len(places.right))), places)[1]
    gains -= _SECOND_EDGE * np.array([rule[0] == "middle-lost" for rule in rules])
    gains[kept > _MOST_KEPT] = -np.inf
    # Where fewer facts are found the longer the prompt, a region has to explain more than that; but two lengths cannot
    # tell a cliff from a fall.
    is_cliff = np.array([rule[0] == "cliff" for rule in rules]) & (kept < CLIFF) & (len(np.unique(places.length)) < 3)
    gains[gains < _fall_gain(places) * ~is_cliff + _SECOND_EDGE] = -np.inf
    best = int(np.argmax(gains))
    fault, unit, first, last, mask = rules[best]
    factor = np.where(mask, kept[best], 1.0)
    usual = _shares(factor, places)
    spread = dispersion(factor * usual, places.right, places.context)
    if not gains[best] > GAIN * spread:
        return None
    explained = float((usual - places.right)[mask].sum())
    return Region(fault, unit, first, last, mask, float(kept[best]), explained)


def fall_of(places: Places, several: Mask) -> Fall:
    """How fewer answers are right in longer prompts. `several`: the rows whose answer follows from several facts.

    A share s(length) of what is found in the shortest prompts is found: it falls with each doubling, or from a length
    on, or as the share of a prompt that a budget of tokens can hold. Of what follows from several facts, a share
    s(length) ** power is right.
    """
    lengths, nth = np.unique(places.length, return_inverse=True)
    if len(lengths) > _LENGTHS:
        kept = np.linspace(0, len(lengths) - 1, _LENGTHS).astype(int)
        lengths, nth = lengths[kept], np.searchsorted(kept, nth, side="right") - 1
    strata = int(places.stratum.max()) + 1
    cells = places.stratum * len(lengths) + nth
    ones = np.ones(len(cells))
    right, rows = (np.bincount(cells, of, strata * len(lengths)).reshape(strata, -1) for of in (places.right, ones))
    slopes = np.exp2(-np.geomspace(0.02, 2, 14)[:, None] * np.log2(lengths / lengths[0]))
    budgets = np.minimum(1.0, np.geomspace(lengths[0], lengths[-1], 14)[:-1, None] / lengths)
    cliffs = [np.where(lengths > cut, np.linspace(0.2, 0.95, 6)[:, None], 1.0) for cut in _cuts(lengths)]
    curves = np.concatenate([slopes, budgets, *cliffs])
    # Axes: curves, powers, strata, lengths.
    powers = np.where(np.bincount(places.stratum, several) > 0, _POWERS[:, None], 1.0)[None, :, :, None]
    factors = curves[:, None, None, :] ** powers
    usual = np.clip(right.sum(axis=1) / np.maximum((rows * factors).sum(axis=3), 1e-9), 1e-6, 1.0)[..., None]
    chance = np.clip(usual * factors, 1e-6, 1 - 1e-6)
    likelihood = (right * np.log(chance) + (rows - right) * np.log(1 - chance)).sum(axis=(2, 3))
    curve, power = np.unravel_index(np.argmax(likelihood), likelihood.shape)
    spread = dispersion(chance[curve, power].ravel()[cells], places.right, places.context)
    alike = likelihood[:, 0].max()
    gain, power_gain = (alike - _likelihood(ones, places)) / spread, (likelihood.max() - alike) / spread
    whole = lengths[curves[curve] > 0.9].max()
    lost = ((usual - chance)[curve, power] * rows).sum()
    return Fall(curves[curve][nth], *map(float, (whole, _POWERS[power], lost, gain, power_gain)))


def in_blocks(places: Places) -> float:
    """How much neighbouring facts of a context are lost together, in standard deviations of what chance would give.

    Facts are compared with others of their context, by 400 permutations of each.
    """
    draw = np.random.default_rng(0)
    order = np.lexsort((places.start, places.context))
    right, context = places.right[order], places.context[order]
    seen = drawn = variance = 0.0
    for rows in np.split(right, np.flatnonzero(np.diff(context)) + 1):
        apart = rows - rows.mean()
        if len(rows) < 4 or not apart.any():
            continue
        mixed = draw.permuted(np.tile(apart, (400, 1)), axis=1)
        sums = (mixed[:, 1:] * mixed[:, :-1]).sum(axis=1)
        seen += float((apart[1:] * apart[:-1]).sum())
        drawn += float(sums.mean())
        variance += float(sums.var())
    return (seen - drawn) / variance**0.5 if variance else 0.0


def _rules(places: Places) -> list[tuple[str, str, float, float, Mask]]:
    """The regions to try: fault, unit, edges and rows hidden."""
    start, end, length = places.start, places.end, places.length
    depth = 100.0 * start / np.maximum(length, 1.0)
    starts, ends, depths = _cuts(start), _cuts(end), _cuts(depth)
    rules: list[tuple[str, str, float, float, Mask]] = []
    rules += [("front-lost", "tokens", 0.0, cut, end > cut) for cut in ends]
    rules += [("front-lost", "percent", 0.0, cut, depth < cut) for cut in depths]
    rules += [("end-lost", "tokens", cut, 0.0, start > cut) for cut in starts]
    rules += [("end-lost", "percent", cut, 100.0, depth > cut) for cut in depths]
    lengths = np.unique(length)[:-1]
    some = np.linspace(0, len(lengths) - 1, min(_CUTS, len(lengths))).round().astype(int)
    rules += [("cliff", "length", cut, 0.0, length > cut) for cut in lengths[some]]
    rules += [
        ("middle-lost", "tokens", first, last, (start > first) & (end > last)) for first in starts for last in ends[::2]
    ]
    rules += [
        ("middle-lost", "percent", first, last, (depth > first) & (depth < last))
        for first in depths
        for last in depths
        if first < last
    ]
    fewest = min(_FEWEST, len(start) // 4)
    return [rule for rule in rules if fewest <= rule[-1].sum() <= len(start) - fewest]


def _cuts(values: Floats) -> Floats:
    """Places between the values, about equally many values apart."""
    different = np.unique(np.round(values, 3))
    between = (different[1:] + different[:-1]) / 2
    return between[np.unique(np.linspace(0, len(between) - 1, _CUTS).round().astype(int))] if len(between) else between


def _fitted(hidden: Floats, places: Places) -> tuple[Floats, Floats]:
    """For each region the share kept, at most 1, and the log-likelihood. `hidden`: regions x rows, 0 or 1."""
    shares = np.eye(places.stratum.max() + 1)[places.stratum]
    n, right = shares.sum(axis=0), places.right @ shares
    n_in, right_in = hidden @ shares, (hidden * places.right) @ shares
    kept = np.ones(len(hidden))
    # The fit of b for a given c, and of c for given b, in turn.
    for _ in range(_PASSES):
        usual = np.clip(right / np.maximum(n - n_in + kept[:, None] * n_in, 1e-9), 1e-6, 1.0)
        kept = np.clip(right_in.sum(axis=1) / np.maximum((n_in * usual).sum(axis=1), 1e-9), 0.0, 1.0)
    inside, outside = np.clip(kept[:, None] * usual, 1e-6, 1 - 1e-6), np.clip(usual, 1e-6, 1 - 1e-6)
    of_all = right_in * np.log(inside) + (n_in - right_in) * np.log(1 - inside)
    right_out, n_out = right - right_in, n - n_in
    of_all += right_out * np.log(outside) + (n_out - right_out) * np.log(1 - outside)
    total: Floats = of_all.sum(axis=1)
    return kept, total


def _fall_gain(places: Places) -> float:
    """How much likelier rows are if what is found falls with each doubling of the length, or as a budget allows."""
    length, shortest, longest = places.length, places.length.min(), places.length.max()
    slopes = [(length / shortest) ** -slope for slope in np.geomspace(0.05, 2, 12)]
    budgets = [np.minimum(1.0, budget / length) for budget in np.geomspace(shortest, longest, 14)[:-1]]
    even, *fallen = (_likelihood(factor, places) for factor in (np.ones(len(length)), *slopes, *budgets))
    return max(even, *fallen) - even


def _shares(factor: Floats, places: Places) -> Floats:
    """The share b of each row's part and language, if rows are right a factor times as often."""
    right, rows = (np.bincount(places.stratum, of) for of in (places.right, factor))
    usual: Floats = np.clip(right / np.maximum(rows, 1e-9), 1e-6, 1.0)[places.stratum]
    return usual


def _likelihood(factor: Floats, places: Places) -> float:
    chance = np.clip(_shares(factor, places) * factor, 1e-6, 1 - 1e-6)
    return float((places.right * np.log(chance) + (1 - places.right) * np.log(1 - chance)).sum())


def dispersion(chance: Floats, right: Floats, cluster: Codes) -> float:
    """How many times more clusters differ than independent rows would (Pearson's chi-squared by its degrees)."""
    chance = np.clip(chance, 0.01, 0.99)
    apart = np.bincount(cluster, right - chance)
    expected = np.bincount(cluster, chance * (1 - chance))
    used = expected > 0
    return max(1.0, float((apart[used] ** 2 / expected[used]).mean()))
