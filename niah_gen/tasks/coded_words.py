"""Asks for the most frequent invented words of a coded text whose word counts follow Zipf's law.

After RULER's frequent words extraction (C.-P. Hsieh et al., COLM 2024): among N words, that of rank k occurs
N k^-alpha / zeta(alpha) times, and dots take the first rank. RULER's texts of one size share one permutation; here
every row has its own. There is no depth: the words are spread over the whole text.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from niah_gen.errors import FitError
from niah_gen.haystacks.made_text import TextDraft, fit_text, tokens_between
from niah_gen.haystacks.slots import scattered, shuffled
from niah_gen.prompts.frame import Frame
from niah_gen.tasks.base import NO_CONTEXT, Task, no_context
from niah_gen.tasks.common_words import (
    LIST_JOINER,
    ids_of,
    vocabulary,
    whole_context,
    without_depths,
)
from niah_gen.tasks.hiding import ContextKind, always_exact
from niah_gen.tasks.records import Cell, Context, ContextMaker, Item, Settings, Workbench, cell_seed
from niah_gen.tokenizers.find import Ints, Tokenizer

Floats = npt.NDArray[np.float64]
Bytes2D = npt.NDArray[np.uint8]

DOTS = "..."
_LAID_DOTS = f" {DOTS}".encode()
_LETTERS = "abcdefghijklmnopqrstuvwxyz"
_LETTERS_OF_A_CODE = 6
_CHARACTERS_OF_A_CODE = 3
# Characters of numbers and dates, and those that join the items of a list.
_NO_CODE = frozenset("年月日时分秒点号元角个和与及跟同或")
_QUESTIONS = {
    "en": (
        "Which word appears most often in the coded text?",
        "What are the {count} words that appear most often in the coded text?",
        " Ignore the dots \"{dots}\".",
    ),
    "zh": (
        "这段编码文本中出现次数最多的词是哪一个？",
        "这段编码文本中出现次数最多的{count}个词是哪些？",
        "请忽略省略号“{dots}”。",
    ),
}  # fmt: skip
# The least frequent asked word occurs at least _APART times as often as the next one, and _FEWEST_APART times more.
_APART = 1.1
_FEWEST_APART = 2
# Terms of zeta that are summed directly; the rest is an integral with two corrections.
_TERMS = 50
# Codes drawn at once; those that are asked for are chosen from them.
_DRAWN = 128
# The size of the smallest pool of codes, which short rows, and long ones with few different words, draw from.
_LEAST_POOL = 1 << 14
# About how many tokens a word has, dots included; the first guess at the size of a text.
_TOKENS_OF_A_WORD = 2.0
# Texts aim this many tokens below the budget: at either end of a text a word may cost one more or less than inside.
_AIM = 3
_STEPS = 12


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
        if not 1 <= self.asked <= 10:
            raise ValueError(f"asked is {self.asked}; expected 1 to 10")
        if not 1 <= self.rows <= 1000:
            raise ValueError(f"rows is {self.rows}; expected 1 to 1000")


@lru_cache(maxsize=4)
def zeta(alpha: float) -> float:
    """Riemann's zeta function for alpha above 1, by the Euler-Maclaurin formula."""
    first = sum(k**-alpha for k in range(1, _TERMS))
    rest = _TERMS ** (1 - alpha) / (alpha - 1) + _TERMS**-alpha / 2 + alpha * _TERMS ** (-alpha - 1) / 12
    return float(first + rest)


@lru_cache(maxsize=4)
def _shares(ranks: int, alpha: float) -> Floats:
    """k^-alpha for the first ranks. Python's power, because numpy's differs between processors."""
    return np.array([k**-alpha for k in range(1, ranks + 1)])


def zipf_counts(total: int, alpha: float) -> Ints:
    """How often the word of each rank occurs among `total`: floor(total k^-alpha / zeta(alpha)), while at least 1.

    Words that occur once make up what rounding down leaves of the total.
    """
    scale = total / zeta(alpha)
    ranks = int(scale ** (1 / alpha)) + 1
    shares = _shares(1 << ranks.bit_length(), alpha)[:ranks]
    counts = (scale * shares).astype(np.int64)
    counts = counts[: np.count_nonzero(counts)]
    return np.append(counts, np.ones(total - int(counts.sum()), dtype=np.int64))


@lru_cache(maxsize=1)
def code_characters() -> str:
    """The characters of Chinese codes: those of the vocabulary of common-words, in its order."""
    return "".join(dict.fromkeys(char for word in vocabulary("zh") for char in word if char not in _NO_CODE))


@lru_cache(maxsize=2)
def _alphabet(language: str) -> tuple[Bytes2D, int]:
    """The characters of codes in UTF-8, one per row, and how many of them a code has."""
    characters, size = (
        (code_characters(), _CHARACTERS_OF_A_CODE) if language == "zh" else (_LETTERS, _LETTERS_OF_A_CODE)
    )
    data = np.frombuffer(characters.encode(), dtype=np.uint8)
    return data.reshape(len(characters), -1), size


