"""Asks which variables hold a value that was assigned to one and passed on to the others.

The task is RULER's (C.-P. Hsieh et al., COLM 2024). Here other chains are mixed with the asked one, names and values
are unique, and there is a form over corpora and one over lines of noise, in English and Chinese.
"""

from __future__ import annotations

import random
import string
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from niah_gen.tasks.base import NO_CONTEXT, Control, Task, absent, no_context
from niah_gen.tasks.hiding import among_lines, noise_filler
from niah_gen.tasks.records import Cell, Item, Settings, cell_seed
from niah_score.text.numerals import is_number_word

_QUESTIONS = {
    "en": "Find all variables that are assigned the value {value} in the text above.",
    "zh": "请找出上文中所有被赋值为{value}的变量。",
}
_ENDS = {"en": ".", "zh": "。"}
_LETTERS = 5


@dataclass(frozen=True, slots=True)
class VariableOptions:
    """The recipe's [options]. `hops`: how many variables of the asked chain take their value from another one.

    `chains`: how many chains a row has, of equal length; one is asked for.
    """

    hops: tuple[int, ...] = (4,)
    chains: int = 4

    def __post_init__(self) -> None:
        if not self.hops or any(not 1 <= count <= 100 for count in self.hops):
            raise ValueError(f"hops are {list(self.hops)}; expected numbers from 1 to 100")
        if len(set(self.hops)) < len(self.hops):
            raise ValueError(f"hops are {list(self.hops)}; name each number once")
        if not 1 <= self.chains <= 20:
            raise ValueError(f"chains is {self.chains}; expected 1 to 20")


def _ids(settings: Settings, language: str) -> Sequence[str]:
    return [f"hops-{count}" for count in settings.options.hops if language in _QUESTIONS]


def _names(draw: random.Random, count: int) -> list[str]:
    """`count` different names, none of them a number word."""
    names: dict[str, None] = {}
    while len(names) < count:
        name = "".join(draw.choices(string.ascii_uppercase, k=_LETTERS))
        if not is_number_word(name.lower()):
            names[name] = None
    return list(names)


def _item(settings: Settings, cell: Cell, end: str = "") -> Item:
    options: VariableOptions = settings.options
    hops = int(cell.needle.removeprefix("hops-"))
    draw = random.Random(f"{cell_seed(settings.seed, cell)}/{cell.language}/variable-tracking")
    names = _names(draw, options.chains * (hops + 1))
    values = draw.sample(range(10_000, 100_000), options.chains)
    chains = [names[first : first + hops + 1] for first in range(0, len(names), hops + 1)]
    lines = [
        f"VAR {name} = {source}{end}"
        for chain, value in zip(chains, values, strict=True)
        for source, name in pairwise((value, *chain))
    ]
    asked, *others = chains
    return Item(
        cell.draw, cell.language, _QUESTIONS[cell.language].replace("{value}", str(values[0])), (", ".join(asked),),
        tuple((name,) for name in asked), "correct", tuple(lines), keyword_kinds=("text",) * len(asked),
        decoys=tuple((name,) for chain in others for name in chain), distractors=len(lines) - len(asked),
        sets=(hops + 1,) * options.chains,
        # A name and its separator take about six tokens.
        max_new_tokens=100 + 10 * hops,
    )  # fmt: skip


def _prose_item(settings: Settings, cell: Cell) -> Item:
    """The item of the form over corpora, whose assignments end like the sentences around them."""
    return _item(settings, cell, _ENDS[cell.language])


_CONTROLS: Mapping[str, Control] = {"absent": absent, NO_CONTEXT: no_context}

VARIABLE_TRACKING = Task(
    "variable-tracking", 1, _ids, _item, VariableOptions,
    context=among_lines("noise", noise_filler, repeats=True), controls=_CONTROLS
)  # fmt: skip
VARIABLE_PROSE = Task(
    "variable-prose", 1, _ids, _prose_item, VariableOptions, controls=_CONTROLS
)  # fmt: skip
