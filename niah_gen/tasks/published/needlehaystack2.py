"""Asks the questions of needlehaystack 2: one fact, three ingredients, a secret code, the end of a chain of codes.

Texts, questions and draws are the published ones. With the placement `needlehaystack2` the prompts are the published
ones too; other placements hide the same texts by their own rules.
"""

from __future__ import annotations

import random
import uuid
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice, pairwise, product, starmap

from niah_gen.haystacks.needlehaystack2 import NEEDLEHAYSTACK2, place_unsnapped
from niah_gen.prompts.frame import Frame
from niah_gen.tasks.base import NO_CONTEXT, Task, absent, no_context
from niah_gen.tasks.hiding import IN_FILLER
from niah_gen.tasks.options import check_options
from niah_gen.tasks.records import Cell, Context, ContextMaker, Coordinates, GridAxes, Item, Settings, Workbench

_DOLORES = "The best thing to do in San Francisco is eat a sandwich and sit in Dolores Park on a sunny day."
_INGREDIENTS = ("Figs are", "Prosciutto is", "Goat cheese is")
_PIZZA = ("figs", "prosciutto", "goat cheese")


@dataclass(frozen=True, slots=True)
class NeedleHaystack2Options:
    """The recipe's [options].

    `seeds`: one for each repeat, as in the published sweep; their number replaces the recipe's `repeats`. Left out,
    repeat r has seed r + 1. Codes are drawn from the seed; rows of `single` and `multi` do not depend on it.
    `chain_length`: members of a chain, one more than its links. `snap`: move needles back to a period; false puts each
    before the token at its depth.
    """

    seeds: tuple[int, ...] = ()
    chain_length: int = 5
    snap: bool = True

    def __post_init__(self) -> None:
        check_options(self, chain_length=range(2, 1001))
        if len(set(self.seeds)) < len(self.seeds):
            raise ValueError(f"seeds are {list(self.seeds)}; expected no seed twice")

    def seed(self, repeat: int) -> int:
        """The seed of a repeat."""
        return self.seeds[repeat] if repeat < len(self.seeds) else repeat + 1


def _codes(seed: int) -> Iterator[str]:
    """Endless UUIDs (version 4) from one seeded generator."""
    draw = random.Random(seed)
    while True:
        yield str(uuid.UUID(int=draw.getrandbits(128), version=4))


def _single(cell: Cell, options: NeedleHaystack2Options) -> Item:
    answer = "eat a sandwich and sit in Dolores Park"
    return _item(cell, "What is the best thing to do in San Francisco?", (answer,), (_DOLORES,))


def _multi(cell: Cell, options: NeedleHaystack2Options) -> Item:
    needles = tuple(
        f"{start} one of the secret ingredients needed to build the perfect pizza." for start in _INGREDIENTS
    )
    question = "What are the secret ingredients needed to build the perfect pizza?"
    return _item(cell, question, _PIZZA, needles)


def _uuid(cell: Cell, options: NeedleHaystack2Options) -> Item:
    code = next(_codes(options.seed(cell.repeat)))
    item = _item(cell, "What is the secret code?", (code,), (f"The secret code is {code}.",))
    return item._replace(id=cell.draw)


def _chain(cell: Cell, options: NeedleHaystack2Options) -> Item:
    members = list(islice(_codes(options.seed(cell.repeat)), options.chain_length))
    links = tuple(f"{code} maps to {following}." for code, following in pairwise(members))
    item = _item(cell, f"What is the value associated with {members[0]}?", (members[-1],), links, "nh2_chain")
    return item._replace(id=cell.draw)


def _item(
    cell: Cell, question: str, fragments: Sequence[str], needles: tuple[str, ...], metric: str = "nh2_match"
) -> Item:
    return Item(
        cell.needle, cell.language, question, (", ".join(fragments),), tuple((fragment,) for fragment in fragments),
        metric, needles, keyword_kinds=("text",) * len(fragments),
    )  # fmt: skip


def _make(bench: Workbench) -> ContextMaker:
    placement = bench.placement
    if placement is NEEDLEHAYSTACK2 and not bench.options.snap:
        placement = replace(placement, place=place_unsnapped)
    hide = IN_FILLER.make(replace(bench, placement=placement))

    def make(cell: Cell, item: Item, shown: Item, frame: Frame) -> Context:
        context = hide(cell, item, shown, frame)
        tokens = context.haystack_tokens
        # The published code divides before it multiplies, which can change the last digit.
        depths = tuple(round(depth * tokens / 100) / tokens * 100 for depth in context.needle_depths)
        return replace(context, needle_depths=depths)

    return make


def _task(name: str, needle: str, item: Callable[[Cell, NeedleHaystack2Options], Item]) -> Task:
    def ids(settings: Settings, language: str) -> Sequence[str]:
        return [needle] if language == "en" or (settings.any_language and language == "zh") else []

    def truth(settings: Settings, cell: Cell) -> Item:
        return item(cell, settings.options)

    def coordinates(settings: Settings, axes: GridAxes, language: str) -> Iterator[Coordinates]:
        repeats = range(len(settings.options.seeds) or axes.repeats)
        return starmap(Coordinates, product(axes.lengths, [needle], repeats, axes.depths))

    return Task(
        name, 1, ids, truth, NeedleHaystack2Options, context=IN_FILLER._replace(make=_make),
        controls={"absent": absent, NO_CONTEXT: no_context}, coordinates=coordinates,
    )  # fmt: skip


SINGLE = _task("needlehaystack2-single", "dolores-park", _single)
MULTI = _task("needlehaystack2-multi", "pizza", _multi)
UUID = _task("needlehaystack2-uuid", "uuid", _uuid)
UUID_CHAIN = _task("needlehaystack2-uuid-chain", "uuid-chain", _chain)
