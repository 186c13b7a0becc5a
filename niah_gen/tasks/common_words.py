"""Asks for the most frequent words of a long numbered list: evidence that is spread over the whole prompt.

After RULER's common words extraction (C.-P. Hsieh et al., COLM 2024). Its lists of one size share one permutation, so
that positions alone answer them; here every row has its own. There is no depth: the words are spread over the list.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from niah_gen.errors import FitError
from niah_gen.haystacks.budget import room_for_filler
from niah_gen.haystacks.generated import fit_text, tokens_of_each
from niah_gen.haystacks.slots import shuffled
from niah_gen.prompts.frame import Frame
from niah_gen.prompts.messages import Piece, PromptMessage
from niah_gen.tasks.base import NO_CONTEXT, Task, no_context
from niah_gen.tasks.hiding import ContextKind, always_exact
from niah_gen.tasks.options import check_options
from niah_gen.tasks.records import Cell, Context, Coordinates, GridAxes, Item, Settings, Workbench, cell_seed
from niah_gen.tasks.words import LIST_JOINER, word_list, wording
from niah_gen.tokenizers.counted import Counted
from niah_gen.tokenizers.find import Ints
from niah_score.contract import sha256_hex

# An asked word occurs at least _APART times as often as any other, and at least _FEWEST times.
_APART = 2
_FEWEST = 3
# How often a list is resized: the counts of its words depend on its size, and its size on the counts.
_ATTEMPTS = 6


@dataclass(frozen=True, slots=True)
class CommonWordsOptions:
    """The recipe's [options].

    `asked`: how many words are frequent, and asked for. `common`, `uncommon`: how often each of them, and each other
    word, occurs. Short lists keep the ratio with smaller counts; lists that would run out of words keep it with larger
    ones. `rows`: how many lists of each length, one for each row.
    """

    asked: int = 10
    common: int = 30
    uncommon: int = 3
    rows: int = 4

    def __post_init__(self) -> None:
        check_options(self, asked=range(1, 51), rows=range(1, 1001))
        if self.uncommon < 1 or self.common < _APART * self.uncommon or self.common < _FEWEST:
            raise ValueError(
                f"common is {self.common} and uncommon {self.uncommon}; expected uncommon to be at least 1, and common "
                f"at least {_FEWEST} and {_APART} times uncommon"
            )


def counts_for(entries: int, options: CommonWordsOptions, words: int) -> tuple[int, int]:
    """How often each asked and each other word occurs in a list of `entries` entries, from `words` words.

    The counts of the options, unless the asked words would then take more than half of the list, or the vocabulary
    would not have enough others. Raises FitError for lists too short to tell words apart.
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
    return common, uncommon


def ids_of(count: int, language: str) -> list[str]:
    """The needle axis of a family that draws its rows: a name for each of the `count` rows of a length."""
    return [f"{language}-{number}" for number in range(1, count + 1)]


def _ids(settings: Settings, language: str) -> Sequence[str]:
    return ids_of(settings.options.rows, language) if language in wording("common_words") else []


def without_depths(settings: Settings, axes: GridAxes, language: str) -> Iterator[Coordinates]:
    """Rows of every length and repeat without a depth, for families whose evidence is spread over the prompt."""
    for length in axes.lengths:
        for name in ids_of(settings.options.rows, language):
            for repeat in range(axes.repeats):
                yield Coordinates(length, name, repeat)


def _item(settings: Settings, cell: Cell) -> Item:
    draw = random.Random(f"{cell_seed(settings.seed, cell)}/common-words/{cell.language}")
    words = _asked(draw, cell.language, settings.options.asked)
    return words_item("common_words", cell, words, "")


def words_item(family: str, cell: Cell, words: Sequence[str], more: str) -> Item:
    """An item whose question, which ends with `more`, asks for some words."""
    said = wording(family)[cell.language]
    question = said["one"] if len(words) == 1 else said["several"].format(count=len(words))
    return Item(
        cell.draw, cell.language, question + more, (LIST_JOINER[cell.language].join(words),),
        tuple((word,) for word in words), "keyword_f1", keyword_kinds=("text",) * len(words),
    )  # fmt: skip


