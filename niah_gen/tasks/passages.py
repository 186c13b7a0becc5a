"""Asks about numbered passages: which one a sentence or a summary belongs to, what one says, how many are different.

Numbers are random, so that a passage's place does not reveal its number. `passage-match` and `passage-count` are
LongBench's passage retrieval and count made exact (Y. Bai et al., ACL 2024); `passage-copy` and `passage-nth` are the
levels of RULERv2's question sets that need no questions (NVIDIA, 2025). The evidence of `passage-count` is spread over
the whole prompt, so it has no depth.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import cycle, islice
from typing import NamedTuple

from niah_gen.errors import FitError
from niah_gen.haystacks.generated import haystack_of, joined
from niah_gen.haystacks.haystack import Haystack, passes_of, room_for_filler
from niah_gen.haystacks.passages import BLANK_LINE, Passage, marker_tokens, numbered, numbers, passages_of, that_fit
from niah_gen.haystacks.placement import lay, nearest
from niah_gen.prompts.frame import Frame, PromptMessage
from niah_gen.tasks.base import NO_CONTEXT, AskedOfTexts, Control, Task, absent, no_context
from niah_gen.tasks.frequent_words import row_ids, whole_context, without_depths
from niah_gen.tasks.hiding import ContextKind
from niah_gen.tasks.options import check_options
from niah_gen.tasks.records import Cell, Context, Item, Workbench, cell_seed
from niah_gen.tasks.words import ordinal, wording
from niah_gen.tokenizers.counted import count, counted

# Tokens; a shorter sentence could belong to many passages.
_LEAST_CLUE = 8
_DRAWS = 200
# How many passages in a row may be too long for what is left before a prompt counts as full.
_MOST_PASSED = 16
# The share of different passages among those that fit a length.
_LEAST, _MOST = 0.4, 0.7
# About how many tokens of a prompt are not passages.
_AROUND = 150
# How often passages are drawn until the different ones fit: some are longer than most.
_COUNT_DRAWS = 12


@dataclass(frozen=True, slots=True)
class PassageOptions:
    """The recipe's [options].

    `size`: least tokens of a passage; with 0, passages are whole documents. `rows`: how many rows each cell has.
    """

    size: int = 80
    rows: int = 4

    def __post_init__(self) -> None:
        if self.size and not 20 <= self.size <= 4000:
            raise ValueError(f"size is {self.size}; expected 20 to 4000 tokens, or 0 for whole documents")
        check_options(self, rows=range(1, 1001))


@dataclass(frozen=True, slots=True)
class MatchOptions(PassageOptions):
    """The recipe's [options]: those of PassageOptions, and `near`: how many of the passage's neighbours are shown."""

    near: int = 2

    def __post_init__(self) -> None:
        PassageOptions.__post_init__(self)
        check_options(self, near=range(21))


@dataclass(frozen=True, slots=True)
class NthOptions(PassageOptions):
    """The recipe's [options]: those of PassageOptions, and `of`: how many passages share the number."""

    of: int = 3

    def __post_init__(self) -> None:
        PassageOptions.__post_init__(self)
        check_options(self, of=range(2, 21))


class _Asked(NamedTuple):
    """What a row asks for: passages, by their place in the corpus, the asked one first, and their numbers.

    `before`: how many of the others precede the asked one; None if they may be anywhere. `item`: what is asked.
    """

    places: tuple[int, ...]
    numbers: tuple[str, ...]
    before: int | None
    item: Item


# Draws what a row asks for.
_Ask = Callable[[random.Random, Sequence[Passage], Workbench, Cell], _Asked]


def _seed(name: str, bench: Workbench, cell: Cell) -> str:
    return f"{cell_seed(bench.seed, cell)}/{name}"


def passages_for(bench: Workbench, cell: Cell) -> tuple[Passage, ...]:
    """The passages of the corpus of a cell, cut as the options say."""
    return passages_of(bench.corpora[cell.corpus], bench.tokenizer, bench.options.size)


def _one(draw: random.Random, passages: Sequence[Passage], fit: Callable[[Passage], bool], what: str) -> int:
    """The place of a passage that fits. Raises FitError if hardly any does. `what`: describes one that fits."""
    for _ in range(_DRAWS):
        place = draw.randrange(len(passages))
        if fit(passages[place]):
            return place
    raise FitError(f"hardly any passage of the corpus {what}; set options.size higher, or use another corpus")


def _numbers_for(draw: random.Random, passages: Sequence[Passage], count: int) -> tuple[str, ...]:
    """Draws `count` numbers that occur in no passage of the corpus."""
    sentences = [sentence for passage in passages for sentence in passage.sentences]
    fresh = (one for one in numbers(draw, frozenset()) if not any(one in sentence for sentence in sentences))
    return tuple(islice(fresh, count))


