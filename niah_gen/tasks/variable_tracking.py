"""Asks which variables hold a value that was assigned to one and passed on to the others.

The task is RULER's (C.-P. Hsieh et al., COLM 2024). Here other chains are mixed with the asked one, names and values
are unique, and there is a form over corpora and one over lines of noise, in English and Chinese.
"""

from __future__ import annotations

import random
import string
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise

from niah_gen.tasks.base import NO_CONTEXT, Task, absent, no_context
from niah_gen.tasks.hiding import among_lines, noise_filler
from niah_gen.tasks.options import check_options
from niah_gen.tasks.records import Cell, Item, Settings, cell_seed
from niah_gen.tasks.words import wording
from niah_score.text.numerals import is_number_word

_LETTERS = 5


@dataclass(frozen=True, slots=True)
class VariableOptions:
    """The recipe's [options]. `hops`: how many variables of the asked chain take their value from another one.

    `chains`: how many chains a row has, of equal length; one is asked for.
    """

    hops: tuple[int, ...] = (4,)
    chains: int = 4

    def __post_init__(self) -> None:
        check_options(self, hops=range(1, 101), chains=range(1, 21))


def _ids(settings: Settings, language: str) -> Sequence[str]:
    return [f"hops-{count}" for count in settings.options.hops] if language in wording("variable_tracking") else []


def _names(draw: random.Random, count: int) -> list[str]:
    """`count` different names, none of them a number word."""
    names: dict[str, None] = {}
    while len(names) < count:
        name = "".join(draw.choices(string.ascii_uppercase, k=_LETTERS))
        if not is_number_word(name.lower()):
            names[name] = None
    return list(names)


def _item(in_prose: bool, settings: Settings, cell: Cell) -> Item:
    """The item of a cell. `in_prose`: assignments end like the sentences of a corpus around them."""
    options: VariableOptions = settings.options
    said = wording("variable_tracking")[cell.language]
    size = int(cell.needle.removeprefix("hops-")) + 1
    draw = random.Random(f"{cell_seed(settings.seed, cell)}/{cell.language}/variable-tracking")
    names = _names(draw, options.chains * size)
    values = draw.sample(range(10_000, 100_000), options.chains)
    chains = [names[first : first + size] for first in range(0, len(names), size)]
    lines = [
        f"VAR {name} = {source}{said['end'] if in_prose else ''}"
        for members, value in zip(chains, values, strict=True)
        for source, name in pairwise((value, *members))
    ]
    asked, others = chains[0], names[size:]
    return Item(
        cell.draw, cell.language, said["question"].format(value=values[0]), (", ".join(asked),),
        tuple((name,) for name in asked), "correct", tuple(lines), keyword_kinds=("text",) * size,
        decoys=tuple((name,) for name in others), distractors=len(lines) - size, sets=(size,) * options.chains,
        # A name and its separator take about six tokens.
        max_new_tokens=90 + 10 * size,
    )  # fmt: skip


VARIABLE_PROSE = Task(
    "variable-prose", 1, _ids, partial(_item, True), VariableOptions,
    controls={"absent": absent, NO_CONTEXT: no_context},
)  # fmt: skip
VARIABLE_TRACKING = VARIABLE_PROSE._replace(
    name="variable-tracking", version=2, item=partial(_item, False),
    context=among_lines("noise", noise_filler, repeats=True),
)  # fmt: skip
