"""Asks for numbered passages of a corpus: which one a sentence or a summary belongs to, and what one of them says.

Numbers are random, so that a passage's place does not reveal its number. `passage-match` is LongBench's passage
retrieval made exact (Y. Bai et al., ACL 2024); `passage-copy` and `passage-nth` are the levels of RULERv2's question
sets that need no questions (NVIDIA, 2025).
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import cycle
from typing import NamedTuple, TypeVar

from niah_gen.errors import FitError
from niah_gen.haystacks.fit import MOST_BELOW
from niah_gen.haystacks.fit_passages import (
    Lines,
    PassageRoom,
    fit_passages,
    marker_tokens,
    most_below,
    numbered,
    numbers,
)
from niah_gen.haystacks.haystack import Haystack
from niah_gen.haystacks.passages import BLANK_LINE, Passage, PassageSource, passage_source, passages_of
from niah_gen.haystacks.splice import lay, nearest
from niah_gen.prompts.frame import Frame
from niah_gen.prompts.messages import PromptMessage
from niah_gen.tasks.base import NO_CONTEXT, AskedOfTexts, Control, Task, absent, no_context
from niah_gen.tasks.common_words import ids_of
from niah_gen.tasks.hiding import ContextKind, always_exact, at_paragraph
from niah_gen.tasks.numerals import ordinal
from niah_gen.tasks.records import Cell, Context, Item, Settings, Workbench, cell_seed
from niah_gen.tokenizers.find import Ints
from niah_gen.tokenizers.spliced import Slice, encode

Made = TypeVar("Made")

_BY_SENTENCE = {
    "en": "One passage has lost its first sentence, which reads: {clue}\nWhich one is it? Reply with its number alone.",
    "zh": "其中一个段落缺了第一句，这一句是：{clue}\n它是哪个段落的第一句？只回答编号。",
}  # fmt: skip
_BY_SUMMARY = {
    "en": "This is a summary of one of the passages: {clue}\nWhich passage is it? Reply with its number alone.",
    "zh": "以下是其中一个段落的摘要：{clue}\n它是哪个段落的摘要？只回答编号。",
}  # fmt: skip
_COPY = {
    "en": "What does passage {id} say? Copy it exactly, without its number.",
    "zh": "编号为{id}的段落写了什么？请原样抄写，不要写编号。",
}  # fmt: skip
_NTH = {
    "en": "{of} passages have the number {id}. What does the {nth} of them say? Copy it exactly, without its number.",
    "zh": "编号为{id}的段落共有{of}个，其中第{nth}个写了什么？请原样抄写，不要写编号。",
}  # fmt: skip
# Tokens; a shorter sentence could belong to many passages.
_LEAST_CLUE = 8
_DRAWS = 200
# How many orders of the passages are tried for a length.
_ORDERS = 24


@dataclass(frozen=True, slots=True)
class PassageOptions:
    """The recipe's [options].

    `size`: least tokens of a passage; with 0, passages are whole documents. `rows`: how many rows each cell has.
    """

    size: int = 80
    rows: int = 4

    def __post_init__(self) -> None:
        check_sizes(self.size, self.rows)


@dataclass(frozen=True, slots=True)
class MatchOptions:
    """The recipe's [options]: those of PassageOptions, and `near`: how many of the passage's neighbours are shown."""

    size: int = 80
    rows: int = 4
    near: int = 2

    def __post_init__(self) -> None:
        check_sizes(self.size, self.rows)
        if not 0 <= self.near <= 20:
            raise ValueError(f"near is {self.near}; expected 0 to 20")


@dataclass(frozen=True, slots=True)
class NthOptions:
    """The recipe's [options]: those of PassageOptions, and `of`: how many passages share the number."""

    size: int = 80
    rows: int = 4
    of: int = 3

    def __post_init__(self) -> None:
        check_sizes(self.size, self.rows)
        if not 2 <= self.of <= 20:
            raise ValueError(f"of is {self.of}; expected 2 to 20")


