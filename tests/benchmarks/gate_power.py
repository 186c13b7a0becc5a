"""Simulates gates over the default dataset: false alarms, drops that are found, and the prompts that it takes.

    python tests/benchmarks/gate_power.py [--worlds 8] [--lengths 3] [--pairs 5000] [--drop 5]

Pairs of models answer the same rows, as in world_power.py: worlds, questions, and worlds at one length differ by normal
effects, half of which models do not share. The candidate's expected accuracy is lower by nothing or by the drop that
the gate is for; at the end also by half of it, and by twice as much. Answers come world by world, one of each part and
language at a time, and the gate looks after each such round; the first verdict counts. Beside it stands a test with a
fixed size: Student's t over the same worlds, once all answers are there, at the same rate of alarms. `uneven`: the
candidate loses everything in a few worlds, and nothing in the others. All figures come from the functions that the gate
uses.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from world_power import EFFECTS, QUESTIONS, Design, Floats, design, models

from niah_score.statistics.gate import SILENT, fallen, held, of_drop, shift
from niah_score.statistics.intervals import Clusters

Whole = NDArray[np.int64]

ACCURACIES = (0.5, 0.8, 0.95, 0.99)
_BATCH = 250


class Rounds(NamedTuple):
    """The clusters of all pairs after each round of worlds. `rows`: of each world, over all lengths."""

    pairs: int
    after: list[tuple[Whole, Clusters]]
    rows: Floats
    part: Whole


def rounds(rows: Design, worlds: int, pairs: int) -> Rounds:
    """The worlds that are there after each round: so many of each part and language."""
    part = np.repeat(np.arange(len(QUESTIONS)), 2 * worlds)
    number = np.tile(np.arange(worlds), 2 * len(QUESTIONS))
    after = []
    for count in range(1, worlds + 1):
        here = np.flatnonzero(number < count)
        group = (np.arange(pairs)[:, None] * len(QUESTIONS) + part[here]).reshape(-1)
        world = np.tile(here, pairs)
        clusters = Clusters(group, pairs * len(QUESTIONS), world, world)
        after.append((here, clusters))
    return Rounds(pairs, after, np.array(QUESTIONS)[part] * float(rows.lengths), part)


def apart(
    rows: Design,
    effects: tuple[float, float, float],
    accuracy: float,
    drop: float,
    these: Rounds,
    rng: np.random.Generator,
    *,
    uneven: bool,
) -> Floats:
    """The mean difference of each pair and world, in points."""
    found = []
    world = int(rows.world.max()) + 1
    for begin in range(0, these.pairs, _BATCH):
        runs = min(_BATCH, these.pairs - begin)
        pair = models(rows, effects, runs, rng)
        base = pair.answers(accuracy)
        other = pair.answers(accuracy if uneven else max(accuracy - drop / 100, 0.001))
        if uneven:
            lost = rng.random((runs, 1, world)) < drop / 100 / accuracy
            other = np.where(lost[:, :, rows.world], 0.0, other)
        each = (other - base).sum(axis=1)
        starts = np.flatnonzero(np.diff(rows.world, prepend=-1))
        sums = np.add.reduceat(each, starts, axis=1)
        found.append(sums / these.rows)
    return np.concatenate(found)


class Gated(NamedTuple):
    """Percentages: of pairs that failed, passed, stayed undecided; of prompts asked; of pairs that the t test fails."""

    failed: float
    passed: float
    undecided: float
    prompts: float
    fixed: float


def gated(these: Rounds, worlds: Floats, drop: float, alarm: float, power: float) -> Gated:
    """What the gate says of each pair at its first verdict."""
    verdict = np.zeros(these.pairs, np.int8)
    share = np.ones(these.pairs)
    parts = len(QUESTIONS)
    pair = np.repeat(np.arange(these.pairs), parts)
    of_parts = np.full(len(pair), 1 / parts)
    for number, (here, clusters) in enumerate(these.after, 1):
        found = shift(clusters, worlds[:, here].reshape(-1), pair, of_parts, drop)
        needles = np.bincount(these.part[here]).astype(np.float64)
        rows = np.bincount(these.part[here], these.rows[here]).astype(np.float64)
        least = float((of_drop(drop, rows, needles) / parts**2).sum())
        found = found._replace(least=np.full(these.pairs, least))
        seen = np.full(these.pairs, number / len(these.after))
        ok, bad = held(found, seen, drop, power), fallen(found, seen, alarm * (1 - SILENT))
        now = np.where(ok, 1, np.where(bad, 2, 0))
        first = (verdict == 0) & (now > 0)
        verdict[first], share[first] = now[first], number / len(these.after)
    from scipy.special import stdtr

    fixed = stdtr(found.df, found.mean / np.sqrt(np.maximum(found.variance, 1e-12))) <= alarm
    return Gated(*(100 * float(of.mean()) for of in (verdict == 2, verdict == 1, verdict == 0, share, fixed)))


def table(worlds: int, lengths: int, pairs: int, drop: float, alarm: float, power: float) -> Iterator[str]:
    """A line for each strength of effects and accuracy."""
    rng, rows = np.random.default_rng(2026), design(worlds, lengths)
    these = rounds(rows, worlds, pairs)
    yield "| effects | accuracy | drop | failed | passed | undecided | prompts | fixed test |"
    yield "|---|---:|---:|---:|---:|---:|---:|---:|"
    both = [(name, of, lost, False) for of in ACCURACIES for name in EFFECTS for lost in (0.0, drop)]
    more = [("middling", 0.8, times * drop, times == 1) for times in (0.5, 1, 2)]
    for name, accuracy, lost, uneven in (*both, *more):
        of = apart(rows, EFFECTS[name], accuracy, lost, these, rng, uneven=uneven)
        cells = [f"{one:.1f} %" for one in gated(these, of, drop, alarm, power)]
        yield f"| {name}{', uneven' if uneven else ''} | {100 * accuracy:g} | {lost:g} | {' | '.join(cells)} |"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description="Simulate gates over the default dataset.")
    parser.add_argument("--worlds", type=int, default=8, help="worlds of each part, language and length")
    parser.add_argument("--lengths", type=int, default=3, help="how many lengths")
    parser.add_argument("--pairs", type=int, default=5000, help="simulated pairs behind each line")
    parser.add_argument("--drop", type=float, default=5, help="what the gate is for, in points")
    parser.add_argument("--alarm", type=float, default=0.01, help="the rate of false alarms")
    parser.add_argument("--power", type=float, default=0.9, help="how often the drop is found")
    options = parser.parse_args()
    for line in table(options.worlds, options.lengths, options.pairs, options.drop, options.alarm, options.power):
        print(line, flush=True)


if __name__ == "__main__":
    main()