def _match(draw: random.Random, passages: Sequence[Passage], bench: Workbench, cell: Cell) -> _Asked:
    def fit(passage: Passage) -> bool:
        if passage.summary:
            return True
        clue = passage.sentences[0]
        unique = sum(clue in other.sentences for other in passages) == 1
        return unique and len(passage.sentences) > 2 and bench.tokenizer.count(clue) >= _LEAST_CLUE

    place = _one(draw, passages, fit, "has a first sentence of its own")
    near = sorted((other for other in range(len(passages)) if other != place), key=lambda other: abs(other - place))
    places = (place, *near[: bench.options.near])
    given = _numbers_for(draw, passages, len(places))
    asked = passages[place]
    by, clue, first = ("by_summary", asked.summary, 0) if asked.summary else ("by_sentence", asked.sentences[0], 1)
    texts = [asked.text(first=first), *(passages[other].text() for other in places[1:])]
    item = Item(
        cell.draw, cell.language, wording("passages")[cell.language][by].format(clue=clue),
        (given[0], numbered("", given[0], cell.language).strip(" :：")), ((given[0],),), "correct",
        tuple(numbered(text, number, cell.language) for text, number in zip(texts, given, strict=True)),
        keyword_kinds=("number",), decoys=tuple((number,) for number in given[1:]), distractors=len(given) - 1,
    )  # fmt: skip
    return _Asked(places, given, None, item)


def _copied(draw: random.Random, passages: Sequence[Passage], bench: Workbench) -> int:
    """The place of a passage to be copied."""
    size = bench.options.size
    return _one(draw, passages, lambda one: not size or one.size <= 2 * size, "is short enough to be copied")


def _copy_item(cell: Cell, question: str, texts: Sequence[str], number: str, bench: Workbench) -> Item:
    """Asks for the first of some texts, which all have one number."""
    hidden = tuple(numbered(text, number, cell.language) for text in texts)
    return Item(
        cell.draw, cell.language, question, (texts[0], hidden[0]), (), "exact", hidden,
        decoys=tuple((text,) for text in texts[1:]), distractors=len(texts) - 1,
        max_new_tokens=bench.tokenizer.count(hidden[0]) * 3 // 2 + 32,
    )  # fmt: skip


def _copy(draw: random.Random, passages: Sequence[Passage], bench: Workbench, cell: Cell) -> _Asked:
    place = _copied(draw, passages, bench)
    (number,) = given = _numbers_for(draw, passages, 1)
    question = wording("passages")[cell.language]["copy"].format(id=number)
    return _Asked((place,), given, None, _copy_item(cell, question, [passages[place].text()], number, bench))


def _nth(draw: random.Random, passages: Sequence[Passage], bench: Workbench, cell: Cell) -> _Asked:
    of = bench.options.of
    places: dict[int, None] = {}
    for _ in range(_DRAWS):
        if len(places) < of:
            places[_copied(draw, passages, bench)] = None
    if len(places) < of:
        raise FitError(f"the corpus has too few passages for options.of = {of}; use a larger one")
    (number,) = _numbers_for(draw, passages, 1)
    # The rows of a cell ask for each place in turn, so that no place is the answer more often than others.
    first = random.Random(f"{bench.seed}/{cell.corpus}/{cell.length}/{cell.repeat}/nth").randrange(of)
    before = (first + int(cell.needle.rpartition("-")[2])) % of
    nth = ordinal(before + 1, cell.language)
    question = wording("passages")[cell.language]["nth"].format(id=number, of=of, nth=nth)
    item = _copy_item(cell, question, [passages[place].text() for place in places], number, bench)
    return _Asked(tuple(places), (number,) * of, before, item)


