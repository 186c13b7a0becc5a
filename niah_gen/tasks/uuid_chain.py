"""Asks for the end of a chain of UUIDs, each of which maps to the next; the question does not mention hops.

The links and the question are those of needlehaystack 2's `uuid_chain`. Here other chains are hidden beside the asked
one, links may come in any order, and there is a Chinese form.
"""

from __future__ import annotations

import random
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain, pairwise

from niah_gen.tasks.base import NO_CONTEXT, Task, no_context, not_stated
from niah_gen.tasks.options import check_options
from niah_gen.tasks.records import Cell, Item, Settings, cell_seed
from niah_gen.tasks.words import wording


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


def _ids(settings: Settings, language: str) -> Sequence[str]:
    return [f"links-{count}" for count in settings.options.links] if language in wording("uuid_chain") else []


def _member(draw: random.Random) -> str:
    return str(uuid.UUID(int=draw.getrandbits(128), version=4))


def _item(settings: Settings, cell: Cell) -> Item:
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


def _absent(item: Item) -> Item:
    """Leaves out the link of the asked member, so that it has no value, and keeps the others."""
    kept = tuple(text for text in item.hide if text[:36] not in (item.question or ""))
    return item._replace(hide=kept, answers=(not_stated(item.language),))


UUID_CHAIN = Task("uuid-chain", 1, _ids, _item, ChainOptions, controls={"absent": _absent, NO_CONTEXT: no_context})