def check_sizes(size: int, rows: int) -> None:
    """Raises ValueError if `size` or `rows` is out of range."""
    if size and not 20 <= size <= 4000:
        raise ValueError(f"size is {size}; expected 20 to 4000 tokens, or 0 for whole documents")
    if not 1 <= rows <= 1000:
        raise ValueError(f"rows is {rows}; expected 1 to 1000")


class DrawnPassages(NamedTuple):
    """What a row asks for: passages, by their place in the corpus, the asked one first, and their numbers.

    `before`: how many of the others precede the asked one; None if they may be anywhere.
    """

    places: tuple[int, ...]
    numbers: tuple[str, ...]
    before: int | None = None


Draw = Callable[[random.Random, Sequence[Passage], Workbench, Cell], DrawnPassages]
MakeItem = Callable[[Cell, DrawnPassages, Sequence[Passage], Workbench], Item]


class Kind(NamedTuple):
    """One of the passage tasks: what it draws for a row, and the item it makes from that."""

    name: str
    draw: Draw
    item: MakeItem


def source_of(bench: Workbench, cell: Cell) -> PassageSource:
    """The corpus of a cell, for cutting as the options say."""
    return passage_source(bench.corpora[cell.corpus], bench.tokenizer, bench.options.size)


def row_seed(kind: str, bench: Workbench, cell: Cell) -> str:
    """The seed of everything in a row that does not depend on its depth."""
    return f"{cell_seed(bench.seed, cell)}/{kind}"


def fullest(attempt: Callable[[int], tuple[int, Made]], count: int) -> Made:
    """The result that leaves the fewest tokens of the budget free, of up to `count` numbered attempts.

    `attempt`: returns these tokens and a result; few enough end the search. Raises the last FitError if all attempts
    raise one.
    """
    best: tuple[int, Made] | None = None
    for number in range(count):
        try:
            below, made = attempt(number)
        except FitError:
            if best is None and number == count - 1:
                raise
            continue
        if best is None or below < best[0]:
            best = below, made
        if below <= MOST_BELOW:
            break
    assert best is not None
    return best[1]


def _drawn(kind: Kind, bench: Workbench, cell: Cell) -> tuple[DrawnPassages, tuple[Passage, ...]]:
    passages = passages_of(source_of(bench, cell))
    return kind.draw(random.Random(row_seed(kind.name, bench, cell)), passages, bench, cell), passages


def _ask(kind: Kind, bench: Workbench) -> Callable[[Cell], Item]:
    def ask(cell: Cell) -> Item:
        drawn, passages = _drawn(kind, bench, cell)
        return kind.item(cell, drawn, passages, bench)

    return ask


def _ids(settings: Settings, language: str) -> Sequence[str]:
    return ids_of(settings.options.rows, language) if language in _COPY else []


def _one(draw: random.Random, passages: Sequence[Passage], fit: Callable[[Passage], bool], what: str) -> int:
    """The place of a passage that fits. Raises FitError if hardly any does. `what`: describes one that fits."""
    for _ in range(_DRAWS):
        place = draw.randrange(len(passages))
        if fit(passages[place]):
            return place
    raise FitError(f"hardly any passage of the corpus {what}; set options.size higher, or use another corpus")


def _numbers_for(draw: random.Random, passages: Sequence[Passage], count: int) -> tuple[str, ...]:
    """Draws `count` numbers that occur in no passage of the corpus."""
    own = numbers(draw, frozenset())
    given: list[str] = []
    while len(given) < count:
        number = next(own)
        if not any(number in sentence for passage in passages for sentence in passage.sentences):
            given.append(number)
    return tuple(given)


def _clue(passage: Passage) -> str:
    return passage.summary or passage.sentences[0]


def _draw_match(draw: random.Random, passages: Sequence[Passage], bench: Workbench, cell: Cell) -> DrawnPassages:
    def fit(passage: Passage) -> bool:
        if passage.summary:
            return True
        clue = passage.sentences[0]
        unique = sum(clue in other.sentences for other in passages) == 1
        return unique and len(passage.sentences) > 2 and bench.tokenizer.count(clue) >= _LEAST_CLUE

    asked = _one(draw, passages, fit, "has a first sentence of its own")
    others = sorted((place for place in range(len(passages)) if place != asked), key=lambda place: abs(place - asked))
    near = others[: bench.options.near]
    return DrawnPassages((asked, *near), _numbers_for(draw, passages, 1 + len(near)))