def _asked(draw: random.Random, language: str, count: int) -> list[str]:
    """Draws words none of which can be read where two others meet: Chinese answers may list words without a comma."""
    while True:
        words = draw.sample(word_list(language), count)
        if language != "zh":
            return words
        meeting = "\n".join(one + other for one in words for other in words if one != other)
        if all(meeting.count(word) == 2 * (count - 1) for word in words):
            return words


class _Lists:
    """Makes the lists of one process; remembers the tokens of words, and of numbers: [n] those of the first n lines."""

    def __init__(self, bench: Workbench) -> None:
        self._bench = bench
        self._words: dict[str, Ints] = {}
        self._numbers: Ints = np.zeros(1, dtype=np.int64)

    def __call__(self, cell: Cell, item: Item, shown: Item, frame: Frame) -> Context:
        bench, words = self._bench, word_list(cell.language)
        if cell.language not in self._words:
            self._words[cell.language] = tokens_of_each([f". {word}" for word in words], bench.tokenizer)
        tokens = self._words[cell.language]
        name = f"{cell_seed(bench.seed, cell)}/common-words/{cell.language}"
        asked = np.array([words.index(word) for (word,) in item.keywords])
        order = shuffled(np.arange(len(words)), f"{name}/others")
        others = order[~np.isin(order, asked)]

        def build(wanted: int) -> str:
            ids = shuffled(self._entries(wanted, tokens, asked, others), f"{name}/order")
            return "\n".join(f"{number}. {words[word]}" for number, word in enumerate(ids.tolist(), 1))

        room = room_for_filler(cell.length, bench.reserve, frame, (), "", bench.tokenizer)
        return whole_context(fit_text(build, room, bench.tokenizer))

    def _number_lines(self, entries: int) -> None:
        """Counts the tokens of the numbers of at least `entries` lines."""
        if entries >= len(self._numbers):
            lines = [f"\n{number}" for number in range(1, entries + entries // 8 + 1000)]
            self._numbers = np.append(0, np.cumsum(tokens_of_each(lines, self._bench.tokenizer)))

    def _entries(self, wanted: int, words: Ints, asked: Ints, others: Ints) -> Ints:
        """The words of the longest list of at most `wanted` tokens, by number; the asked ones first.

        `words`: the tokens of each. The last of the others is repeated as often as there is room for it.
        """
        # Asked words make up about half of the list, and a line end and a number have three or four tokens.
        each = (int(words[asked].sum()) / len(asked) + float(words.mean())) / 2 + 3.3
        entries = max(1, int(wanted / each))
        for _ in range(_ATTEMPTS):
            guess = entries
            common, uncommon = counts = counts_for(guess, self._bench.options, len(words))
            whole = max(0, guess + guess // 8 + 100 - len(asked) * common) // uncommon + 1
            ids = np.concatenate([np.repeat(asked, common), np.repeat(others[:whole], uncommon)])
            self._number_lines(len(ids))
            tokens = np.cumsum(words[ids]) + self._numbers[1 : len(ids) + 1]
            entries = int(np.searchsorted(tokens, wanted, side="right"))
            if entries == guess:
                break
            if entries < len(ids) and counts == counts_for(entries, self._bench.options, len(words)):
                break
            entries += entries == len(ids)
        return ids[: int(np.searchsorted(tokens, wanted, side="right"))]


def whole_context(text: Counted) -> Context:
    """A context that consists of one text, all of it haystack."""
    turns = (PromptMessage(None, (Piece(text.text),)),)
    return Context(turns=turns, haystack_id=sha256_hex(text.text.encode())[:12], haystack_tokens=text.size)


COMMON_WORDS = Task(
    "common-words", 2, _ids, _item, CommonWordsOptions,
    context=ContextKind(_Lists, exact=always_exact, draws_text=True, corpus="common_words"),
    controls={NO_CONTEXT: no_context}, coordinates=without_depths,
)  # fmt: skip
