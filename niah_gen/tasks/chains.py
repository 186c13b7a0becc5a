"""Asks about chains whose links are hidden apart: the end of a chain of UUIDs, or the variables that hold a value.

The links and the question of `uuid-chain` are those of needlehaystack 2, which does not mention hops; here links may
come in any order. `variable-tracking` and `variable-prose` are RULER's task (C.-P. Hsieh et al., COLM 2024) with unique
names and values, over lines of noise and over corpora. Other chains are hidden beside the asked one, in English and
Chinese.
"""

from __future__ import annotations

import random
import string
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain, pairwise

from niah_gen.tasks.base import NO_CONTEXT, Task, absent, no_context, not_stated
from niah_gen.tasks.hiding import among_lines, noise_filler
from niah_gen.tasks.options import check_options
from niah_gen.tasks.records import Cell, Item, Settings, cell_seed
from niah_gen.tasks.words import wording
from niah_score.text.numerals import is_number_word

_LETTERS = 5


@dataclass(frozen=True, slots=True)
class ChainOptions:
    """The recipe's [options]. `links`: how many links lead from the asked member to the last one.

    `chains`: how many chains a row has, of equal length; one is asked for. `order`: the order of a chain's links in the
    text: `forward`, `backward` or `shuffled`.
    """

    links: tuple[int, ...] = (1, 2, 4)
    chains: int = 2
    order: str = "shuffled"

    def __post_init__(self) -> None:
        orders = ("forward", "backward", "shuffled")
        check_options(self, links=range(1, 101), chains=range(1, 21), order=orders)


def _chain_ids(settings: Settings, language: str) -> Sequence[str]:
    return [f"links-{count}" for count in settings.options.links] if language in wording("uuid_chain") else []


def _member(draw: random.Random) -> str:
    return str(uuid.UUID(int=draw.getrandbits(128), version=4))


def _chain_item(settings: Settings, cell: Cell) -> Item:
    options: ChainOptions = settings.options
    said = wording("uuid_chain")[cell.language]
    links = int(cell.needle.removeprefix("links-"))
    draw = random.Random(f"{cell_seed(settings.seed, cell)}/{cell.language}/uuid-chain")
    # With 122 random bits, no two are equal.
    chains = [[_member(draw) for _ in range(links + 1)] for _ in range(options.chains)]
    texts: list[str] = []
    for members in chains:
        own = [said["link"].format(a=a, b=b) for a, b in pairwise(members)]
        if options.order == "backward":
            own.reverse()
        elif options.order == "shuffled":
            draw.shuffle(own)
        texts += own
    (start, *between, end), *others = chains
    return Item(
        cell.draw, cell.language, said["question"].format(start=start), (end,), ((end,),), "correct", tuple(texts),
        keyword_kinds=("text",), decoys=tuple((member,) for member in chain(between, *others)),
        distractors=len(texts) - links, sets=(links,) * options.chains,
    )  # fmt: skip


def _absent_link(item: Item) -> Item:
    """Leaves out the link of the asked member, so that it has no value, and keeps the others."""
    kept = tuple(text for text in item.hide if text[:36] not in (item.question or ""))
    return item._replace(hide=kept, answers=(not_stated(item.language),))


UUID_CHAIN = Task(
    "uuid-chain", 1, _chain_ids, _chain_item, ChainOptions, controls={"absent": _absent_link, NO_CONTEXT: no_context}
)


@dataclass(frozen=True, slots=True)
class VariableOptions:
    """The recipe's [options]. `hops`: how many variables of the asked chain take their value from another one.

    `chains`: how many chains a row has, of equal length; one is asked for.
    """

    hops: tuple[int, ...] = (4,)
    chains: int = 4

    def __post_init__(self) -> None:
        check_options(self, hops=range(1, 101), chains=range(1, 21))


def _variable_ids(settings: Settings, language: str) -> Sequence[str]:
    return [f"hops-{count}" for count in settings.options.hops] if language in wording("variable_tracking") else []


def _names(draw: random.Random, count: int) -> list[str]:
    """`count` different names, none of them a number word."""
    names: dict[str, None] = {}
    while len(names) < count:
        name = "".join(draw.choices(string.ascii_uppercase, k=_LETTERS))
        if not is_number_word(name.lower()):
            names[name] = None
    return list(names)


def _variable_item(in_prose: bool, settings: Settings, cell: Cell) -> Item:
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
    "variable-prose", 1, _variable_ids, partial(_variable_item, True), VariableOptions,
    controls={"absent": absent, NO_CONTEXT: no_context},
)  # fmt: skip
VARIABLE_TRACKING = VARIABLE_PROSE._replace(
    name="variable-tracking", version=2, item=partial(_variable_item, False),
    context=among_lines("noise", noise_filler, repeats=True),
)  # fmt: skip
