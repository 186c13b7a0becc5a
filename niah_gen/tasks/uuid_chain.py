"""Asks for the end of a chain of UUIDs, each of which maps to the next; the question does not mention hops.

The links and the question are those of needlehaystack 2's `uuid_chain`. Here other chains are hidden beside the asked
one, links may come in any order, and there is a Chinese form.
"""

from __future__ import annotations

import random
import re
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from niah_gen.tasks.base import NO_CONTEXT, Control, Task, no_context, not_stated
from niah_gen.tasks.records import Cell, Item, Settings, cell_seed

_LINKS = {"en": "{a} maps to {b}.", "zh": "{a}对应{b}。"}
_QUESTIONS = {"en": "What is the value associated with {start}?", "zh": "与{start}相关联的值是什么？"}
_ORDERS = ("forward", "backward", "shuffled")
_UUID = r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
_LINK = re.compile(rf"({_UUID})(?: maps to |对应)({_UUID})")


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
        if not self.links or any(not 1 <= count <= 100 for count in self.links):
            raise ValueError(f"links are {list(self.links)}; expected numbers from 1 to 100")
        if len(set(self.links)) < len(self.links):
            raise ValueError(f"links are {list(self.links)}; name each number once")
        if not 1 <= self.chains <= 20:
            raise ValueError(f"chains is {self.chains}; expected 1 to 20")
        if self.order not in _ORDERS:
            raise ValueError(f"order is {self.order!r}; expected one of {', '.join(_ORDERS)}")


def _ids(settings: Settings, language: str) -> Sequence[str]:
    return [f"links-{count}" for count in settings.options.links if language in _QUESTIONS]


def _member(draw: random.Random) -> str:
    return str(uuid.UUID(int=draw.getrandbits(128), version=4))


def _item(settings: Settings, cell: Cell) -> Item:
    options: ChainOptions = settings.options
    links = int(cell.needle.removeprefix("links-"))
    draw = random.Random(f"{cell_seed(settings.seed, cell)}/{cell.language}/uuid-chain")
    # With 122 random bits, no two are equal; the check would report it.
    chains = [[_member(draw) for _ in range(links + 1)] for _ in range(options.chains)]
    texts: list[str] = []
    for chain in chains:
        own = [_LINKS[cell.language].replace("{a}", a).replace("{b}", b) for a, b in pairwise(chain)]
        if options.order == "backward":
            own.reverse()
        elif options.order == "shuffled":
            draw.shuffle(own)
        texts += own
    (start, *between, end), *others = chains
    return Item(
        cell.draw, cell.language, _QUESTIONS[cell.language].replace("{start}", start), (end,), ((end,),),
        "correct", tuple(texts), keyword_kinds=("text",),
        decoys=tuple((member,) for member in (*between, *(one for chain in others for one in chain))),
        distractors=len(texts) - links, sets=(links,) * options.chains,
    )  # fmt: skip


def _absent(item: Item) -> Item:
    """Leaves out the link of the asked member, so that it has no value, and keeps the others."""
    start = re.findall(_UUID, item.question or "")[0]
    return item._replace(
        hide=tuple(text for text in item.hide if not text.startswith(start)), answers=(not_stated(item.language),)
    )


_CONTROLS: Mapping[str, Control] = {"absent": _absent, NO_CONTEXT: no_context}

UUID_CHAIN = Task("uuid-chain", 1, _ids, _item, ChainOptions, controls=_CONTROLS)
