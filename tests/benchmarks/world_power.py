"""Simulates models on the design of worlds: whether flat curves look flat, and which differences are told apart.

    python tests/benchmarks/world_power.py [--worlds 8] [--lengths 5] [--runs 400]

A dataset has `--worlds` worlds for each of six parts in two languages, and asks 12 questions of each, or 6 in two of
the parts, at every length. Worlds, questions, and worlds at one length differ by normal effects on the logit scale;
half of the variance of each effect is common to all models. Parts count equally. Every figure comes from the functions
that score and compare use, and from a fixed seed.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from statistics import NormalDist
from typing import NamedTuple

import numpy as np
from coverage import chance, logit_of
from numpy.typing import NDArray

from niah_score.statistics.intervals import Clusters, differences, weighted_means
from niah_score.statistics.paired import holm

Floats = NDArray[np.float64]

QUESTIONS = (12, 12, 12, 12, 6, 6)
ACCURACIES = (0.5, 0.8, 0.95)
# Standard deviations of the effects of worlds, questions, and worlds at one length.
EFFECTS = {"weak": (0.3, 0.7, 0.2), "middling": (0.6, 1.0, 0.4), "strong": (1.0, 1.5, 0.7)}
_POWER = NormalDist().inv_cdf(0.8)
_LEVEL = NormalDist().inv_cdf(0.975)


class Design(NamedTuple):
    """A dataset's rows, one length after another. `world`, `part`, `question`: of each row at one length."""

    lengths: int
    world: NDArray[np.int64]
    part: NDArray[np.int64]
    question: NDArray[np.int64]
    weight: Floats


def design(worlds: int, lengths: int) -> Design:
    """The rows of `worlds` worlds for each part and language."""
    part_of_world = np.repeat(np.arange(len(QUESTIONS)), 2 * worlds)
    asked = np.array(QUESTIONS)[part_of_world]
    world = np.repeat(np.arange(len(asked)), asked)
    part = part_of_world[world]
    weight = 1 / np.bincount(part)[part]
    return Design(lengths, world, part, np.arange(len(world)), weight / weight.mean())


class Models(NamedTuple):
    """Simulates models over the same datasets, new ones for every run. `common`: the effects that all models share."""

    rows: Design
    effects: tuple[float, float, float]
    common: tuple[Floats, Floats, Floats]
    rng: np.random.Generator

    def answers(self, accuracy: float) -> Floats:
        """0 or 100 for each run, length and row, of a model with that expected accuracy at every length."""
        total = np.zeros(())
        for effect, common in zip(self.effects, self.common, strict=True):
            own = self.rng.standard_normal(common.shape)
            total = total + effect * np.sqrt(0.5) * (common + own)
        chances = chance(logit_of(accuracy, float(np.hypot(np.hypot(*self.effects[:2]), self.effects[2]))) + total)
        return np.where(self.rng.random(chances.shape) < chances, 100.0, 0.0)


def models(rows: Design, effects: tuple[float, float, float], runs: int, rng: np.random.Generator) -> Models:
    """Models over `runs` datasets."""
    worlds = int(rows.world.max()) + 1
    of_worlds = rng.standard_normal((runs, 1, worlds))[:, :, rows.world]
    of_questions = rng.standard_normal((runs, 1, len(rows.world)))
    at_lengths = rng.standard_normal((runs, rows.lengths, worlds))[:, :, rows.world]
    return Models(rows, effects, (of_worlds, of_questions, at_lengths), rng)


def differing(rows: Design, values: Floats) -> tuple[Floats, list[float]]:
    """The mean of each run's differences between two sets of answers, and its p: runs x lengths x rows."""
    runs, lengths, count = values.shape
    run = np.repeat(np.arange(runs), lengths * count)
    world, weight = np.tile(rows.world, runs * lengths), np.tile(rows.weight, runs * lengths)
    length = np.tile(np.repeat(np.arange(lengths), count), runs)
    clusters = Clusters(run, runs, world, length * (int(rows.world.max()) + 1) + world, length, weight)
    found = differences(clusters, values.reshape(-1))
    return np.array([one["mean"] for one in found]), [one["p"] for one in found]


