"""Asks about relatives linked by a chain of facts: an ancestor, a descendant, or the generations between two people.

The questions, terms and sentences are those of NeedleBench's Ancestral Trace Challenge. The names are this project's
own, other families are hidden beside the asked one, and text or the facts of further families fill the length.
"""

from __future__ import annotations

import random
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from niah_gen.haystacks.generated import MakeUnit
from niah_gen.tasks.base import LANGUAGES, NO_CONTEXT, Control, Task, no_context, not_stated
from niah_gen.tasks.hiding import units_of_cells
from niah_gen.tasks.person_names import draw_name, draw_names
from niah_gen.tasks.records import Cell, Item, Settings, Workbench, cell_seed
from niah_gen.tasks.spellings import nth, number

_FOLDER = Path(__file__).parents[1] / "library" / "kinship"
KINDS = ("eldest", "ancestor", "descendant", "distance")
_MOST_FACTS = 512
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
        if not self.kinds or any(kind not in KINDS for kind in self.kinds):
            raise ValueError(f"kinds are {', '.join(self.kinds) or 'none'}; expected some of {', '.join(KINDS)}")
        if not self.facts or any(not 2 <= count <= _MOST_FACTS for count in self.facts):
            raise ValueError(f"facts are {list(self.facts)}; expected numbers from 2 to {_MOST_FACTS}")
        for name in ("kinds", "facts"):
            if len(set(getattr(self, name))) < len(getattr(self, name)):
                raise ValueError(f"{name} are {list(getattr(self, name))}; name each one once")
        if not 0 <= self.families <= 8:
            raise ValueError(f"families is {self.families}; expected 0 to 8")
        if not 0 <= self.beyond <= 8:
            raise ValueError(f"beyond is {self.beyond}; expected 0 to 8")


class _KinshipWording(NamedTuple):
    """How a language states kinship: terms for one and for two generations, sentences, questions by kind."""

    one: tuple[str, ...]
    two: tuple[str, ...]
    sentences: tuple[str, ...]
    questions: Mapping[str, str]

    def fact(self, draw: random.Random, elder: str, younger: str, generations: int) -> str:
        """A sentence that says how many generations one person is above another."""
        term = draw.choice(self.one if generations == 1 else self.two)
        sentence = draw.choice(self.sentences)
        return sentence.replace("{term}", term).replace("{A}", elder).replace("{B}", younger)


@lru_cache(maxsize=4)
def _wording(language: str) -> _KinshipWording:
    table = tomllib.loads((_FOLDER / f"{language}.toml").read_text("utf-8"))
    return _KinshipWording(tuple(table["one"]), tuple(table["two"]), tuple(table["sentences"]), table["questions"])


def _ids(settings: Settings, language: str) -> Sequence[str]:
    options: KinshipOptions = settings.options
    if language not in LANGUAGES:
        return []
    return [f"{kind}-{count}" for kind in options.kinds for count in options.facts]


def _facts(draw: random.Random, language: str, persons: Sequence[str], generations: Sequence[int]) -> list[str]:
    """The facts of a line of descent, shuffled. `persons`: the eldest first."""
    wording = _wording(language)
    facts = [
        wording.fact(draw, elder, younger, each)
        for (elder, younger), each in zip(pairwise(persons), generations, strict=True)
    ]
    draw.shuffle(facts)
    return facts


def _generations(draw: random.Random, count: int) -> list[int]:
    """Generations between each person and the next. All sums from `count` to twice `count` are equally likely."""
    doubled = set(draw.sample(range(count), draw.randint(0, count)))
    return [2 if place in doubled else 1 for place in range(count)]


def _item(settings: Settings, cell: Cell) -> Item:
    options: KinshipOptions = settings.options
    kind, _, size = cell.needle.rpartition("-")
    count = int(size)
    draw = random.Random(f"{cell_seed(settings.seed, cell)}/{cell.language}/ancestral-trace")
    beyond = options.beyond if kind in ("ancestor", "descendant") else 0
    names = iter(draw_names(draw, cell.language, count + 1 + beyond + options.families * (count + 1)))
    line = [next(names) for _ in range(count + 1)]
    generations = _generations(draw, count)
    total = sum(generations)
    texts = _facts(draw, cell.language, line, generations)
    sets = [count]
    others = [next(names) for _ in range(beyond)]
    if beyond:
        further = [*others, line[0]] if kind == "ancestor" else [line[-1], *others]
        texts += _facts(draw, cell.language, further, _generations(draw, beyond))
        sets.append(beyond)
    for _ in range(options.families):
        family = [next(names) for _ in range(count + 1)]
        texts += _facts(draw, cell.language, family, _generations(draw, count))
        sets.append(count)
        others += family
    start, end = (line[0], line[-1]) if kind == "descendant" else (line[-1], line[0])
    question = _wording(cell.language).questions[kind].replace("{start}", start).replace("{end}", end)
    question = question.replace("{nth}", nth(total)).replace("{n}", str(total))
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
    plain = number(Decimal(total), language)
    if language == "zh":
        return (*plain, *(f"{one}代" for one in plain))
    return (*plain, *(f"{one} generations" for one in plain))


def _absent(item: Item) -> Item:
    """Leaves out one fact of the chain, so that the answer is not stated.

    For the eldest relative this is the asked person's fact: without any other, the chain would end at another eldest.
    """
    chain = item.hide[: item.sets[0]]
    omitted = chain[0]
    if item.id.startswith("eldest"):
        start, end = _wording(item.language).questions["eldest"].split("{start}")
        asked = (item.question or "").removeprefix(start).removesuffix(end)
        omitted = next(text for text in chain if asked in text)
    kept = tuple(text for text in item.hide if text != omitted)
    return item._replace(hide=kept, answers=(not_stated(item.language),))


def _facts_of_others(bench: Workbench, cell: Cell) -> MakeUnit:
    """Makes facts of families other than those that a cell's row hides: `_OPEN` families at a time, each shuffled."""
    settings = Settings(bench.options, seed=bench.seed)
    item = _item(settings, cell)
    hidden = "\n".join([*item.hide, item.question or ""])
    count = int(cell.needle.rpartition("-")[2])
    taken: set[str] = set()
    open_families: list[list[str]] = []

    def family(draw: random.Random) -> list[str]:
        persons: list[str] = []
        while len(persons) < count + 1:
            name = draw_name(draw, cell.language, taken)
            taken.add(name)
            if name not in hidden:
                persons.append(name)
        return _facts(draw, cell.language, persons, _generations(draw, count))

    def unit(draw: random.Random) -> str:
        while len(open_families) < _OPEN:
            open_families.append(family(draw))
        place = draw.randrange(_OPEN)
        fact = open_families[place].pop()
        if not open_families[place]:
            del open_families[place]
        return fact

    return unit


_CONTROLS: Mapping[str, Control] = {"absent": _absent, NO_CONTEXT: no_context}

ANCESTRAL_TRACE = Task(
    "ancestral-trace", 1, _ids, _item, KinshipOptions, controls=_CONTROLS
)  # fmt: skip
ANCESTRAL_FACTS = ANCESTRAL_TRACE._replace(
    name="ancestral-facts", context=units_of_cells("kinship_facts", _facts_of_others)
)
