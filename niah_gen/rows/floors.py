"""What answers get that ignore the question, and which differences between models a dataset tells apart."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import count
from statistics import NormalDist, fmean

from niah_gen.recipe.part import settings_of
from niah_gen.recipe.recipe import Part
from niah_gen.tasks.base import item_of
from niah_gen.tasks.records import Cell
from niah_gen.tasks.registry import find_task
from niah_gen.tasks.worlds.schemas import nobody
from niah_gen.tasks.worlds.world import MOST_WORLDS

# At 95 % confidence, with a power of 80 %.
_ERRORS = NormalDist().inv_cdf(0.975) + NormalDist().inv_cdf(0.8)
# The variance of the difference between two models' points for one row, in shares: they disagree about a quarter of the
# rows. And that of the difference between their means over a world, beyond it. With these, `smallest_difference` gives
# what tests/benchmarks/world_power.py finds by simulation, to within 0.3 points.
_OF_ROWS, _OF_WORLDS = 0.25, 0.075**2
# Models that get half of the rows right disagree about more of them.
_OF_ROWS_AT_MOST = 0.45

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


def _variance(parts: Sequence[Part], rows: Rows, languages: int, of_rows: float) -> float:
    """The variance of the difference between the headlines of two models that answer all rows, in shares.

    A world has the same records at each length, so that it counts once.
    """
    rows_of = Counter[str | None]()
    for (part, _), number in rows.items():
        rows_of[part] += number
    counted = [part for part in parts if rows_of[part.name]]
    total = sum(part.weight for part in counted) or 1.0
    return math.fsum(
        (part.weight / total) ** 2 * (_OF_WORLDS / (languages * part.options["worlds"]) + of_rows / rows_of[part.name])
        for part in counted
    )


def smallest_difference(parts: Sequence[Part], rows: Rows, languages: int) -> float:
    """The difference in points between the headlines of two models that rows tell apart at 80 % power."""
    return 100 * _ERRORS * math.sqrt(_variance(parts, rows, languages, _OF_ROWS))


def gate_reach(alarm: float, power: float) -> float:
    """How many standard errors a drop must have for `niah-score gate` to find it once all answers are there.

    Nine tenths of `alarm` are for the scores, and four fifths of each error for the end.
    """
    return sum(NormalDist().inv_cdf(1 - 0.8 * error) for error in (0.9 * alarm, 1 - power))


def worlds_to_detect(
    parts: Sequence[Part], rows: Rows, languages: int, drop: float, reach: float, *, of_rows: float = _OF_ROWS_AT_MOST
) -> int:
    """The fewest worlds of each part and language with which a drop of so many points is `reach` standard errors.

    Standard errors have Student's t: a quantile z grows by (z^3 + z) / 4 df (R. A. Fisher and E. A. Cornish,
    Technometrics 2, 1960), here for both bounds of `reach` alike.
    """
    known = parts[0].options["worlds"]
    variance = _variance(parts, rows, languages, of_rows) * known
    for worlds in count(1):
        wider = 1 + (1 + (reach / 2) ** 2) / (4 * max(1, (languages * worlds - 1) * len(parts)))
        if 100 * reach * wider * math.sqrt(variance / worlds) <= drop:
            return worlds
    raise AssertionError("some number of worlds is enough")


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


def drop_detected(
    parts: Sequence[Part], cells: Sequence[Cell], drop: float, alarm: float, power: float
) -> Iterator[str]:
    """How many worlds find a drop of so many points, over all lengths and at each alone, in sentences.

    `cells`: the rows of `parts`. The worlds of all parts are taken to be as many.
    """
    yield (
        f"a drop of {drop:g} points is found with a power of {100 * power:g} %, at {100 * alarm:g} % false alarms "
        "(niah-score gate), by"
    )
    known, reach = parts[0].options["worlds"], gate_reach(alarm, power)
    lengths = sorted({cell.length for cell in cells})
    for chosen in (lengths, *([length] for length in lengths if len(lengths) > 1)):
        own = [cell for cell in cells if cell.length in chosen]
        rows = Counter((cell.part, cell.length) for cell in own)
        languages = len({cell.language for cell in own})
        worlds = worlds_to_detect(parts, rows, languages, drop, reach)
        fewer = worlds_to_detect(parts, rows, languages, drop, reach, of_rows=_OF_ROWS)
        if worlds > MOST_WORLDS:
            found = drop * math.sqrt(worlds / MOST_WORLDS)
            at = ",".join(map(str, chosen))
            yield (
                f"  none of --length {at}: {worlds} worlds are needed, and the most that can be built, {MOST_WORLDS}, "
                f"find a drop of {found:.1f} points"
            )
            continue
        contexts = len({cell._replace(depth=None, question=0) for cell in own}) * worlds / known
        yield (
            f"  --worlds {worlds} --length {','.join(map(str, chosen))}: {len(own) * worlds / known:,.0f} rows, "
            f"{contexts:,.0f} contexts, {sum(cell.length for cell in own) * worlds / known / 1e6:,.1f} M tokens; "
            f"{fewer} worlds do at a score of 80 %"
        )
    yield (
        "assumed: models disagree about 45 % of the rows (25 % at a score of 80 %), and differ between worlds by "
        f"{100 * math.sqrt(_OF_WORLDS):g} points beyond that (standard deviation)"
    )