def _match_item(cell: Cell, drawn: DrawnPassages, passages: Sequence[Passage], bench: Workbench) -> Item:
    asked, *near = (passages[place] for place in drawn.places)
    question = (_BY_SUMMARY if asked.summary else _BY_SENTENCE)[cell.language].format(clue=_clue(asked))
    texts = [asked.text() if asked.summary else asked.text(first=1), *(passage.text() for passage in near)]
    number = drawn.numbers[0]
    return Item(
        cell.draw, cell.language, question, (number, numbered("", number, cell.language).strip(" :：")), ((number,),),
        "correct", _hidden(texts, drawn, cell), keyword_kinds=("number",),
        decoys=tuple((other,) for other in drawn.numbers[1:]), distractors=len(near),
    )  # fmt: skip


def _hidden(texts: Sequence[str], drawn: DrawnPassages, cell: Cell) -> tuple[str, ...]:
    return tuple(numbered(text, number, cell.language) for text, number in zip(texts, drawn.numbers, strict=True))


def _short_enough(passage: Passage, bench: Workbench) -> bool:
    return not bench.options.size or passage.size <= 2 * bench.options.size


def _draw_copy(draw: random.Random, passages: Sequence[Passage], bench: Workbench, cell: Cell) -> DrawnPassages:
    asked = _one(draw, passages, partial(_short_enough, bench=bench), "is short enough to be copied")
    return DrawnPassages((asked,), _numbers_for(draw, passages, 1))


def _draw_nth(draw: random.Random, passages: Sequence[Passage], bench: Workbench, cell: Cell) -> DrawnPassages:
    places: dict[int, None] = {}
    for _ in range(_DRAWS):
        places[_one(draw, passages, partial(_short_enough, bench=bench), "is short enough to be copied")] = None
        if len(places) == bench.options.of:
            break
    else:
        raise FitError(f"the corpus has too few passages for options.of = {bench.options.of}; use a larger one")
    number = _numbers_for(draw, passages, 1)
    # The rows of a cell ask for each place in turn, so that no place is the answer more often than others.
    first = random.Random(f"{bench.seed}/{cell.corpus}/{cell.length}/{cell.repeat}/nth").randrange(bench.options.of)
    row = int(cell.needle.rpartition("-")[2])
    return DrawnPassages(tuple(places), number * bench.options.of, (first + row) % bench.options.of)


def _copy_item(cell: Cell, drawn: DrawnPassages, passages: Sequence[Passage], bench: Workbench) -> Item:
    texts = [passages[place].text() for place in drawn.places]
    number = drawn.numbers[0]
    if drawn.before is None:
        question = _COPY[cell.language].format(id=number)
    else:
        nth = ordinal(drawn.before + 1, cell.language)
        question = _NTH[cell.language].format(id=number, of=len(texts), nth=nth)
    hidden = _hidden(texts, drawn, cell)
    return Item(
        cell.draw, cell.language, question, (texts[0], hidden[0]), (), "exact", hidden,
        decoys=tuple((text,) for text in texts[1:]), distractors=len(texts) - 1,
        max_new_tokens=bench.tokenizer.count(hidden[0]) * 3 // 2 + 32,
    )  # fmt: skip


