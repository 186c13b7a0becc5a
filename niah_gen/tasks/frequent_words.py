"""Asks for the most frequent words of a long numbered list, or of a coded text whose word counts follow Zipf's law.

After RULER's common and frequent words extraction (C.-P. Hsieh et al., COLM 2024). Its texts of one size share one
permutation, so that positions alone answer them; here every row has its own. In a coded text of N invented words, that
of rank k occurs N k^-alpha / zeta(alpha) times, and dots take the first rank. There is no depth: the evidence is spread
over the whole prompt.
"""

from __future__ import annotations

import random
import string
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache, partial

import numpy as np

from niah_gen.errors import FitError
from niah_gen.haystacks.generated import fit_text, in_a_row, tokens_of_each
from niah_gen.haystacks.haystack import room_for_filler
from niah_gen.haystacks.slots import scattered, shuffled
from niah_gen.prompts.frame import Frame, PromptMessage
from niah_gen.tasks.base import LANGUAGES, NO_CONTEXT, Task, no_context
from niah_gen.tasks.hiding import ContextKind
from niah_gen.tasks.options import check_options
from niah_gen.tasks.records import Cell, Context, Coordinates, GridAxes, Item, Settings, Workbench, cell_seed
from niah_gen.tasks.words import LIST_JOINER, word_list, wording
from niah_gen.tokenizers.counted import Counted, count
from niah_gen.tokenizers.find import Ints, Tokenizer
from niah_score.contract import sha256_hex