class _Hidden:
    """Hides numbered passages among others; keeps the haystack that the rows of a cell share at all depths."""

    def __init__(self, name: str, ask: _Ask, bench: Workbench) -> None:
        self._name = name
        self._ask = ask
        self._bench = bench
        self._filled: tuple[Cell, Haystack] | None = None

    def asked(self, cell: Cell) -> _Asked:
        """What a cell asks for, whatever its depth."""
        passages = passages_for(self._bench, cell)
        return self._ask(random.Random(_seed(self._name, self._bench, cell)), passages, self._bench, cell)

    def __call__(self, cell: Cell, item: Item, shown: Item, frame: Frame) -> Context:
        """The context of a cell."""
        bench, asked = self._bench, self.asked(cell)
        key = cell._replace(depth=0.0, control=None)
        if self._filled is None or self._filled[0] != key:
            self._filled = key, self._fill(cell, item, frame, asked)
        haystack = self._filled[1]
        places, before = haystack.needle_places()
        gaps = self._gaps(
            cell, asked, int(nearest(before, (cell.depth or 0.0) / 100 * haystack.tokens)), len(before) - 1
        )
        kept = [item.hide.index(text) for text in shown.hide]
        order = sorted(range(len(kept)), key=lambda number: gaps[kept[number]])
        at = [int(places[gaps[number][0]]) for number in kept]
        edits, spans = lay(shown.hide, [(at[number], number) for number in order], BLANK_LINE)
        tokens = [count(haystack.source, (), place, bench.tokenizer) for place in at]
        return Context(
            turns=(PromptMessage(None, haystack.source, haystack.end, edits, spans),),
            haystack_id=haystack.id,
            haystack_tokens=haystack.tokens,
            needle_depths=tuple(100 * before / haystack.tokens for before in tokens),
            haystack_passes=haystack.passes,
            boundary="paragraph",
        )

    def _fill(self, cell: Cell, item: Item, frame: Frame, asked: _Asked) -> Haystack:
        bench, seed = self._bench, _seed(self._name, self._bench, cell)
        passages = passages_for(bench, cell)
        others = [passage for place, passage in enumerate(passages) if place not in asked.places]
        random.Random(f"{seed}/others").shuffle(others)
        own = numbers(random.Random(f"{seed}/numbers"), asked.numbers)
        room = room_for_filler(cell.length, bench.reserve, frame, item.hide, BLANK_LINE, bench.tokenizer)
        texts = that_fit(cycle(others), own, room, cell.language, bench.tokenizer, _MOST_PASSED)
        once = sum(passage.size + marker_tokens(cell.language, bench.tokenizer) for passage in others)
        haystack = haystack_of(*joined(texts, BLANK_LINE, bench.tokenizer))
        return replace(haystack, passes=passes_of(haystack.tokens, once))

    def _gaps(self, cell: Cell, asked: _Asked, gap: int, last: int) -> list[tuple[int, int]]:
        """The gap that each text goes into (the number of the passage after it), and its order in that gap."""
        count = len(asked.places)
        draw = random.Random(f"{_seed(self._name, self._bench, cell)}/gaps")
        gaps = [(gap, 0)]
        for number in range(1, count):
            share = draw.random()
            if asked.before is None:
                # After the asked one, wrapping around: over all depths that comes first as often as last.
                further = (number + (share - 0.5) / 2) / count
                gaps.append(((gap + round(further * (last + 1))) % (last + 1), number))
            elif number <= asked.before:
                gaps.append((int(share * (gap + 1)), number - count))
            else:
                gaps.append((gap + int(share * (last - gap + 1)), number))
        return gaps


def _task(name: str, ask: _Ask, options: type, controls: dict[str, Control]) -> Task:
    def items(bench: Workbench) -> Callable[[Cell], Item]:
        return lambda cell: _Hidden(name, ask, bench).asked(cell).item

    kind = ContextKind(partial(_Hidden, name, ask), lambda language: BLANK_LINE, "paragraph", True)
    return Task(name, 2, row_ids, AskedOfTexts(items), options, kind, controls)


PASSAGE_MATCH = _task("passage-match", _match, MatchOptions, {"absent": absent, NO_CONTEXT: no_context})
PASSAGE_COPY = _task("passage-copy", _copy, PassageOptions, {"absent": absent})
PASSAGE_NTH = _task("passage-nth", _nth, NthOptions, {})


def _countable(bench: Workbench, cell: Cell) -> list[Passage]:
    """The passages of a corpus that nobody takes for one another: no two begin with the same sentence."""
    return list({passage.sentences[0]: passage for passage in passages_for(bench, cell)}.values())


def _count_item(bench: Workbench, cell: Cell) -> Item:
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
    count = str(random.Random(_seed("passage-count", bench, cell)).randint(low, high))
    question = wording("passages")[cell.language]["count"]
    return Item(
        cell.draw, cell.language, question, (count,), ((count,),), "exact", keyword_kinds=("number",),
        max_new_tokens=32,
    )  # fmt: skip


def _count_context(bench: Workbench, cell: Cell, item: Item, shown: Item, frame: Frame) -> Context:
    room = room_for_filler(cell.length, bench.reserve, frame, (), "", bench.tokenizer)
    passages, count = _countable(bench, cell), int(item.answers[0])
    for attempt in range(_COUNT_DRAWS):
        seed = _seed("passage-count", bench, cell) + (f"/{attempt}" if attempt else "")
        own = numbers(random.Random(f"{seed}/numbers"))
        texts = that_fit(_drawn(passages, count, seed), own, room, cell.language, bench.tokenizer)
        if len(texts) > count:
            random.Random(f"{seed}/order").shuffle(texts)
            return whole_context(counted(BLANK_LINE.join(texts), bench.tokenizer), bench.tokenizer)
    raise FitError(
        f"length {cell.length} has no room for {count} different passages and a repeated one; ask for longer "
        "lengths, or set options.size lower"
    )


def _drawn(passages: Sequence[Passage], count: int, seed: str) -> Iterator[Passage]:
    """`count` different passages in random order, then half of them again and again."""
    different = random.Random(f"{seed}/different").sample(passages, count)
    yield from different
    draw = random.Random(f"{seed}/again")
    while True:
        yield draw.choice(different[: (count + 1) // 2])


PASSAGE_COUNT = Task(
    "passage-count", 2, row_ids, AskedOfTexts(lambda bench: partial(_count_item, bench)), PassageOptions,
    ContextKind(lambda bench: partial(_count_context, bench), exact=True), {NO_CONTEXT: no_context},
    without_depths,
)  # fmt: skip