@lru_cache(maxsize=4)
def _pool(language: str, size: int) -> npt.NDArray[np.bytes_]:
    """`size` codes, each after a space, shared by all rows; a larger pool begins with the codes of a smaller one."""
    characters, letters = _alphabet(language)
    numbers = scattered(np.arange(size), len(characters) ** letters, "coded-words")
    powers = len(characters) ** np.arange(letters, dtype=np.int64)
    digits = numbers[:, None] // powers % len(characters)
    laid = np.empty((size, 1 + letters * characters.shape[1]), dtype=np.uint8)
    laid[:, 0] = ord(" ")
    laid[:, 1:] = characters[digits].reshape(size, -1)
    return laid.view(f"S{laid.shape[1]}").ravel()


@lru_cache(maxsize=16)
def _pool_size(length: int, alpha: float) -> int:
    """The size of the pool for rows of a length in tokens: several times as many codes as a row can need."""
    size = _LEAST_POOL
    while size < 4 * len(zipf_counts(max(length, 1), alpha)):
        size *= 4
    return size


# Cached because the item of a row and its text begin with the same codes.
@lru_cache(maxsize=4)
def _ranked(seed: str, language: str, asked: int, size: int) -> Ints:
    """The first codes of a row by rank, as numbers of the pool.

    In a language without spaces the asked codes share no character, so that none can be read where two others meet.
    """
    numbers = scattered(np.arange(_DRAWN), size, seed)
    pool = _pool(language, size)
    chosen: list[int] = []
    characters = ""
    for place, number in enumerate(numbers.tolist()):
        more = characters + pool[number].decode()[1:]
        if language != "zh" or len(set(more)) == len(more):
            chosen.append(place)
            characters = more
        if len(chosen) == asked:
            return np.append(numbers[chosen], np.delete(numbers, chosen))
    raise AssertionError(f"{_DRAWN} codes always hold enough without a common character")


def _ids(settings: Settings, language: str) -> Sequence[str]:
    return ids_of(settings.options.rows, language) if language in _QUESTIONS else []


def _item(settings: Settings, cell: Cell) -> Item:
    options = settings.options
    size = _pool_size(cell.length, options.alpha)
    ranked = _ranked(_seed(settings.seed, cell), cell.language, options.asked, size)
    codes = [code.decode()[1:] for code in _pool(cell.language, size)[ranked[: options.asked]].tolist()]
    one, several, ignore = _QUESTIONS[cell.language]
    question = one if options.asked == 1 else several.format(count=options.asked)
    if options.dots:
        question += ignore.format(dots=DOTS)
    return Item(
        cell.draw, cell.language, question, (LIST_JOINER[cell.language].join(codes),),
        tuple((code,) for code in codes), "keyword_f1", keyword_kinds=("text",) * options.asked,
    )  # fmt: skip


def _seed(seed: int, cell: Cell) -> str:
    return f"{cell_seed(seed, cell)}/coded-words/{cell.language}"


class _CodeTokens:
    """Counts the tokens of a language's codes, each after a space, and remembers them."""

    def __init__(self, language: str, tokenizer: Tokenizer) -> None:
        self._language = language
        self._tokenizer = tokenizer
        self._known: Ints = np.zeros(0, dtype=np.int64)

    def tokens(self, numbers: Ints, size: int) -> Ints:
        """Tokens of the codes with these numbers in the pool of a size."""
        if size > len(self._known):
            self._known = np.append(self._known, np.zeros(size - len(self._known), dtype=np.int64))
        fresh = numbers[self._known[numbers] == 0]
        if len(fresh):
            laid = _pool(self._language, size)[fresh]
            ends = laid.itemsize * np.arange(1, len(laid) + 1)
            self._known[fresh] = tokens_between(laid.tobytes(), ends, self._tokenizer)
        return self._known[numbers]


