"""Asks for the words that stand most often in a long numbered list: evidence that is spread over the whole prompt.

After RULER's common words extraction (C.-P. Hsieh et al., COLM 2024). Its lists of one size share one permutation, so
that positions alone answer them; here every row has its own. No depth is asked for: the words stand everywhere.
"""

from __future__ import annotations

import random
from collections import Counter as Tally
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate
from pathlib import Path
from typing import NamedTuple

import numpy as np

from niah_gen.errors import FitError
from niah_gen.haystacks.made_text import TextDraft, fit_text, wrong_figures
from niah_gen.haystacks.placement import Placement
from niah_gen.haystacks.proof import ContextProof, shown
from niah_gen.prompts.frame import Frame
from niah_gen.prompts.messages import Piece, PromptMessage
from niah_gen.tasks.base import Task
from niah_gen.tasks.controls import NO_CONTEXT, no_context
from niah_gen.tasks.hiding import ContextKind
from niah_gen.tasks.records import (
    Cell,
    Context,
    ContextMaker,
    Coordinates,
    GridAxes,
    Item,
    Settings,
    Workbench,
    cell_seed,
)
from niah_gen.tokenizers.find import Ints
from niah_gen.tokenizers.spliced import Encoded, Slice, encode
from niah_score.contract import sha256_hex

_FOLDER = Path(__file__).parents[1] / "library" / "words"
# Between the items of an answer.
LIST_JOINER = {"en": ", ", "zh": "、"}
_QUESTIONS = {
    "en": (
        "Which word appears most often in the list?",
        "What are the {count} words that appear most often in the list?",
    ),
    "zh": ("列表中出现次数最多的词是哪一个？", "列表中出现次数最多的{count}个词是哪些？"),
}  # fmt: skip
# An asked word stands at least so much more often than any other one.
_APART = 2
_FEWEST = 3


@dataclass(frozen=True, slots=True)
class CommonWordsOptions:
    """The recipe's [options].

    `asked`: how many words stand more often than the others. `common`, `uncommon`: how often each of these and of the
    others stands. Short lists keep the ratio with smaller numbers, and lists that need more words than there are keep
    it with greater ones. `rows`: how many lists of each length, one a row.
    """

    asked: int = 10
    common: int = 30
    uncommon: int = 3
    rows: int = 4

    def __post_init__(self) -> None:
        if not 1 <= self.asked <= 50:
            raise ValueError(f"asked is {self.asked}; expected 1 to 50")
        if self.uncommon < 1 or self.common < _APART * self.uncommon or self.common < _FEWEST:
            raise ValueError(
                f"common is {self.common} and uncommon {self.uncommon}; expected uncommon to be at least 1, and common "
                f"at least {_FEWEST} and {_APART} times uncommon"
            )
        if not 1 <= self.rows <= 1000:
            raise ValueError(f"rows is {self.rows}; expected 1 to 1000")


@lru_cache(maxsize=8)
def vocabulary(language: str) -> tuple[str, ...]:
    """The words that lists are made of, in their order; none where there is no file for a language."""
    file = _FOLDER / f"{language}.txt"
    if not file.is_file():
        return ()
    return tuple(line for line in file.read_text("utf-8").splitlines() if line and not line.startswith("#"))


class Counts(NamedTuple):
    """How often each asked word and each other word stands in a list."""

    common: int
    uncommon: int


