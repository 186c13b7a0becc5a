"""Simulates how often intervals contain the true mean, and how often equal runs are called different, as tables.

.venv/bin/python tests/benchmarks/coverage.py

Each simulated dataset has new needles, with chances that differ by a normal effect on the logit scale, at 8 lengths
and 21 depths, and every needle has a haystack of its own at each length. The truth is the mean chance over all needles
that could have been drawn. Graded rows score between 0 and 100, with their needle's chance as the mean. Every figure
comes from the functions that score and compare use, and from a fixed seed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import betainc

from niah_score.statistics.intervals import Clusters, Figure, differences, means, t_quantile, weighted_means

Floats = NDArray[np.float64]
Whole = NDArray[np.int64]

LENGTHS, DEPTHS = 8, 21
NEEDLES = (2, 3, 6, 10, 20, 34)
MEANS = (0.5, 0.8, 0.95, 0.99)
EFFECTS = (0.0, 1.0, 2.0)
# Graded rows are beta-distributed, and the two parameters have this sum.
_CONCENTRATION = 4.0


class Design(NamedTuple):
    """The rows of many simulated datasets, one after another: `needles` x LENGTHS x DEPTHS rows each.

    `dataset`, `needle`, `haystack`, `length`: codes of each row; all but the first are numbered within the dataset.
    """

    datasets: int
    needles: int
    dataset: Whole
    needle: Whole
    haystack: Whole
    length: Whole

    def clusters(self) -> Clusters:
        """The clusters that the scorer would make of these rows, each dataset a group."""
        return Clusters(self.dataset, self.datasets, self.needle, self.haystack, self.length)


def design(datasets: int, needles: int, haystacks: int | None = None) -> Design:
    """`haystacks`: how many each length has, shared by all needles; by default each needle has its own."""
    shape = datasets, needles, LENGTHS, DEPTHS
    dataset, needle, length, depth = (place.reshape(-1) for place in np.indices(shape))
    haystack = length * needles + needle if haystacks is None else length * haystacks + depth % haystacks
    return Design(datasets, needles, dataset, needle, haystack, length)


def logit_of(mean: float, sd: float) -> float:
    """The logit around which normal effects have this mean chance: by bisection, with Gauss-Hermite quadrature."""
    at, weight = np.polynomial.hermite_e.hermegauss(201)
    low, high = -40.0, 40.0
    for _ in range(80):
        middle = (low + high) / 2
        below = float((weight * chance(middle + sd * at)).sum() / weight.sum()) < mean
        low, high = (middle, high) if below else (low, middle)
    return low


def chance(logits: Floats) -> Floats:
    """The chance of a logit."""
    chances: Floats = 1 / (1 + np.exp(-logits))
    return chances


def scores(chances: Floats, rng: np.random.Generator, *, graded: bool) -> Floats:
    """A score for each row, 0 to 100, with these chances as means."""
    if not graded:
        return np.where(rng.random(len(chances)) < chances, 100.0, 0.0)
    inside = np.clip(chances, 1e-6, 1 - 1e-6) * _CONCENTRATION
    values: Floats = 100.0 * rng.beta(inside, _CONCENTRATION - inside)
    return values


class Covered(NamedTuple):
    """The percentage of datasets in which an interval contains the true mean: the scorer's, and a plain t interval.

    `width`: the median width of the scorer's interval, in points.
    """

    ours: float
    plain: float
    width: float


def covered(rows: Design, mean: float, sd: float, rng: np.random.Generator, *, graded: bool) -> Covered:
    """Simulate intervals of the mean of needles that differ by `sd` logits."""
    logits = logit_of(mean, sd) + sd * rng.standard_normal((rows.datasets, rows.needles))
    values = scores(chance(logits)[rows.dataset, rows.needle], rng, graded=graded)
    intervals = means(rows.clusters(), values)
    by_needle = values.reshape(rows.datasets, rows.needles, -1).mean(axis=2)
    reach = t_quantile(np.array([rows.needles - 1.0])) * np.sqrt(by_needle.var(axis=1, ddof=1) / rows.needles)
    plain = np.abs(by_needle.mean(axis=1) - 100 * mean) <= reach
    widths = [one.high - one.low for one in intervals if one.low is not None and one.high is not None]
    return Covered(
        _percent([_contains(one, 100 * mean) for one in intervals]), _percent(plain), float(np.median(widths))
    )


def _contains(interval: Figure, truth: float) -> bool:
    return interval.low is not None and interval.high is not None and interval.low <= truth <= interval.high


def _percent(outcomes: Sequence[bool] | NDArray[np.bool_]) -> float:
    return 100 * float(np.mean(outcomes))


class Told(NamedTuple):
    """The percentage of pairs of runs with p below 0.05, by each test."""

    ours: float
    flips: float
    mcnemar: float


def told_apart(rows: Design, mean: float, sd: float, interaction: float, drop: float, rng: np.random.Generator) -> Told:
    """Two runs of right and wrong rows over the same needles; by chance, each needle is harder or easier for each run.

    `interaction`: the standard deviation of that effect, in logits; `drop`: how many logits worse the second run is.
    """
    shape = rows.datasets, rows.needles
    common = logit_of(mean, float(np.hypot(sd, interaction))) + sd * rng.standard_normal(shape)
    one, other = (
        scores(chance(common + interaction * rng.standard_normal(shape) - worse)[rows.dataset, rows.needle], rng,
               graded=False)
        for worse in (0.0, drop)
    )  # fmt: skip
    ours = [one["p"] is not None and one["p"] < 0.05 for one in differences(rows.clusters(), other - one)]
    apart = (other - one).reshape(rows.datasets, rows.needles, -1)
    return Told(_percent(ours), _percent(flips(apart.sum(axis=2)) < 0.05), _percent(mcnemar(apart) < 0.05))


def flips(sums: Floats) -> Floats:
    """p of each line by flipping the signs of its needles' sums: in all ways up to 13 needles, else 4,000 at random."""
    needles = sums.shape[1]
    ways = np.array(list(product((1.0, -1.0), repeat=needles))) if needles <= 13 else (
        np.random.default_rng(1).choice((1.0, -1.0), (4_000, needles))
    )  # fmt: skip
    reached: Floats = (np.abs(sums @ ways.T) >= np.abs(sums.sum(axis=1))[:, None] - 1e-6).mean(axis=1)
    return reached


