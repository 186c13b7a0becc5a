"""Asks how many different passages there are among numbered ones, some of which are repeated.

LongBench's passage count made exact (Y. Bai et al., ACL 2024). The evidence is spread over the whole prompt, so there
is no depth.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence

from niah_gen.errors import FitError
from niah_gen.haystacks.budget import room_for_filler
from niah_gen.haystacks.passages import BLANK_LINE, Passage, marker_tokens, numbers, that_fit
from niah_gen.prompts.frame import Frame
from niah_gen.tasks.base import NO_CONTEXT, AskedOfTexts, Task, no_context
from niah_gen.tasks.common_words import ids_of, whole_context, without_depths
from niah_gen.tasks.hiding import ContextKind, always_exact
from niah_gen.tasks.passages import PassageOptions, passages_for
from niah_gen.tasks.records import Cell, Context, ContextMaker, Item, Settings, Workbench, cell_seed
from niah_gen.tasks.words import wording
from niah_gen.tokenizers.counted import counted

# The share of different passages among those that fit a length.
_LEAST, _MOST = 0.4, 0.7
# About how many tokens of a prompt are not passages.
_AROUND = 150
# How often passages are drawn until the different ones fit: some are longer than most.
_DRAWS = 12


def _ids(settings: Settings, language: str) -> Sequence[str]:
    return ids_of(settings.options.rows, language) if language in wording("passages") else []


def _seed(bench: Workbench, cell: Cell) -> str:
    return f"{cell_seed(bench.seed, cell)}/passage-count"


def _countable(bench: Workbench, cell: Cell) -> list[Passage]:
    """The passages of a corpus that nobody takes for one another: no two begin with the same sentence."""
    return list({passage.sentences[0]: passage for passage in passages_for(bench, cell)}.values())


def _ask(bench: Workbench) -> Callable[[Cell], Item]:
    def ask(cell: Cell) -> Item:
        passages = _countable(bench, cell)
        size = sum(passage.size for passage in passages) / len(passages)
        fitting = (cell.length - bench.reserve - _AROUND) / (size + marker_tokens(cell.language, bench.tokenizer))
        most = min(fitting, len(passages))
        low, high = max(2, round(_LEAST * most)), max(2, int(_MOST * most))
        if high > fitting - 1:
            raise FitError(
                f"length {cell.length} has room for {max(0, int(fitting))} passages, too few to count; ask for longer "
                "lengths, or set options.size lower"
            )
        count = str(random.Random(_seed(bench, cell)).randint(low, high))
        question = wording("passages")[cell.language]["count"]
        return Item(
            cell.draw, cell.language, question, (count,), ((count,),), "exact", keyword_kinds=("number",),
            max_new_tokens=32,
        )  # fmt: skip

    return ask


def _make(bench: Workbench) -> ContextMaker:
    def make(cell: Cell, item: Item, shown: Item, frame: Frame) -> Context:
        room = room_for_filler(cell.length, bench.reserve, frame, (), "", bench.tokenizer)
        passages, count = _countable(bench, cell), int(item.answers[0])
        for attempt in range(_DRAWS):
            seed = _seed(bench, cell) + (f"/{attempt}" if attempt else "")
            own = numbers(random.Random(f"{seed}/numbers"))
            texts = that_fit(_drawn(passages, count, seed), own, room, cell.language, bench.tokenizer)
            if len(texts) > count:
                random.Random(f"{seed}/order").shuffle(texts)
                return whole_context(counted(BLANK_LINE.join(texts), bench.tokenizer))
        raise FitError(
            f"length {cell.length} has no room for {count} different passages and a repeated one; ask for longer "
            "lengths, or set options.size lower"
        )

    return make


def _drawn(passages: Sequence[Passage], count: int, seed: str) -> Iterator[Passage]:
    """`count` different passages in random order, then half of them again and again."""
    different = random.Random(f"{seed}/different").sample(passages, count)
    yield from different
    draw = random.Random(f"{seed}/again")
    while True:
        yield draw.choice(different[: (count + 1) // 2])


PASSAGE_COUNT = Task(
    "passage-count", 2, _ids, AskedOfTexts(_ask), PassageOptions, ContextKind(_make, exact=always_exact),
    {NO_CONTEXT: no_context}, without_depths,
)  # fmt: skip
