"""Asks about relatives linked by a chain of facts: an ancestor, a descendant, or the generations between two people.

The questions, terms and sentences are those of NeedleBench's Ancestral Trace Challenge. The names are this project's
own, other families are hidden beside the asked one, and text or the facts of further families fill the length.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from niah_gen.haystacks.generated import MakeUnit
from niah_gen.tasks.base import NO_CONTEXT, Task, no_context, not_stated
from niah_gen.tasks.hiding import units_of_cells
from niah_gen.tasks.options import check_options
from niah_gen.tasks.records import Cell, Item, Settings, Workbench, cell_seed
from niah_gen.tasks.words import draw_name, draw_names, nth, spelt, wording

KINDS = ("eldest", "ancestor", "descendant", "distance")
# How many of the filler's families are interleaved, so that no family's facts stand together.
_OPEN = 4


@dataclass(frozen=True, slots=True)
class KinshipOptions:
    """The recipe's [options]. `kinds`: what is asked. `facts`: how many lead from one person to the other.

    `families`: other families in each row, with as many facts each. `beyond`: facts that continue past the answer, if
    the n-th ancestor or descendant is asked for.
    """

    kinds: tuple[str, ...] = KINDS
    facts: tuple[int, ...] = (2, 4, 8)
    families: int = 1
    beyond: int = 1

    def __post_init__(self) -> None:
        check_options(self, kinds=KINDS, facts=range(2, 513), families=range(9), beyond=range(9))


def _ids(settings: Settings, language: str) -> Sequence[str]:
    if language not in wording("kinship"):
        return []
    return [f"{kind}-{count}" for kind in settings.options.kinds for count in settings.options.facts]


def _line(draw: random.Random, language: str, persons: Sequence[str]) -> tuple[list[str], int]:
    """The facts of a line of descent, shuffled, and the generations between its ends. `persons`: the eldest first.

    All sums from the number of facts to twice that number are equally likely.
    """
    said = wording("kinship")[language]
    count = len(persons) - 1
    doubled = set(draw.sample(range(count), draw.randint(0, count)))
    facts = []
    for place, (elder, younger) in enumerate(pairwise(persons)):
        term = draw.choice(said["two" if place in doubled else "one"])
        facts.append(draw.choice(said["sentences"]).format(term=term, A=elder, B=younger))
    draw.shuffle(facts)
    return facts, count + len(doubled)


def _item(settings: Settings, cell: Cell) -> Item:
    options: KinshipOptions = settings.options
    kind, _, size = cell.needle.rpartition("-")
    count = int(size)
    draw = random.Random(f"{cell_seed(settings.seed, cell)}/{cell.language}/ancestral-trace")
    beyond = options.beyond if kind in ("ancestor", "descendant") else 0
    names = draw_names(draw, cell.language, (count + 1) * (1 + options.families) + beyond)
    line, others = names[: count + 1], names[count + 1 :]
    texts, total = _line(draw, cell.language, line)
    sets = [count]
    if beyond:
        further = [*others[:beyond], line[0]] if kind == "ancestor" else [line[-1], *others[:beyond]]
        texts += _line(draw, cell.language, further)[0]
        sets.append(beyond)
    for first in range(beyond, len(others), count + 1):
        texts += _line(draw, cell.language, others[first : first + count + 1])[0]
        sets.append(count)
    start, end = (line[0], line[-1]) if kind == "descendant" else (line[-1], line[0])
    question = wording("kinship")[cell.language]["questions"][kind].format(
        start=start, end=end, nth=nth(total), n=total
    )
    common = Item(
        cell.draw, cell.language, question, (end,), ((end,),), "correct", tuple(texts),
        keyword_kinds=("text",), distractors=len(texts) - count, sets=tuple(sets),
        # Reasoning takes about one line for each fact.
        max_new_tokens=512 + 32 * count,
    )  # fmt: skip
    if kind == "distance":
        # Small numbers occur in every text; as a keyword, one would leave no filler.
        return common._replace(answers=_spelt(total, cell.language), keywords=(), keyword_kinds=(), metric="exact")
    return common._replace(decoys=tuple((name,) for name in (*line[1:-1], *others)))


def _spelt(total: int, language: str) -> tuple[str, ...]:
    """The accepted spellings of a number of generations."""
    plain = spelt(total, language)
    return (*plain, *(f"{one}代" if language == "zh" else f"{one} generations" for one in plain))


def _absent(item: Item) -> Item:
    """Leaves out one fact of the chain, so that the answer is not stated.

    For the eldest relative this is the asked person's fact: without any other, the chain would end at another eldest.
    """
    omitted = item.hide[0]
    if item.id.startswith("eldest"):
        start, end = wording("kinship")[item.language]["questions"]["eldest"].split("{start}")
        asked = (item.question or "").removeprefix(start).removesuffix(end)
        omitted = next(text for text in item.hide[: item.sets[0]] if asked in text)
    kept = tuple(text for text in item.hide if text != omitted)
    return item._replace(hide=kept, answers=(not_stated(item.language),))


def _facts_of_others(bench: Workbench, cell: Cell) -> MakeUnit:
    """Makes facts of families other than those that a cell's row hides: `_OPEN` families at a time, each shuffled."""
    item = _item(Settings(bench.options, seed=bench.seed), cell)
    hidden = "\n".join([*item.hide, item.question or ""])
    size = int(cell.needle.rpartition("-")[2]) + 1
    taken: set[str] = set()
    families: list[list[str]] = []

    def family(draw: random.Random) -> list[str]:
        persons: list[str] = []
        while len(persons) < size:
            name = draw_name(draw, cell.language, taken)
            taken.add(name)
            if name not in hidden:
                persons.append(name)
        return _line(draw, cell.language, persons)[0]

    def unit(draw: random.Random) -> str:
        while len(families) < _OPEN:
            families.append(family(draw))
        place = draw.randrange(_OPEN)
        fact = families[place].pop()
        if not families[place]:
            del families[place]
        return fact

    return unit


ANCESTRAL_TRACE = Task(
    "ancestral-trace",
    1,
    _ids,
    _item,
    KinshipOptions,
    controls={"absent": _absent, NO_CONTEXT: no_context},
)
ANCESTRAL_FACTS = ANCESTRAL_TRACE._replace(
    name="ancestral-facts", version=2, context=units_of_cells("kinship_facts", _facts_of_others)
)
