"""Asks how many different passages there are among numbered ones, some of which are repeated.

LongBench's passage count made exact (Y. Bai et al., ACL 2024). The evidence is spread over the whole prompt, so there
is no depth.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence

from niah_gen.errors import FitError
from niah_gen.haystacks.fit_passages import Lines, PassageRoom, fit_passages, marker_tokens
from niah_gen.haystacks.passages import Passage, PassageSource, passages_of
from niah_gen.prompts.frame import Frame
from niah_gen.tasks.base import NO_CONTEXT, AskedOfTexts, Task, no_context
from niah_gen.tasks.common_words import ids_of, whole_context, without_depths
from niah_gen.tasks.hiding import ContextKind, always_exact
from niah_gen.tasks.passages import PassageOptions, fullest, row_seed, source_of
from niah_gen.tasks.records import Cell, Context, ContextMaker, Item, Settings, Workbench
from niah_gen.tokenizers.counted import counted

_QUESTIONS = {
    "en": "How many different passages are there, if those that say the same count once? Reply with the number alone.",
    "zh": "内容相同的段落只算一个，一共有多少个不同的段落？只回答数字。",
}  # fmt: skip
_NAME = "passage-count"
# The share of different passages among those that fit a length.
_LEAST, _MOST = 0.4, 0.7
# About how many tokens of a prompt are not passages.
_AROUND = 150
# How often passages are drawn until they fill the length: a few long sentences can only be cut in a few places.
_DRAWS = 12


def _ids(settings: Settings, language: str) -> Sequence[str]:
    return ids_of(settings.options.rows, language) if language in _QUESTIONS else []


def _countable(source: PassageSource) -> list[Passage]:
    """The passages of a corpus that stay different however they are cut: no two begin with the same sentence."""
    return list({passage.sentences[0]: passage for passage in passages_of(source)}.values())


def _ask(bench: Workbench) -> Callable[[Cell], Item]:
    def ask(cell: Cell) -> Item:
        passages = _countable(source_of(bench, cell))
        size = sum(passage.size for passage in passages) / len(passages)
        fitting = (cell.length - bench.reserve - _AROUND) / (size + marker_tokens(cell.language, bench.tokenizer))
        most = min(fitting, len(passages))
        low, high = max(2, round(_LEAST * most)), max(2, int(_MOST * most))
        if high > fitting - 1:
            raise FitError(
                f"length {cell.length} has room for {max(0, int(fitting))} passages, too few to count; ask for longer "
                "lengths, or set options.size lower"
            )
        count = str(random.Random(row_seed(_NAME, bench, cell)).randint(low, high))
        return Item(
            cell.draw, cell.language, _QUESTIONS[cell.language], (count,), ((count,),), "exact",
            keyword_kinds=("number",), max_new_tokens=32,
        )  # fmt: skip

    return ask


def _make(bench: Workbench) -> ContextMaker:
    def make(cell: Cell, item: Item, shown: Item, frame: Frame) -> Context:
        name = row_seed(_NAME, bench, cell)
        passages = _countable(source_of(bench, cell))
        once = sum(passage.size for passage in passages)
        budget = cell.length - bench.reserve
        room = PassageRoom(budget, frame, (), cell.language, bench.tokenizer, bench.counter)
        around = sum(map(bench.tokenizer.count, frame.others))

        def draw(number: int) -> tuple[int, Context]:
            seed = f"{name}/{number}" if number else name
            lines = _lines(passages, int(item.answers[0]), seed)
            filled = fit_passages(room, lines, seed, frozenset(), once)
            context = whole_context(counted(filled.data.decode(), bench.tokenizer))
            (piece,) = context.turns[0].pieces
            return budget - around - bench.counter.count([frame.before, piece.content, frame.after]), context

        return fullest(draw, _DRAWS)

    return make


def _lines(passages: Sequence[Passage], count: int, seed: str) -> Lines:
    """`count` different passages in random order, half of which are repeated as often as there is room."""
    different = random.Random(f"{seed}/different").sample(passages, count)
    repeated = different[: (len(different) + 1) // 2]

    def endless() -> Iterator[Passage]:
        yield from different
        draw = random.Random(f"{seed}/again")
        while True:
            yield draw.choice(repeated)

    return Lines(endless, len(different) + 1, f"{seed}/order")


PASSAGE_COUNT = Task(
    _NAME, 1, _ids, AskedOfTexts(_ask), PassageOptions, context=ContextKind(_make, exact=always_exact),
    controls={NO_CONTEXT: no_context}, coordinates=without_depths,
)  # fmt: skip
