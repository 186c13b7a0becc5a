"""Forecasts what building a plan will make: rows, tokens, bytes, time, and how precise the scores will be."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import count
from statistics import NormalDist

from niah_gen.errors import NiahError
from niah_gen.haystacks.placements import PUBLISHED
from niah_gen.prompts.templates import POSITIONS
from niah_gen.rows.assemble import Assembler
from niah_gen.rows.floors import difference_told, drop_detected
from niah_gen.rows.plan import Plan
from niah_gen.tasks.perplexity import PERPLEXITY
from niah_gen.tasks.records import Cell
from niah_score.text.language import find_language

# Tokens of rows that one core of a small machine makes and writes per second, and the time that starting takes.
_TOKENS_PER_SECOND = 50_000_000
_START_SECONDS = 0.7
_Z = NormalDist().inv_cdf(0.975)
_T = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228)
# The variance of the chances of needles whose logits are normal around 0 with a standard deviation of one, over 1/4.
_CORRELATION = 0.1735
# A cell whose score is known to within this many percentage points tells a weak spot from noise.
_WANTED_POINTS = 15


def _precision(configs: Sequence[Sequence[Cell]]) -> Iterator[str]:
    """How precise scores over the rows of each config will be; rows of controls do not count."""
    scored = [cells for config in configs if (cells := [cell for cell in config if cell.control is None])]
    if not scored:
        return
    needles, rows, depths = min(
        (len({cell.needle for cell in cells}), len(cells), len({cell.depth for cell in cells})) for cells in scored
    )
    in_cell, in_length = max(1, rows // depths // needles), max(1, rows // needles)
    of_cell, of_length = half_width(needles, in_cell), half_width(needles, in_length)
    if of_cell is None or of_length is None:
        yield "interval     one needle: its rows, however many, will not tell what other needles would give"
    else:
        yield (
            f"interval     the {rows // depths} rows of a cell tell its score to within {of_cell:.0f} points, the "
            f"{rows} of a length to within {of_length:.0f} (95 %, at a score of 50 %, {needles} needles that differ by "
            "a logit)"
        )
    enough = needles_for(_WANTED_POINTS, in_cell)
    if enough > needles:
        yield (
            f"advice       {enough} needles tell every cell to within {_WANTED_POINTS} points, "
            f"{needles_for(_WANTED_POINTS, in_length)} every length; repeats of the same needles help little"
        )


def _parts(plan: Plan) -> Iterator[str]:
    """The parts of a recipe that has several, a line each."""
    if not plan.recipe.has_parts:
        return
    for planned in plan.parts:
        part = planned.part
        own = [cell for cell in plan.cells if cell.part == part.name]
        twins = sum(cell.control is not None for cell in own)
        of_controls = f", {twins} of them controls" if twins else ""
        yield f"part         {part.name}: {planned.task.name}, weight {part.weight:g}, {len(own)} rows{of_controls}"


def foreseen(plan: Plan) -> tuple[str, ...]:
    """The notes that building a plan will give, as far as one row of each item, control and length shows.

    That is the deepest row of the first repeat. Notes on other repeats and depths alone, such as a keyword in their
    haystacks, are not foreseen. Raises FitError if a length cannot hold what must go into it.
    """
    deepest: dict[Cell, Cell] = {}
    for cell in plan.cells:
        if cell.question:
            continue  # its context is that of the first question
        key = cell._replace(repeat=0, depth=0.0)
        known = deepest.setdefault(key, cell)
        if cell.repeat == known.repeat and (cell.depth or 0.0) > (known.depth or 0.0):
            deepest[key] = cell
    notes = dict.fromkeys(plan.notes)
    for _, own in Assembler(plan).rows(deepest.values()):
        notes |= dict.fromkeys(own)
    return tuple(notes)


def text_bytes(plan: Plan) -> int:
    """About how many bytes all prompts take in UTF-8, rather too many than too few."""
    return int(sum(cell.length * find_language(cell.language).bytes_per_token for cell in plan.cells))


def forecast(plan: Plan, notes: Sequence[str] = ()) -> Iterator[str]:
    """What building a plan will make, line by line; `notes` come last, as a build will give them."""
    configs: dict[str, list[Cell]] = {}
    for cell in plan.cells:
        configs.setdefault(cell.config, []).append(cell)
    size = text_bytes(plan)
    seconds = _START_SECONDS + plan.tokens() / _TOKENS_PER_SECOND
    recipe = plan.recipe
    yield f"dataset      {recipe.name}/{plan.folder_name}"
    for sentence in dict.fromkeys(f"placement    {part.placement}" for part in recipe.parts):
        yield sentence
    for sentence in dict.fromkeys(
        f"template     {part.template}, {recipe.form}, question at {POSITIONS[part.question_position]}"
        + (", system message of the recipe" if part.system else "")
        for part in recipe.parts
        if part.placement != PUBLISHED.name
    ):
        yield sentence
    yield f"tokenizer    {plan.tokenizer.name}"
    for corpus in plan.corpora:
        drawn = f" drawn of {corpus.draw.of:,}" if corpus.draw else ""
        yield f"corpus       {corpus.name}: {corpus.language}, {len(corpus.documents)} documents{drawn}"
    yield f"rows         {len(plan.cells)}"
    for name, cells in configs.items():
        scored = [cell for cell in cells if cell.control is None]
        depths = len({cell.depth for cell in scored})
        twins = f", {len(cells) - len(scored)} rows of controls" if len(cells) > len(scored) else ""
        each = f"{len({cell.part for cell in cells})} parts"
        if not recipe.has_parts:
            each = f"{depths} depths, {len(scored) // depths} rows in each cell"
            if all(cell.depth is None for cell in scored):
                each = f"no depth asked for, {len(scored)} rows"
        yield f"  {name:10} {len(cells)}: {each}{twins}"
    yield from _parts(plan)
    # Windows have log-probabilities, not scores in points.
    scored_parts = {one.part.name for one in plan.parts if one.part.weight > 0 and one.task.name != PERPLEXITY.name}
    worlds = {one.part.name: one.part for one in plan.parts if one.part.has_worlds}
    if worlds:
        asked = [cell for cell in plan.cells if cell.control is None and cell.part in worlds]
        rows = Counter((cell.part, cell.length) for cell in asked)
        yield f"precision    {difference_told(list(worlds.values()), rows, len({cell.language for cell in asked}))}"
    else:
        yield from _precision([[cell for cell in cells if cell.part in scored_parts] for cells in configs.values()])
    yield f"tokens       {plan.tokens():,} at most"
    yield f"prompt text  {size / 1e6:,.1f} MB, far less on disk: neighbouring rows are near-copies"
    yield f"time         about {seconds:,.0f} s on one core"
    for sentence in notes:
        yield f"note         {sentence}"


def detecting(plan: Plan, drop: float, alarm: float, power: float) -> Iterator[str]:
    """The worlds that a gate needs to find a drop, line by line.

    Raises NiahError for numbers out of range, and for a plan without worlds.
    """
    for name, value, low, high in (
        ("detect", drop, 0.1, 100),
        ("alarm", alarm, 1e-9, 0.5),
        ("power", power, 0.5, 1 - 1e-9),
    ):
        if not low <= value <= high:
            raise NiahError(f"--{name} {value:g}: expected a number from {low:g} to {high:g}")
    parts = [one.part for one in plan.parts if one.part.has_worlds]
    if not parts:
        raise NiahError("--detect: only worlds have a measured spread; plan default or hard")
    asked = [cell for cell in plan.cells if cell.control is None and cell.part in {part.name for part in parts}]
    for sentence in drop_detected(parts, asked, drop, alarm, power):
        yield f"detect       {sentence}"


def half_width(needles: int, rows_each: int) -> float | None:
    """Half the width of the 95 % interval over `needles` with `rows_each` rows; None for one needle or no rows.

    The number of independent rows n is the rows divided by the design effect 1 + (m - 1) x correlation, times (z / t)^2
    with needles - 1 degrees of freedom (E. L. Korn and B. I. Graubard, Surv. Methodol. 24, 1998), at least the number
    of needles. The half width is that of Wilson's interval with continuity correction, (1 + z sqrt(z^2 + n - 1/n)) /
    (2n + 2z^2), which is near the exact interval that the scorer computes (R. G. Newcombe, Stat. Med. 17, 1998).
    """
    if needles < 2 or rows_each < 1:
        return None
    n = needles * rows_each / (1 + (rows_each - 1) * _CORRELATION) * (_Z / t_quantile(needles - 1)) ** 2
    n = max(n, needles)
    return 100 * min(0.5, (1 + _Z * math.sqrt(_Z * _Z + n - 1 / n)) / (2 * (n + _Z * _Z)))


def needles_for(points: float, rows_each: int) -> int:
    """The fewest needles of `rows_each` rows whose interval is at most `points` percentage points to each side."""
    return next(needles for needles in count(2) if (half_width(needles, rows_each) or 0.0) <= points)


def t_quantile(df: int) -> float:
    """The distance from 0 within which 95 % of Student's t distribution with `df` degrees of freedom lies.

    Beyond the table by the approximation of D. P. Gaver and K. Kafadar (Am. Stat. 38, 1984), to three decimals.
    """
    if df <= len(_T):
        return _T[df - 1]
    return math.sqrt(df * math.expm1(_Z * _Z * (df - 1.5) / (df - 1) ** 2))