def mcnemar(apart: Floats) -> Floats:
    """p of the exact McNemar test of each dataset, which takes all rows to be independent.

    P(X <= k) of n trials at one half is the share of the beta distribution of n - k and k + 1 below one half.
    """
    won, lost = ((apart.reshape(len(apart), -1) * sign > 0).sum(axis=1).astype(np.float64) for sign in (1, -1))
    least = np.minimum(won, lost)
    tail = betainc(np.maximum(won + lost - least, 1), least + 1, 0.5)
    return np.where(won + lost > 0, np.minimum(1, 2 * tail), 1.0)


def haystack_coverage(
    needles: int, haystacks: int, effects: tuple[float, float], datasets: int, rng: np.random.Generator
) -> float:
    """Coverage where needles share haystacks that differ, too. `effects`: of needles and of haystacks, in logits."""
    rows = design(datasets, needles, haystacks)
    mean = 0.8
    of_haystacks = rng.standard_normal((datasets, int(rows.haystack.max()) + 1))
    logits = logit_of(mean, float(np.hypot(*effects))) + (
        effects[0] * rng.standard_normal((datasets, needles))[rows.dataset, rows.needle]
        + effects[1] * of_haystacks[rows.dataset, rows.haystack]
    )
    intervals = means(rows.clusters(), scores(chance(logits), rng, graded=False))
    return _percent([_contains(one, 100 * mean) for one in intervals])


class Part(NamedTuple):
    """A part of simulated datasets: its needles, the mean chance over all that could be drawn, and its weight."""

    needles: int
    mean: float
    weight: float


# Parts that differ as much as those of a dataset that tells models apart.
PARTS = {
    "24, 20 and 40 needles of their own": (Part(24, 0.84, 0.4), Part(20, 0.31, 0.3), Part(40, 0.55, 0.3)),
    "20 needles, in all parts the same": (Part(20, 0.84, 0.4), Part(20, 0.31, 0.3), Part(20, 0.55, 0.3)),
    "24, 20 and 6, nearly all right but for the second": (Part(24, 0.97, 0.4), Part(20, 0.31, 0.3), Part(6, 0.95, 0.3)),
    "24, 20 and 1": (Part(24, 0.84, 0.5), Part(20, 0.31, 0.4), Part(1, 0.6, 0.1)),
}