class _CodedText:
    """The text of one row. Its words are drawn by rank, only as many as are needed.

    `_laid`: the words as bytes, each after a space; `_each`: the tokens of each, space included.
    """

    def __init__(self, bench: Workbench, cell: Cell, codes: _CodeTokens, dots: _Dots) -> None:
        self._options: CodedWordsOptions = bench.options
        self._codes = codes
        self._language = cell.language
        self._seed = _seed(bench.seed, cell)
        self._summed = dots.summed
        self._size = _pool_size(cell.length, self._options.alpha)
        self._drawn = _DRAWN
        self._laid = np.array([_LAID_DOTS] if self._options.dots else [], dtype="S4")
        self._each: Ints = np.array([dots.tokens] if self._options.dots else [], dtype=np.int64)
        self._append(_ranked(self._seed, self._language, self._options.asked, self._size))

    def _append(self, numbers: Ints) -> None:
        self._laid = np.append(self._laid, _pool(self._language, self._size)[numbers])
        self._each = np.append(self._each, self._codes.tokens(numbers, self._size))

    def probe(self) -> TextDraft:
        """A text of one word."""
        return TextDraft(bytes(self._laid[-1])[1:], int(self._each[-1]))

    def draft(self, wanted: int) -> TextDraft:
        """About the longest text of at most `wanted` expected tokens; dots fill the rest.

        Each step corrects the number of words by the mean tokens of a word, which soon settles.
        """
        wanted -= _AIM
        total = max(1, int(wanted / _TOKENS_OF_A_WORD))
        best: tuple[int, int] | None = None
        for _ in range(_STEPS):
            left = wanted - self._tokens(total)
            if left >= 0 and (best is None or left < best[0]):
                best = left, total
            if 0 <= left <= _AIM or (left < 0 and total == 1):
                break
            mean = (wanted - left) / total
            total = max(1, total + (int(left / mean) or (1 if left > 0 else -1)))
        left, total = best or (0, 1)
        counts = self._counts(total)
        if self._options.dots:
            counts[0] += left // int(self._each[0])
        self._check_apart(counts)
        return self._draft(counts)

    def _counts(self, total: int) -> Ints:
        """How often each word occurs in a text of `total` words; draws those that are missing."""
        counts = zipf_counts(total, self._options.alpha)
        missing = len(counts) - len(self._laid)
        if missing > 0:
            until = self._drawn + missing + missing // 16
            self._append(scattered(np.arange(self._drawn, until), self._size, self._seed))
            self._drawn = until
        return counts

    def _tokens(self, total: int) -> int:
        counts = self._counts(total)
        return int(self._each[: len(counts)] @ counts)

    def _draft(self, counts: Ints) -> TextDraft:
        """The text with these counts of each word, in an order drawn for the row."""
        words = shuffled(np.repeat(np.arange(len(counts)), counts), f"{self._seed}/order")
        data = self._laid.take(words).tobytes().translate(None, b"\0")[1:]
        tokens = int(self._each[: len(counts)] @ counts)
        codes = np.flatnonzero(words[:-1] >= self._options.dots)
        if not self._summed or len(codes) < 2:
            return TextDraft(data, tokens)
        # A cut between a code and the space after it is safe; one between dots and a space is not.
        before, after = words[: codes[0] + 1], words[codes[-1] + 1 :]
        cuts = self._bytes(before) - 1, len(data) - self._bytes(after)
        return TextDraft(data, tokens, cuts, tokens - int(self._each[before].sum() + self._each[after].sum()))

    def _bytes(self, words: Ints) -> int:
        return sum(len(self._laid[word]) for word in words.tolist())

    def _check_apart(self, counts: Ints) -> None:
        last = self._options.asked + self._options.dots
        least, following = [*counts[last - 1 : last + 1].tolist(), 0, 0][:2]
        if least - following < _FEWEST_APART or least < _APART * following:
            raise FitError(
                f"in a text of {sum(counts)} words the last one asked for occurs {least} times and the next one "
                f"{following} times, too close to tell them apart; ask for longer lengths, or set options.alpha higher "
                "or options.asked lower"
            )


class _Dots(NamedTuple):
    """How dots are counted. `tokens`: of the dots and the space before them.

    `summed`: whether a text that begins and ends with codes has exactly the tokens of its words, added up.
    """

    tokens: int
    summed: bool


def _dots_of(tokenizer: Tokenizer) -> _Dots:
    """How a tokenizer counts dots. No pattern of tiktoken joins a letter or a full stop to the space after it."""

    def count(*words: str) -> int:
        return tokenizer.count(" ".join(words))

    alone = max(1, count("abc", DOTS, "abc") - count("abc", "abc"))
    summed = tokenizer.local and count("abc", DOTS, DOTS, DOTS, "abc") == count("abc", "abc") + 3 * alone
    return _Dots(alone, summed)


def _make(bench: Workbench) -> ContextMaker:
    dots = _dots_of(bench.tokenizer)
    codes = {language: _CodeTokens(language, bench.tokenizer) for language in _QUESTIONS}

    def make(cell: Cell, item: Item, shown: Item, frame: Frame) -> Context:
        coded = _CodedText(bench, cell, codes[cell.language], dots)
        budget = cell.length - bench.reserve
        text = fit_text(coded.draft, coded.probe(), budget, frame, bench.tokenizer, bench.counter)
        return whole_context(text, bench.counter)

    return make


CODED_WORDS = Task(
    "coded-words", 1, _ids, _item, CodedWordsOptions,
    context=ContextKind(_make, exact=always_exact, draws_text=True, corpus="coded_words"),
    controls={NO_CONTEXT: no_context}, coordinates=without_depths,
)  # fmt: skip
