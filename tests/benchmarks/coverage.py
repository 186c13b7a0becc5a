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

from niah_score.statistics.intervals import Clusters, Figure, differences, means, t_quantile

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


def told_apart(
    rows: Design, mean: float, sd: float, interaction: float, drop: float, rng: np.random.Generator
) -> float:
    """The percentage of pairs of runs with p below 0.05: right and wrong rows over the same needles.

    By chance, each needle is harder or easier for each run. `interaction`: the standard deviation of that effect, in
    logits; `drop`: how many logits worse the second run is.
    """
    shape = rows.datasets, rows.needles
    common = logit_of(mean, float(np.hypot(sd, interaction))) + sd * rng.standard_normal(shape)
    one, other = (
        scores(chance(common + interaction * rng.standard_normal(shape) - worse)[rows.dataset, rows.needle], rng,
               graded=False)
        for worse in (0.0, drop)
    )  # fmt: skip
    found = differences(rows.clusters(), other - one)
    return _percent([one["p"] is not None and one["p"] < 0.05 for one in found])


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
        shares = [f"{told_apart(rows, 0.8, 1.0, interaction, drop, rng):.0f}" for drop in (0.0, 1.0)]
        lines.append([f"{needles}", f"{interaction:g}", *shares])
    return _table(["needles", "interaction", "equal", "worse"], lines)


def main() -> None:
    """Print all tables."""
    rng = np.random.default_rng(2024)
    for title, lines in (
        ("Right and wrong rows", coverage_table(rng, graded=False)),
        ("Graded rows", coverage_table(rng, graded=True)),
        ("Two runs", false_positives_table(rng)),
    ):
        print(title, "", *lines, "", sep="\n", flush=True)


if __name__ == "__main__":
    main()