def parts_coverage(parts: Sequence[Part], sd: float, datasets: int, rng: np.random.Generator, *, shared: bool) -> str:
    """Coverage and width of the interval of a weighted mean of parts; in brackets, if parts are taken to be drawn too.

    `shared`: whether the effect of a needle is the same in every part.
    """
    common = rng.standard_normal((datasets, max(part.needles for part in parts)))
    columns: list[tuple[Whole | Floats, ...]] = []
    for number, part in enumerate(parts):
        rows = design(datasets, part.needles)
        effects = common[:, : part.needles] if shared else rng.standard_normal((datasets, part.needles))
        chances = chance(logit_of(part.mean, sd) + sd * effects)[rows.dataset, rows.needle]
        apart = 0 if shared else 100 * number
        each = np.full(len(chances), part.weight / (part.needles * LENGTHS * DEPTHS))
        columns.append(
            (rows.dataset, np.full(len(each), number), rows.needle + apart, rows.haystack + 1000 * number, rows.length,
             each, scores(chances, rng, graded=False))
        )  # fmt: skip
    dataset, part_of, needle, haystack, length, each, values = (
        np.concatenate([column[at] for column in columns]) for at in range(7)
    )
    place = dataset * len(parts) + part_of
    whole, in_parts = (
        Clusters(group, count, needle, haystack, length)
        for group, count in ((dataset, datasets), (place, datasets * len(parts)))
    )
    weighted = weighted_means(whole, in_parts, values, each)
    alike = means(Clusters(dataset, datasets, needle, haystack, length, each / each.mean()), values)
    truth = 100 * sum(part.weight * part.mean for part in parts)
    results = []
    for intervals in (weighted, alike):
        widths = [one.high - one.low for one in intervals if one.low is not None and one.high is not None]
        results.append((_percent([_contains(one, truth) for one in intervals]), float(np.median(widths))))
    (ours, width), (other, wider) = results
    return f"{ours:.0f} ({other:.0f}) {width:.0f} ({wider:.0f})"


def parts_table(rng: np.random.Generator) -> Iterator[str]:
    """A line for each composition of a headline, a column for each effect."""
    lines = []
    for name, parts in PARTS.items():
        datasets = _datasets(sum(part.needles for part in parts))
        shared = "the same" in name
        lines.append([name, *(parts_coverage(parts, sd, datasets, rng, shared=shared) for sd in EFFECTS)])
    return _table(["parts", *(f"effect {sd:g}" for sd in EFFECTS)], lines)


# The datasets behind each figure: a standard error of 0.5 % at 95 %, or of 0.9 % where datasets are large.
_DATASETS = 2_000
_ROWS = 3_400_000


def _datasets(needles: int) -> int:
    return min(_DATASETS, _ROWS // (needles * LENGTHS * DEPTHS))


def _table(head: Sequence[str], lines: Sequence[Sequence[str]]) -> Iterator[str]:
    yield f"| {' | '.join(head)} |"
    yield f"|{'--:|' * len(head)}"
    yield from (f"| {' | '.join(line)} |" for line in lines)


def coverage_table(rng: np.random.Generator, *, graded: bool) -> Iterator[str]:
    """A line for each mean and effect, a column for each number of needles: the scorer's interval, plain t, width."""
    lines = []
    for mean, sd in product(MEANS, EFFECTS):
        results = [covered(design(_datasets(k), k), mean, sd, rng, graded=graded) for k in NEEDLES]
        cells = (f"{one.ours:.0f} ({one.plain:.0f}) {one.width:.0f}" for one in results)
        lines.append([f"{100 * mean:g}", f"{sd:g}", *cells])
    return _table(["mean", "effect", *(f"{k} needles" for k in NEEDLES)], lines)


def false_positives_table(rng: np.random.Generator) -> Iterator[str]:
    """A line for each number of needles and interaction: how often p is below 0.05, for equal and for unequal runs."""
    lines = []
    for needles, interaction in product(NEEDLES, (0.0, 0.7, 2.0)):
        rows = design(_datasets(needles), needles)
        equal, worse = (told_apart(rows, 0.8, 1.0, interaction, drop, rng) for drop in (0.0, 1.0))
        shares = [f"{value:.0f}" for results in (equal, worse) for value in results]
        lines.append([f"{needles}", f"{interaction:g}", *shares])
    tests = ("t", "flips", "McNemar")
    head = ["needles", "interaction", *(f"equal: {name}" for name in tests), *(f"worse: {name}" for name in tests)]
    return _table(head, lines)


def haystacks_table(rng: np.random.Generator) -> Iterator[str]:
    """A line for each number of needles and number of haystacks that they share at each length."""
    effects = ((1.0, 0.0), (1.0, 0.3), (1.0, 1.0), (0.0, 1.0))
    lines = []
    for needles, haystacks in ((3, 3), (6, 2), (10, 2), (34, 2), (34, 3), (34, 1)):
        shares = [haystack_coverage(needles, haystacks, pair, _datasets(needles) // 2, rng) for pair in effects]
        lines.append([f"{needles}", f"{haystacks}", *(f"{value:.0f}" for value in shares)])
    return _table(["needles", "haystacks", *(f"{a:g} and {b:g}" for a, b in effects)], lines)


def main() -> None:
    """Print all tables."""
    rng = np.random.default_rng(2024)
    for title, lines in (
        ("Right and wrong rows", coverage_table(rng, graded=False)),
        ("Graded rows", coverage_table(rng, graded=True)),
        ("Needles that share haystacks", haystacks_table(rng)),
        ("Two runs", false_positives_table(rng)),
        ("Weighted means of parts", parts_table(np.random.default_rng(2024))),
    ):
        print(title, "", *lines, "", sep="\n", flush=True)


if __name__ == "__main__":
    main()
