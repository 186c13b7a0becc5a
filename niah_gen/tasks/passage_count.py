"""Asks how many different passages there are among numbered ones, some of which stand several times.

LongBench's passage count made exact (Y. Bai et al., ACL 2024). The evidence is spread over the whole prompt, so no
depth is asked for.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence

from niah_gen.errors import FitError
from niah_gen.haystacks.fit_passages import Lines, PassageRoom, fit_passages, marker_tokens
from niah_gen.haystacks.passages import Passage, PassageSource, passages_of
from niah_gen.prompts.frame import Frame
from niah_gen.tasks.base import Task, asked_of_texts
from niah_gen.tasks.common_words import always, ids_of, whole_context, without_depths
from niah_gen.tasks.controls import NO_CONTEXT, no_context
from niah_gen.tasks.hiding import ContextKind
from niah_gen.tasks.passage_checks import check_count
from niah_gen.tasks.passages import PassageOptions, row_seed, source_of
from niah_gen.tasks.records import Cell, Context, ContextMaker, Item, Settings, Workbench

_QUESTIONS = {
    "en": "How many different passages are there, if those that say the same count once? Reply with the number alone.",
    "zh": "内容相同的段落只算一个，一共有多少个不同的段落？只回答数字。",
}  # fmt: skip
_NAME = "passage-count"
# Of the passages that fit a length, so many are different: about 40 to 70 in a hundred.
_LEAST, _MOST = 0.4, 0.7
# What a prompt holds besides passages, about.
_AROUND = 150


def _ids(settings: Settings, language: str) -> Sequence[str]:
    return ids_of(settings.options.rows, language) if language in _QUESTIONS else []


def _countable(source: PassageSource) -> list[Passage]:
    """The passages of a corpus that stay different however they are cut: each begins with a sentence of its own."""
    return list({passage.sentences[0]: passage for passage in passages_of(source)}.values())


def _ask(bench: Workbench) -> Callable[[Cell], Item]:
    def ask(cell: Cell) -> Item:
        found = _countable(source_of(bench, cell))
        each = sum(passage.size for passage in found) / len(found) + marker_tokens(cell.language, bench.tokenizer)
        fitting = (cell.length - bench.reserve - _AROUND) / each
        most = min(fitting, len(found))
        low, high = max(2, round(_LEAST * most)), max(2, int(_MOST * most))
        if high > fitting - 1:
            raise FitError(
                f"length {cell.length} has room for {max(0, int(fitting))} passages, too few to count; ask for longer "
                "lengths, or set options.size lower"
            )
        count = str(random.Random(row_seed(_NAME, bench, cell)).randint(low, high))
        return Item(
            cell.needle, cell.language, _QUESTIONS[cell.language], (count,), ((count,),), "exact",
            keyword_kinds=("number",), max_new_tokens=32,
        )  # fmt: skip

    return ask


def _make(bench: Workbench) -> ContextMaker:
    def make(cell: Cell, item: Item, shown: Item, frame: Frame) -> Context:
        name = row_seed(_NAME, bench, cell)
        found = _countable(source_of(bench, cell))
        different = random.Random(f"{name}/different").sample(found, int(item.answers[0]))
        # The others stand once each.
        repeated = different[: (len(different) + 1) // 2]

        def endless() -> Iterator[Passage]:
            yield from different
            draw = random.Random(f"{name}/again")
            while True:
                yield draw.choice(repeated)

        room = PassageRoom(
            cell.length - bench.reserve, frame, (), cell.language, bench.tokenizer, bench.counter
        )  # fmt: skip
        lines = Lines(endless, len(different) + 1, f"{name}/order")
        haystack = fit_passages(room, lines, name, frozenset(), sum(passage.size for passage in found))
        return whole_context(haystack.source, bench.counter)

    return make


PASSAGE_COUNT = Task(
    _NAME, 1, _ids, asked_of_texts, PassageOptions, context=ContextKind(_make, check_count, exact=always),
    controls={NO_CONTEXT: no_context}, coordinates=without_depths, ask=_ask, drawn=True
)  # fmt: skip
