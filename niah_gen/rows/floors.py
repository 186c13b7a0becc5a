"""What answers get that ignore the question, and the smallest difference between models that a dataset tells apart."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from statistics import NormalDist, fmean

from niah_gen.recipe.part import settings_of
from niah_gen.recipe.recipe import Part
from niah_gen.tasks.base import item_of
from niah_gen.tasks.records import Cell
from niah_gen.tasks.registry import find_task
from niah_gen.tasks.worlds.schemas import nobody

# At 95 % confidence, with a power of 80 %.
_ERRORS = NormalDist().inv_cdf(0.975) + NormalDist().inv_cdf(0.8)
# The variance of the difference between two models' points for one row, in shares: they disagree about a quarter of the
# rows. And that of the difference between their means over a world, beyond it. With these, `smallest_difference` gives
# what tests/benchmarks/world_power.py finds by simulation, to within 0.3 points.
_OF_ROWS, _OF_WORLDS = 0.25, 0.075**2

# What the best of the solvers in docs/worlds.md gets in each part at level 2, without reading, in points.
BEST_SOLVER = {
    "records": 18.2, "associations": 10.7, "threads": 16.3, "moves": 45.9, "lists": 18.5, "tally": 18.3,
}  # fmt: skip


def floors_of(part: Part) -> tuple[float, float]:
    """In points, 0 to 100: the best answer that ignores the question, and always saying that it is not stated.

    Of a part of worlds, in the mean over those of a language.
    """
    task = find_task(part.task)
    settings = settings_of(part, task)
    language = next(code for code in part.languages if task.ids(settings, code))
    worlds = [item_of(task, settings, Cell(language, "", 0, name, 0, None)) for name in task.ids(settings, language)]
    unstated = [fmean(one.keywords in ((), (nobody(language),)) for one in world.asks) for world in worlds]
    return fmean(world.chance or 0.0 for world in worlds), 100 * fmean(unstated)


# How many rows each part has at each length.
Rows = Mapping[tuple[str | None, int], int]


def smallest_difference(parts: Sequence[Part], rows: Rows, languages: int) -> float:
    """The difference in points between the headlines of two models that rows tell apart at 80 % power.

    Both models answer all rows. A world has the same records at each length, so that it counts once.
    """
    count = Counter[str | None]()
    for (part, _), number in rows.items():
        count[part] += number
    counted = [part for part in parts if count[part.name]]
    total = sum(part.weight for part in counted) or 1.0
    variance = sum(
        (part.weight / total) ** 2 * (_OF_WORLDS / (languages * part.options["worlds"]) + _OF_ROWS / count[part.name])
        for part in counted
    )
    return 100 * _ERRORS * math.sqrt(variance)


def difference_told(parts: Sequence[Part], rows: Rows, languages: int) -> str:
    """What `smallest_difference` is over all rows, and at the length with the fewest."""
    at = Counter[int]()
    for (_, length), number in rows.items():
        at[length] += number
    fewest = min(at, key=lambda length: (at[length], length))
    one = smallest_difference(parts, {key: number for key, number in rows.items() if key[1] == fewest}, languages)
    return (
        "Two models that answer all rows are told apart with a power of 80 % if their headlines differ by "
        f"{smallest_difference(parts, rows, languages):.1f} points, at one length by {one:.1f}"
    )