def counts_for(entries: int, options: CommonWordsOptions, words: int) -> Counts:
    """How often words stand in a list of so many entries, of a vocabulary of so many words.

    The numbers of the options, unless asked words would then take more than half of the list, or the others would be
    more than there are. Raises FitError for lists too short to tell words apart.
    """
    others = words - options.asked
    ratio = options.common / options.uncommon
    for uncommon in range(options.uncommon, 0, -1):
        common = round(ratio * uncommon)
        if 2 * options.asked * common <= entries:
            break
    else:
        common, uncommon = min(common, entries // (2 * options.asked)), 1
    if common < _FEWEST:
        raise FitError(
            f"a list of {entries} words is too short to ask for {options.asked} of them; ask for longer lengths, or "
            "set options.asked lower"
        )
    if entries - options.asked * common > others * uncommon:
        uncommon = -int(-entries // (others + options.asked * ratio))
        common = round(ratio * uncommon)
    return Counts(common, uncommon)


def ids_of(count: int, language: str) -> list[str]:
    """The needle axis of a family that draws its rows: the names of so many rows of a length."""
    return [f"{language}-{number}" for number in range(1, count + 1)]


def _ids(settings: Settings, language: str) -> Sequence[str]:
    return ids_of(settings.options.rows, language) if vocabulary(language) else []


def without_depths(settings: Settings, axes: GridAxes, language: str) -> Iterator[Coordinates]:
    """Rows of every length and repeat at no depth, for families whose evidence stands everywhere."""
    for length in axes.lengths:
        for name in ids_of(settings.options.rows, language):
            for repeat in range(axes.repeats):
                yield Coordinates(length, name, repeat)


def _item(settings: Settings, cell: Cell) -> Item:
    draw = random.Random(f"{cell_seed(settings.seed, cell)}/common-words/{cell.language}")
    count = settings.options.asked
    words = _asked(draw, cell.language, count)
    one, several = _QUESTIONS[cell.language]
    question = one if count == 1 else several.format(count=count)
    return Item(
        cell.needle, cell.language, question, (LIST_JOINER[cell.language].join(words),),
        tuple((word,) for word in words), "keyword_f1", keyword_kinds=("text",) * count,
    )  # fmt: skip


def _asked(draw: random.Random, language: str, count: int) -> list[str]:
    """Words none of which could be read where two others of them meet: Chinese ones may be listed without a mark."""
    while True:
        words = draw.sample(vocabulary(language), count)
        meeting = "\n".join(one + other for one in words for other in words if one != other)
        if language != "zh" or all(meeting.count(word) == 2 * (count - 1) for word in words):
            return words


class _Lists:
    """Makes the lists of one process; keeps what the numbers and the words cost."""

    def __init__(self, bench: Workbench) -> None:
        self._bench = bench
        self._numbers: Ints = np.zeros(1, dtype=np.int64)
        self._costs: dict[str, int] = {}

    def __call__(self, cell: Cell, item: Item, shown: Item, frame: Frame) -> Context:
        bench = self._bench
        asked = [word for (word,) in item.keywords]
        name = f"{cell_seed(bench.seed, cell)}/common-words/{cell.language}"
        others = [word for word in vocabulary(cell.language) if word not in asked]
        random.Random(f"{name}/others").shuffle(others)
        sums = list(accumulate((self._cost(word) for word in others), initial=0))
        all_asked = sum(map(self._cost, asked))

        def build(wanted: int) -> TextDraft:
            entries = self._most_entries(wanted, asked, all_asked, others, sums)
            counts = counts_for(entries, bench.options, len(asked) + len(others))
            words = _entries(entries, counts, asked, others)
            random.Random(f"{name}/order").shuffle(words)
            text = "\n".join(f"{number}. {word}" for number, word in enumerate(words, 1))
            return TextDraft(text, self._tokens(entries, asked, all_asked, others, sums))

        text = fit_text(build, cell.length - bench.reserve, frame, bench.tokenizer, bench.counter)
        return whole_context(text)

    def _most_entries(
        self, wanted: int, asked: Sequence[str], all_asked: int, others: Sequence[str], sums: Sequence[int]
    ) -> int:
        """The greatest number of entries whose list has at most so many expected tokens."""
        # An entry has four tokens at least: a line end, a number, a full stop and a word.
        low, high = 1, max(16, wanted // 4)
        while self._tokens(high, asked, all_asked, others, sums) <= wanted:
            low, high = high, high * 2
        while high - low > 1:
            middle = (low + high) // 2
            if self._tokens(middle, asked, all_asked, others, sums) <= wanted:
                low = middle
            else:
                high = middle
        return low

    def _tokens(
        self, entries: int, asked: Sequence[str], all_asked: int, others: Sequence[str], sums: Sequence[int]
    ) -> int:
        """Tokens of a list, as the sum of its numbers and its words."""
        numbers = self._tokens_of_numbers(entries)
        if entries < 2 * _FEWEST * len(asked):  # too short for a list: only that it is shorter than others counts
            return numbers + entries * max(1, all_asked // len(asked))
        counts = counts_for(entries, self._bench.options, len(asked) + len(others))
        whole, rest = divmod(entries - len(asked) * counts.common, counts.uncommon)
        last = rest * (sums[whole + 1] - sums[whole]) if rest else 0
        return numbers + counts.common * all_asked + counts.uncommon * sums[whole] + last

    def _tokens_of_numbers(self, entries: int) -> int:
        """Tokens of the numbers of so many lines, each with the line end before it."""
        if entries >= len(self._numbers):
            lines = [f"\n{number}".encode() for number in range(1, entries + entries // 8 + 2)]
            source = encode(b"".join(lines).decode(), self._bench.tokenizer)
            ends = np.cumsum([0, *map(len, lines)])
            self._numbers = np.searchsorted(source.ends, ends, side="right")
        return int(self._numbers[entries])

    def _cost(self, word: str) -> int:
        known = self._costs.get(word)
        if known is None:
            known = self._costs[word] = self._bench.tokenizer.count(f". {word}")
        return known


def _entries(entries: int, counts: Counts, asked: Sequence[str], others: Sequence[str]) -> list[str]:
    """The words of a list, in no order yet: the last of the others stands as often as there is room for it."""
    words = [word for word in asked for _ in range(counts.common)]
    for word in others:
        words += [word] * min(counts.uncommon, entries - len(words))
        if len(words) == entries:
            break
    return words


def whole_context(text: Encoded) -> Context:
    """A context that is one text, all of it haystack."""
    return Context(
        turns=(PromptMessage(None, (Piece(Slice(text, 0, len(text.data))),)),),
        haystack_id=sha256_hex(text.data)[:12],
        haystack_tokens=text.size,
    )


def _check(placement: Placement, proof: ContextProof) -> Iterator[str]:
    """What a row says of its list that counting the list does not confirm."""
    yield from wrong_figures(proof)
    words = []
    for number, line in enumerate(proof.context.split("\n"), 1):
        before, dot, word = line.partition(". ")
        if before != str(number) or not dot or not word:
            yield f"line {number} of the list is {shown(line)}, expected {number}. and a word"
            return
        words.append(word)
    yield from wrong_tally(Tally(words), [group[0] for group in proof.row["keywords"]], _APART)


def wrong_tally(tally: Tally[str], asked: Sequence[str], apart: float) -> Iterator[str]:
    """Why words are not those that stand most often: each `apart` times as often as any that is not asked for."""
    most = max((count for word, count in tally.items() if word not in asked), default=0)
    for word in asked:
        if tally[word] < apart * most or not tally[word]:
            yield (
                f"{shown(word)} stands {tally[word]} times, and another word {most} times; expected at least {apart:g} "
                "times as often as any other"
            )


def _make(bench: Workbench) -> ContextMaker:
    return _Lists(bench)


def always(placement: Placement) -> bool:
    """Prompts end within a few tokens below their budget, whatever the placement."""
    return True


COMMON_WORDS = Task(
    "common-words", 1, _ids, _item, CommonWordsOptions, corpus="common_words",
    context=ContextKind(_make, _check, exact=always), controls={NO_CONTEXT: no_context}, coordinates=without_depths,
    drawn=True
)  # fmt: skip