# An asked word occurs at least LIST_APART times as often as any other, and at least _FEWEST times.
LIST_APART = 2
_FEWEST = 3
# How often a list is resized: the counts of its words depend on its size, and its size on the counts.
_ATTEMPTS = 6
DOTS = "..."
# Characters of numbers and dates, and those that join the items of a list.
_NO_CODE = frozenset("年月日时分秒点号元角个和与及跟同或")
# The least frequent asked word occurs at least TEXT_APART times as often as the next one, and _FEWEST_MORE times more.
TEXT_APART = 1.1
_FEWEST_MORE = 2
# Terms of zeta that are summed directly; the rest is an integral with two corrections.
_TERMS = 50
# The codes that those asked for are chosen from.
_DRAWN = 128
# The size of the smallest pool of codes, which short rows, and long ones with few different words, draw from.
_LEAST_POOL = 1 << 14
# About how many tokens a word has, dots included; the first guess at the size of a text.
_TOKENS_OF_A_WORD = 2.0
_STEPS = 12


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
        if self.uncommon < 1 or self.common < LIST_APART * self.uncommon or self.common < _FEWEST:
            raise ValueError(
                f"common is {self.common} and uncommon {self.uncommon}; expected uncommon to be at least 1, and common "
                f"at least {_FEWEST} and {LIST_APART} times uncommon"
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


def row_ids(settings: Settings, language: str) -> Sequence[str]:
    """The needle axis of families that draw their rows: a name for each of `options.rows` rows of a length."""
    return [f"{language}-{number}" for number in range(1, settings.options.rows + 1)] if language in LANGUAGES else []


def without_depths(settings: Settings, axes: GridAxes, language: str) -> Iterator[Coordinates]:
    """Rows of every length and repeat without a depth, for families whose evidence is spread over the prompt."""
    for length in axes.lengths:
        for name in row_ids(settings, language):
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

        def build(wanted: int) -> Counted:
            ids = shuffled(self._entries(wanted, tokens, asked, others), f"{name}/order")
            lines = [f"\n{number}. {words[word]}" for number, word in enumerate(ids.tolist(), 1)]
            each = np.diff(self._numbers[: len(ids) + 1]) + tokens[ids]
            return in_a_row([lines[0].lstrip(), *lines[1:]], each, bench.tokenizer)

        room = room_for_filler(cell.length, bench.reserve, frame, (), "", bench.tokenizer)
        return whole_context(fit_text(build, room, bench.tokenizer), bench.tokenizer)

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
            if len(ids) >= len(self._numbers):
                lines = [f"\n{number}" for number in range(1, len(ids) + len(ids) // 8 + 1000)]
                self._numbers = np.append(0, np.cumsum(tokens_of_each(lines, self._bench.tokenizer)))
            tokens = np.cumsum(words[ids]) + self._numbers[1 : len(ids) + 1]
            entries = int(np.searchsorted(tokens, wanted, side="right"))
            if entries == guess:
                break
            if entries < len(ids) and counts == counts_for(entries, self._bench.options, len(words)):
                break
            entries += entries == len(ids)
        return ids[: int(np.searchsorted(tokens, wanted, side="right"))]


def whole_context(text: Counted, tokenizer: Tokenizer) -> Context:
    """A context that consists of one text, all of it haystack."""
    turns = (PromptMessage(None, text, len(text.text)),)
    tokens = count(text, (), len(text.text), tokenizer)
    return Context(turns=turns, haystack_id=sha256_hex(text.text.encode())[:12], haystack_tokens=tokens)


COMMON_WORDS = Task(
    "common-words", 2, row_ids, _item, CommonWordsOptions,
    context=ContextKind(_Lists, exact=True, draws_text=True, corpus="common_words"),
    controls={NO_CONTEXT: no_context}, coordinates=without_depths,
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class CodedWordsOptions:
    """The recipe's [options].

    `alpha`: the exponent of Zipf's law; nearer to 1, counts are closer together. `asked`: how many words are asked for.
    `dots`: three dots take the first rank, and the question says to ignore them. `rows`: how many texts of each
    length, one for each row.
    """

    alpha: float = 2.0
    asked: int = 3
    dots: bool = True
    rows: int = 4

    def __post_init__(self) -> None:
        if not 1.05 <= self.alpha <= 10:
            raise ValueError(f"alpha is {self.alpha:g}; expected 1.05 to 10")
        check_options(self, asked=range(1, 11), rows=range(1, 1001))


@cache
def zeta(alpha: float) -> float:
    """Riemann's zeta function for alpha above 1, by the Euler-Maclaurin formula."""
    first = sum(k**-alpha for k in range(1, _TERMS))
    rest = _TERMS ** (1 - alpha) / (alpha - 1) + _TERMS**-alpha / 2 + alpha * _TERMS ** (-alpha - 1) / 12
    return float(first + rest)


def zipf_counts(total: int, alpha: float) -> list[int]:
    """How often the word of each rank occurs among `total`: floor(total k^-alpha / zeta(alpha)), while at least 1.

    Words that occur once make up what rounding down leaves of the total.
    """
    scale = total / zeta(alpha)
    # Python's power, because numpy's differs between processors.
    counts = [int(scale * k**-alpha) for k in range(1, int(scale ** (1 / alpha)) + 2)]
    counts = [count for count in counts if count]
    return counts + [1] * (total - sum(counts))


@cache
def code_characters(language: str) -> str:
    """The characters of codes. Chinese ones are those of the vocabulary of common-words, in its order."""
    if language != "zh":
        return string.ascii_lowercase
    return "".join(dict.fromkeys(char for word in word_list("zh") for char in word if char not in _NO_CODE))


def _codes(language: str, numbers: Ints) -> list[str]:
    """The codes with these numbers: six letters, or three Chinese characters. Rows share them."""
    characters, size = code_characters(language), 3 if language == "zh" else 6
    base = len(characters)
    places = scattered(numbers, base**size, "coded-words").tolist()
    return ["".join(characters[place // base**digit % base] for digit in range(size)) for place in places]


@cache
def _pool_size(length: int, alpha: float) -> int:
    """How many codes rows of a length in tokens draw from: several times as many as a row can need."""
    size = _LEAST_POOL
    while size < 4 * len(zipf_counts(max(length, 1), alpha)):
        size *= 4
    return size


def _seed(seed: int, cell: Cell) -> str:
    return f"{cell_seed(seed, cell)}/coded-words/{cell.language}"


def _ranked(options: CodedWordsOptions, seed: int, cell: Cell) -> list[str]:
    """The first codes of a row by rank.

    In a language without spaces the asked codes share no character, so that none can be read where two others meet.
    """
    numbers = scattered(np.arange(_DRAWN), _pool_size(cell.length, options.alpha), _seed(seed, cell))
    codes = _codes(cell.language, numbers)
    chosen: list[str] = []
    for code in codes:
        together = "".join((*chosen, code))
        if len(chosen) < options.asked and (cell.language != "zh" or len(set(together)) == len(together)):
            chosen.append(code)
    return chosen + [code for code in codes if code not in chosen]


def _coded_item(settings: Settings, cell: Cell) -> Item:
    options: CodedWordsOptions = settings.options
    more = wording("coded_words")[cell.language]["ignore"].format(dots=DOTS) if options.dots else ""
    return words_item("coded_words", cell, _ranked(options, settings.seed, cell)[: options.asked], more)


class _CodedText:
    """The text of one row: words, each after a space, drawn by rank as they are needed. `_each`: their tokens."""

    def __init__(self, bench: Workbench, cell: Cell) -> None:
        self._options: CodedWordsOptions = bench.options
        self._cell = cell
        self._tokenizer = bench.tokenizer
        self._seed = _seed(bench.seed, cell)
        self._words = [f" {DOTS}"] if self._options.dots else []
        # Tokens of the dots and the space before them, in the middle of a text.
        dots = max(1, self._tokenizer.count(f"abc {DOTS} abc") - self._tokenizer.count("abc abc"))
        self._each: Ints = np.array([dots] if self._options.dots else [], dtype=np.int64)
        self._append(_ranked(self._options, bench.seed, cell))

    def _append(self, codes: list[str]) -> None:
        spaced = [f" {code}" for code in codes]
        self._words += spaced
        self._each = np.append(self._each, tokens_of_each(spaced, self._tokenizer))

    def build(self, wanted: int) -> Counted:
        """About the longest text of at most `wanted` expected tokens.

        Each step corrects the number of words by the mean tokens of a word, which soon settles.
        """
        total, more = max(1, int(wanted / _TOKENS_OF_A_WORD)), 0
        for _ in range(_STEPS):
            total = max(1, total + more)
            counts = self._counts(total)
            tokens = int(self._each[: len(counts)] @ counts)
            more = (wanted - tokens) * total // tokens
            if not more:
                break
        self._check_apart(counts.tolist())
        ranks = shuffled(np.repeat(np.arange(len(counts)), counts), f"{self._seed}/order")
        texts = [self._words[rank] for rank in ranks.tolist()]
        return in_a_row([texts[0].lstrip(), *texts[1:]], self._each[ranks], self._tokenizer)

    def _counts(self, total: int) -> Ints:
        """How often each word occurs in a text of `total` words; draws those that are missing."""
        counts = np.array(zipf_counts(total, self._options.alpha))
        drawn = len(self._words) - self._options.dots
        missing = np.arange(drawn, len(counts) - self._options.dots)
        if len(missing):
            size = _pool_size(self._cell.length, self._options.alpha)
            self._append(_codes(self._cell.language, scattered(missing, size, self._seed)))
        return counts

    def _check_apart(self, counts: list[int]) -> None:
        last = self._options.asked + self._options.dots
        least, following = [*counts[last - 1 : last + 1], 0, 0][:2]
        if least - following < _FEWEST_MORE or least < TEXT_APART * following:
            raise FitError(
                f"in a text of {sum(counts)} words the last one asked for occurs {least} times and the next one "
                f"{following} times, too close to tell them apart; ask for longer lengths, or set options.alpha higher "
                "or options.asked lower"
            )


def _coded_context(bench: Workbench, cell: Cell, item: Item, shown: Item, frame: Frame) -> Context:
    room = room_for_filler(cell.length, bench.reserve, frame, (), "", bench.tokenizer)
    return whole_context(fit_text(_CodedText(bench, cell).build, room, bench.tokenizer), bench.tokenizer)


CODED_WORDS = Task(
    "coded-words", 2, row_ids, _coded_item, CodedWordsOptions,
    COMMON_WORDS.context._replace(make=lambda bench: partial(_coded_context, bench), corpus="coded_words"),
    {NO_CONTEXT: no_context}, without_depths,
)  # fmt: skip
