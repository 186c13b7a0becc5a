"""Asks for the most frequent words of a long numbered list: evidence that is spread over the whole prompt.

After RULER's common words extraction (C.-P. Hsieh et al., COLM 2024). Its lists of one size share one permutation, so
that positions alone answer them; here every row has its own. There is no depth: the words are spread over the list.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from niah_gen.errors import FitError
from niah_gen.haystacks.fit import MOST_BELOW
from niah_gen.haystacks.made_text import TextDraft, fit_text, tokens_between
from niah_gen.haystacks.slots import shuffled
from niah_gen.prompts.frame import Frame
from niah_gen.prompts.messages import Piece, PromptMessage
from niah_gen.tasks.base import NO_CONTEXT, Task, no_context
from niah_gen.tasks.hiding import ContextKind, always_exact
from niah_gen.tasks.records import (
    Cell,
    Context,
    Coordinates,
    GridAxes,
    Item,
    Settings,
    Workbench,
    cell_seed,
)
from niah_gen.tokenizers.find import Ints
from niah_gen.tokenizers.spliced import Counter, Encoded, Slice
from niah_score.contract import sha256_hex

_FOLDER = Path(__file__).parents[1] / "library" / "words"
# What separates the items of an answer.
LIST_JOINER = {"en": ", ", "zh": "、"}
_QUESTIONS = {
    "en": (
        "Which word appears most often in the list?",
        "What are the {count} words that appear most often in the list?",
    ),
    "zh": ("列表中出现次数最多的词是哪一个？", "列表中出现次数最多的{count}个词是哪些？"),
}  # fmt: skip
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
    """The words for lists, in file order; none if the language has no file."""
    file = _FOLDER / f"{language}.txt"
    if not file.is_file():
        return ()
    return tuple(line for line in file.read_text("utf-8").splitlines() if line and not line.startswith("#"))


class Counts(NamedTuple):
    """How often each asked word and each other word occurs in a list."""

    common: int
    uncommon: int


def counts_for(entries: int, options: CommonWordsOptions, words: int) -> Counts:
    """How often words occur in a list of `entries` entries, from a vocabulary of `words` words.

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
    return Counts(common, uncommon)


def ids_of(count: int, language: str) -> list[str]:
    """The needle axis of a family that draws its rows: a name for each of the `count` rows of a length."""
    return [f"{language}-{number}" for number in range(1, count + 1)]


def _ids(settings: Settings, language: str) -> Sequence[str]:
    return ids_of(settings.options.rows, language) if vocabulary(language) else []


def without_depths(settings: Settings, axes: GridAxes, language: str) -> Iterator[Coordinates]:
    """Rows of every length and repeat without a depth, for families whose evidence is spread over the prompt."""
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
        cell.draw, cell.language, question, (LIST_JOINER[cell.language].join(words),),
        tuple((word,) for word in words), "keyword_f1", keyword_kinds=("text",) * count,
    )  # fmt: skip


def _asked(draw: random.Random, language: str, count: int) -> list[str]:
    """Draws words none of which can be read where two others meet: Chinese answers may list words without a comma."""
    while True:
        words = draw.sample(vocabulary(language), count)
        if language != "zh":
            return words
        meeting = "\n".join(one + other for one in words for other in words if one != other)
        if all(meeting.count(word) == 2 * (count - 1) for word in words):
            return words


class _Vocabulary(NamedTuple):
    """The words of a language, by number. `laid`: each as bytes after the full stop of its line.

    `sizes`, `tokens`: bytes and tokens of each of these; `mean`: their mean tokens.
    """

    number_of: dict[str, int]
    laid: npt.NDArray[np.bytes_]
    sizes: Ints
    tokens: Ints
    mean: float


