"""Asks for the most frequent invented words of a coded text whose word counts follow Zipf's law.

After RULER's frequent words extraction (C.-P. Hsieh et al., COLM 2024): among N words, that of rank k occurs
N k^-alpha / zeta(alpha) times, and dots take the first rank. RULER's texts of one size share one permutation; here
every row has its own. There is no depth: the words are spread over the whole text.
"""

from __future__ import annotations

import string
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np

from niah_gen.errors import FitError
from niah_gen.haystacks.budget import room_for_filler
from niah_gen.haystacks.generated import fit_text, tokens_of_each
from niah_gen.haystacks.slots import scattered, shuffled
from niah_gen.prompts.frame import Frame
from niah_gen.tasks.base import NO_CONTEXT, Task, no_context
from niah_gen.tasks.common_words import ids_of, whole_context, without_depths, words_item
from niah_gen.tasks.hiding import ContextKind, always_exact
from niah_gen.tasks.options import check_options
from niah_gen.tasks.records import Cell, Context, ContextMaker, Item, Settings, Workbench, cell_seed
from niah_gen.tasks.words import word_list, wording
from niah_gen.tokenizers.find import Ints, Tokenizer

DOTS = "..."
# Characters of numbers and dates, and those that join the items of a list.
_NO_CODE = frozenset("年月日时分秒点号元角个和与及跟同或")
# The least frequent asked word occurs at least _APART times as often as the next one, and _FEWEST_APART times more.
_APART = 1.1
_FEWEST_APART = 2
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


def _ids(settings: Settings, language: str) -> Sequence[str]:
    return ids_of(settings.options.rows, language) if language in wording("coded_words") else []


def _item(settings: Settings, cell: Cell) -> Item:
    options: CodedWordsOptions = settings.options
    more = wording("coded_words")[cell.language]["ignore"].format(dots=DOTS) if options.dots else ""
    return words_item("coded_words", cell, _ranked(options, settings.seed, cell)[: options.asked], more)


class _CodedText:
    """The text of one row. Its words are drawn by rank, only as many as are needed; `_each`: the tokens of each."""

    def __init__(self, bench: Workbench, cell: Cell) -> None:
        self._options: CodedWordsOptions = bench.options
        self._cell = cell
        self._tokenizer = bench.tokenizer
        self._seed = _seed(bench.seed, cell)
        self._words = [DOTS] if self._options.dots else []
        self._each: Ints = np.array([_tokens_of_dots(bench.tokenizer)] if self._options.dots else [], dtype=np.int64)
        self._append(_ranked(self._options, bench.seed, cell))

    def _append(self, codes: list[str]) -> None:
        self._words += codes
        self._each = np.append(self._each, tokens_of_each([f" {code}" for code in codes], self._tokenizer))

    def build(self, wanted: int) -> str:
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
        ranks = shuffled(np.repeat(np.arange(len(counts)), counts), f"{self._seed}/order").tolist()
        return " ".join(self._words[rank] for rank in ranks)

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
        if least - following < _FEWEST_APART or least < _APART * following:
            raise FitError(
                f"in a text of {sum(counts)} words the last one asked for occurs {least} times and the next one "
                f"{following} times, too close to tell them apart; ask for longer lengths, or set options.alpha higher "
                "or options.asked lower"
            )


def _tokens_of_dots(tokenizer: Tokenizer) -> int:
    """Tokens of the dots and the space before them, in the middle of a text."""
    return max(1, tokenizer.count(f"abc {DOTS} abc") - tokenizer.count("abc abc"))


def _make(bench: Workbench) -> ContextMaker:
    def make(cell: Cell, item: Item, shown: Item, frame: Frame) -> Context:
        room = room_for_filler(cell.length, bench.reserve, frame, (), "", bench.tokenizer)
        return whole_context(fit_text(_CodedText(bench, cell).build, room, bench.tokenizer))

    return make


CODED_WORDS = Task(
    "coded-words", 2, _ids, _item, CodedWordsOptions,
    context=ContextKind(_make, exact=always_exact, draws_text=True, corpus="coded_words"),
    controls={NO_CONTEXT: no_context}, coordinates=without_depths,
)  # fmt: skip