class _Hidden:
    """Hides numbered passages among others; keeps the haystack that the rows of a cell share at all depths."""

    def __init__(self, kind: Kind, bench: Workbench) -> None:
        self._kind = kind
        self._bench = bench
        self._key: Cell | None = None
        self._haystack: Haystack | None = None

    def __call__(self, cell: Cell, item: Item, shown: Item, frame: Frame) -> Context:
        bench = self._bench
        drawn, passages = _drawn(self._kind, bench, cell)
        key = cell._replace(depth=0.0, control=None)
        if self._haystack is None or self._key != key:
            self._key, self._haystack = key, self._fill(cell, item, frame, drawn, passages)
        haystack = self._haystack
        places, before = haystack.places, haystack.before
        assert places is not None
        assert before is not None
        gaps = self._gaps(cell, item, drawn, before, haystack.tokens)
        kept = [item.hide.index(text) for text in shown.hide]
        order = sorted(range(len(kept)), key=lambda number: gaps[kept[number]])
        at = [int(places[gaps[number][0]]) for number in kept]
        needles = [encode(text, bench.tokenizer) for text in shown.hide]
        pieces = lay(haystack, needles, [(at[number], number) for number in order], BLANK_LINE)
        counted = [bench.counter.count([Slice(haystack.source, 0, place)]) if place else 0 for place in at]
        return Context(
            turns=(PromptMessage(None, tuple(pieces)),),
            haystack_id=haystack.id,
            haystack_tokens=haystack.tokens,
            needle_depths=tuple(100 * tokens / haystack.tokens for tokens in counted),
            haystack_passes=haystack.passes,
            boundary="paragraph",
        )

    def _fill(
        self, cell: Cell, item: Item, frame: Frame, drawn: DrawnPassages, passages: Sequence[Passage]
    ) -> Haystack:
        bench, name = self._bench, row_seed(self._kind.name, self._bench, cell)
        others = [passage for place, passage in enumerate(passages) if place not in drawn.places]
        needles = tuple(encode(text, bench.tokenizer) for text in item.hide)
        room = PassageRoom(cell.length - bench.reserve, frame, needles, cell.language, bench.tokenizer, bench.counter)
        once = sum(passage.size + marker_tokens(cell.language, bench.tokenizer) for passage in others)

        def fill(number: int) -> tuple[int, Haystack]:
            shuffled = list(others)
            random.Random(f"{name}/others/{number}" if number else f"{name}/others").shuffle(shuffled)
            haystack = fit_passages(room, Lines(partial(cycle, shuffled)), name, frozenset(drawn.numbers), once)
            return most_below(haystack, room), haystack

        # If few passages fit, not every order of them can be cut to the length.
        return fullest(fill, _ORDERS)

    def _gaps(self, cell: Cell, item: Item, drawn: DrawnPassages, before: Ints, tokens: int) -> list[tuple[int, int]]:
        """The gap that each text goes into (the number of the passage after it), and its order in that gap."""
        gap = int(nearest(before, (cell.depth or 0.0) / 100 * tokens))
        last = len(before) - 1
        draw = random.Random(f"{row_seed(self._kind.name, self._bench, cell)}/gaps")
        shares = [draw.random() for _ in item.hide[1:]]
        gaps = [(gap, 0)]
        for number, share in enumerate(shares, 1):
            if drawn.before is None:
                # After the asked one, wrapping around: over all depths that comes first as often as last.
                further = (number + (share - 0.5) / 2) / len(item.hide)
                gaps.append(((gap + round(further * (last + 1))) % (last + 1), number))
            elif number <= drawn.before:
                gaps.append((int(share * (gap + 1)), number - len(shares) - 1))
            else:
                gaps.append((gap + int(share * (last - gap + 1)), number))
        return gaps


def _task(kind: Kind, options: type, controls: dict[str, Control]) -> Task:
    return Task(
        kind.name, 1, _ids, AskedOfTexts(partial(_ask, kind)), options,
        context=ContextKind(partial(_Hidden, kind), lambda language: BLANK_LINE, at_paragraph, always_exact),
        controls=controls
    )  # fmt: skip


PASSAGE_MATCH = _task(
    Kind("passage-match", _draw_match, _match_item), MatchOptions,
    {"absent": absent, NO_CONTEXT: no_context},
)  # fmt: skip
PASSAGE_COPY = _task(Kind("passage-copy", _draw_copy, _copy_item), PassageOptions, {"absent": absent})
PASSAGE_NTH = _task(Kind("passage-nth", _draw_nth, _copy_item), NthOptions, {})