class _Lists:
    """Makes the lists of one process; remembers the tokens of numbers and words."""

    def __init__(self, bench: Workbench) -> None:
        self._bench = bench
        self._tokens: Ints = np.zeros(1, dtype=np.int64)  # [n]: tokens of the first n lines' numbers and line ends
        self._laid = np.array([b""])
        self._vocabularies: dict[str, _Vocabulary] = {}

    def __call__(self, cell: Cell, item: Item, shown: Item, frame: Frame) -> Context:
        bench = self._bench
        words = self._vocabulary(cell.language)
        name = f"{cell_seed(bench.seed, cell)}/common-words/{cell.language}"
        asked = np.array([words.number_of[word] for (word,) in item.keywords], dtype=np.int64)
        is_other = np.ones(len(words.laid), dtype=np.bool_)
        is_other[asked] = False
        order = shuffled(np.arange(len(words.laid), dtype=np.int64), f"{name}/others")
        others = order[is_other[order]]

        def build(wanted: int) -> TextDraft:
            return self._draft(words, shuffled(self._entries(wanted, words, asked, others), f"{name}/order"))

        self._number_lines(1)
        probe = TextDraft(b"1" + words.laid[0], int(self._tokens[1] + words.tokens[0]))
        text = fit_text(build, probe, cell.length - bench.reserve, frame, bench.tokenizer, bench.counter)
        return whole_context(text, bench.counter)

    def _vocabulary(self, language: str) -> _Vocabulary:
        if language not in self._vocabularies:
            words = vocabulary(language)
            encoded = [f". {word}".encode() for word in words]
            sizes = np.array(list(map(len, encoded)), dtype=np.int64)
            tokens = tokens_between(b"".join(encoded), np.cumsum(sizes), self._bench.tokenizer)
            number_of = {word: number for number, word in enumerate(words)}
            mean = float(tokens.mean())
            self._vocabularies[language] = _Vocabulary(number_of, np.array(encoded), sizes, tokens, mean)
        return self._vocabularies[language]

    def _number_lines(self, entries: int) -> None:
        """Make the numbers of at least `entries` lines, and count their tokens."""
        if entries >= len(self._laid):
            lines = [b"\n%d" % number for number in range(1, entries + entries // 8 + 1000)]
            tokens = tokens_between(b"".join(lines), np.cumsum(list(map(len, lines))), self._bench.tokenizer)
            self._tokens = np.append(0, np.cumsum(tokens))
            self._laid = np.array([b"", *lines])

    def _entries(self, wanted: int, words: _Vocabulary, asked: Ints, others: Ints) -> Ints:
        """The words of the longest list of at most `wanted` tokens, by number; the asked ones first.

        The last of the others is repeated as often as there is room for it. If the next word does not fit into what is
        left, a shorter one that is not yet in the list takes its place.
        """
        ids, tokens, counts = self._longer(wanted, words, asked, others)
        entries = int(np.searchsorted(tokens, wanted, side="right"))
        left = wanted - int(tokens[entries - 1]) if entries else 0
        if left <= MOST_BELOW or entries == len(self._tokens) - 1:
            return ids[:entries]
        left -= int(self._tokens[entries + 1] - self._tokens[entries])
        used = -(-(entries - len(asked) * counts.common) // counts.uncommon)  # rounded up
        unused = others[used:]
        fitting = unused[words.tokens[unused] <= left]
        more = fitting[np.argmax(words.tokens[fitting])] if len(fitting) else ids[:0]
        return np.append(ids[:entries], more)

    def _longer(self, wanted: int, words: _Vocabulary, asked: Ints, others: Ints) -> tuple[Ints, Ints, Counts]:
        """A list to cut to `wanted` tokens, its tokens up to the end of each line, and the counts of its words."""
        # Asked words make up about half of the list, and a line end and a number have three or four tokens.
        each = (int(words.tokens[asked].sum()) / len(asked) + words.mean) / 2 + 3.3
        guess = max(1, int(wanted / each))
        for _ in range(_ATTEMPTS):
            # One word is kept back to fill up the list.
            counts = counts_for(guess, self._bench.options, len(words.laid) - 1)
            ids = _in_counts(guess + guess // 8 + 100, counts, asked, others)
            self._number_lines(len(ids))
            tokens = np.cumsum(words.tokens[ids]) + self._tokens[1 : len(ids) + 1]
            entries = int(np.searchsorted(tokens, wanted, side="right"))
            if entries == guess:
                break
            if entries < len(ids) and counts == counts_for(entries, self._bench.options, len(words.laid) - 1):
                break
            guess = entries + (entries == len(ids))
        return ids, tokens, counts

    def _draft(self, words: _Vocabulary, ids: Ints) -> TextDraft:
        """The list of these words."""
        lines = np.empty(len(ids), dtype=[("number", self._laid.dtype), ("word", words.laid.dtype)])
        lines["number"] = self._laid[1 : len(ids) + 1]
        lines["word"] = words.laid.take(ids)
        data = lines.tobytes().translate(None, b"\0")[1:]
        tokens = int(self._tokens[len(ids)] + words.tokens[ids].sum())
        if len(ids) < 2:
            return TextDraft(data, tokens)
        # After the number of the second line, and before the full stop of the last.
        first, last = int(words.sizes[ids[0]]) + len("1\n2"), len(data) - int(words.sizes[ids[-1]])
        between = tokens - int(self._tokens[2] + words.tokens[ids[0]] + words.tokens[ids[-1]])
        return TextDraft(data, tokens, (first, last), between)


def _in_counts(entries: int, counts: Counts, asked: Ints, others: Ints) -> Ints:
    """The words of a list of about `entries` entries, each repeated by its count; fewer if the words run out."""
    whole = max(0, entries - len(asked) * counts.common) // counts.uncommon + 1
    return np.concatenate([np.repeat(asked, counts.common), np.repeat(others[:whole], counts.uncommon)])


def whole_context(text: Encoded, counter: Counter) -> Context:
    """A context that consists of one text, all of it haystack."""
    whole = Slice(text, 0, len(text.data))
    return Context(
        turns=(PromptMessage(None, (Piece(whole),)),),
        haystack_id=sha256_hex(text.data)[:12],
        haystack_tokens=counter.count([whole]),
    )


COMMON_WORDS = Task(
    "common-words", 1, _ids, _item, CommonWordsOptions,
    context=ContextKind(_Lists, exact=always_exact, draws_text=True, corpus="common_words"),
    controls={NO_CONTEXT: no_context}, coordinates=without_depths,
)  # fmt: skip