class Flat(NamedTuple):
    """Percentages of runs of a model that is equally good at every length.

    `inside`: all intervals of lengths hold the mean of lengths. `different`: a length differs from the shortest, p
    below 0.05 after Holm. `rising`: a length has 3 points more than a shorter one.
    """

    inside: float
    different: float
    rising: float


def flat(rows: Design, values: Floats) -> Flat:
    """How the lengths of each run look."""
    runs, lengths, count = values.shape
    place = np.repeat(np.arange(runs * lengths), count)
    world, part = (np.tile(column, runs * lengths) for column in (rows.world, rows.part))
    weight = np.tile(rows.weight, runs * lengths)
    whole = Clusters(place, runs * lengths, world, world)
    in_parts = Clusters(place * len(QUESTIONS) + part, runs * lengths * len(QUESTIONS), world, world)
    figures = weighted_means(whole, in_parts, values.reshape(-1), weight)
    low, high, mean = (
        np.array([getattr(one, end) for one in figures]).reshape(runs, lengths) for end in ("low", "high", "mean")
    )
    middle = mean.mean(axis=1, keepdims=True)
    tests = [differing(rows, values[:, [at]] - values[:, :1])[1] for at in range(1, lengths)]
    different = [min(holm(of_run)) < 0.05 for of_run in zip(*tests, strict=True)]
    risen = mean - np.minimum.accumulate(mean, axis=1)
    inside = ((low <= middle) & (middle <= high)).all(axis=1)
    return Flat(*(100 * float(np.mean(one)) for one in (inside, different, risen.max(axis=1) > 3)))


def told_apart(these: Models, accuracy: float, *, at_one_length: bool) -> float:
    """The smallest difference, in points, that 80 % of runs tell apart: tried, and corrected by how many did."""
    kept = slice(0, 1 if at_one_length else these.rows.lengths)
    better = these.answers(accuracy)[:, kept]
    equal, _ = differing(these.rows, these.answers(accuracy)[:, kept] - better)
    points = (_LEVEL + _POWER) * float(equal.std())
    for _ in range(3):
        _, chances = differing(these.rows, these.answers(accuracy - points / 100)[:, kept] - better)
        found = float(np.clip(np.mean(np.array(chances) < 0.05), 0.1, 0.99))
        points *= (_LEVEL + _POWER) / (_LEVEL + NormalDist().inv_cdf(found))
    return points


def table(worlds: int, lengths: int, runs: int) -> Iterator[str]:
    """A line for each strength of effects and accuracy."""
    rng, rows = np.random.default_rng(2024), design(worlds, lengths)
    yield "| effects | accuracy | inside | different | 3 points up | told apart | at one length |"
    yield "|---|---:|---:|---:|---:|---:|---:|"
    for name, effects in EFFECTS.items():
        for accuracy in ACCURACIES:
            these = models(rows, effects, runs, rng)
            looks = flat(rows, these.answers(accuracy))
            apart = [told_apart(these, accuracy, at_one_length=alone) for alone in (False, True)]
            cells = [*(f"{share:.0f} %" for share in looks), *(f"{points:.1f}" for points in apart)]
            yield f"| {name} | {100 * accuracy:g} | {' | '.join(cells)} |"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description="Simulate models on the design of worlds.")
    parser.add_argument("--worlds", type=int, default=8, help="worlds of each part, language and length")
    parser.add_argument("--lengths", type=int, default=5, help="how many lengths")
    parser.add_argument("--runs", type=int, default=400, help="simulated datasets behind each line")
    options = parser.parse_args()
    print(*table(options.worlds, options.lengths, options.runs), sep="\n")


if __name__ == "__main__":
    main()
