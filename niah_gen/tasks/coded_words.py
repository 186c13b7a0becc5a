"""Asks for the invented words that stand most often in a coded text whose word counts follow Zipf's law.

After RULER's frequent words extraction (C.-P. Hsieh et al., COLM 2024): the word of rank k stands N k^-alpha /
zeta(alpha) times among N, and dots stand for the first rank. RULER's texts of one size share one permutation; here
every row has its own. No depth is asked for: the words stand everywhere.
"""

from __future__ import annotations

import random
from collections import Counter as Tally
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from niah_gen.errors import FitError
from niah_gen.haystacks.made_text import TextDraft, fit_text, wrong_figures
from niah_gen.haystacks.placement import Placement
from niah_gen.haystacks.proof import ContextProof
from niah_gen.prompts.frame import Frame
from niah_gen.tasks.base import Task
from niah_gen.tasks.common_words import (
    LIST_JOINER,
    always,
    ids_of,
    vocabulary,
    whole_context,
    without_depths,
    wrong_tally,
)
from niah_gen.tasks.controls import NO_CONTEXT, no_context
from niah_gen.tasks.hiding import ContextKind
from niah_gen.tasks.records import Cell, Context, ContextMaker, Item, Settings, Workbench, cell_seed
from niah_gen.tokenizers.find import Ints, Tokenizer

DOTS = "..."
_LETTERS = "abcdefghijklmnopqrstuvwxyz"
_LETTERS_OF_A_CODE = 6
_CHARACTERS_OF_A_CODE = 3
# Characters that make up numbers, dates and what joins the items of a list.
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
# The least frequent word that is asked for stands this much more often than the next one.
_APART = 1.1
_FEWEST_APART = 2
# Terms of zeta that are summed one by one; the rest is an integral with two corrections.
_TERMS = 50


@dataclass(frozen=True, slots=True)
class CodedWordsOptions:
    """The recipe's [options].

    `alpha`: the exponent of Zipf's law; nearer to 1, counts lie nearer to each other. `asked`: how many words are asked
    for. `dots`: three dots take the first rank, and the question says to ignore them. `rows`: how many
    texts of each length, one a row.
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


def zeta(alpha: float) -> float:
    """Riemann's zeta function for alpha above 1, by the Euler-Maclaurin formula."""
    first = sum(k**-alpha for k in range(1, _TERMS))
    rest = _TERMS ** (1 - alpha) / (alpha - 1) + _TERMS**-alpha / 2 + alpha * _TERMS ** (-alpha - 1) / 12
    return float(first + rest)


def zipf_counts(total: int, alpha: float) -> list[int]:
    """How often the word of each rank stands among `total`: floor(total k^-alpha / zeta(alpha)), as far as that is 1.

    What the floors leave of the total is words that stand once.
    """
    share = total / zeta(alpha)
    ranks = np.arange(1, max(1, int(share ** (1 / alpha)) + 1) + 1, dtype=np.float64)
    counts: list[int] = [count for count in (share * ranks**-alpha).astype(np.int64).tolist() if count > 0]
    return counts + [1] * (total - sum(counts))


@lru_cache(maxsize=1)
def code_characters() -> str:
    """The characters that Chinese codes are made of: those of the vocabulary of common-words, in its order."""
    found = dict.fromkeys(char for word in vocabulary("zh") for char in word)
    return "".join(char for char in found if char not in _NO_CODE)


def _code(draw: random.Random, language: str) -> str:
    if language == "zh":
        return "".join(draw.sample(code_characters(), _CHARACTERS_OF_A_CODE))
    return "".join(draw.choices(_LETTERS, k=_LETTERS_OF_A_CODE))


def _ids(settings: Settings, language: str) -> Sequence[str]:
    return ids_of(settings.options.rows, language) if language in _QUESTIONS else []


def _item(settings: Settings, cell: Cell) -> Item:
    options = settings.options
    codes = _asked(random.Random(_seed(settings.seed, cell)), cell.language, options.asked)
    one, several, ignore = _QUESTIONS[cell.language]
    question = one if options.asked == 1 else several.format(count=options.asked)
    if options.dots:
        question += ignore.format(dots=DOTS)
    return Item(
        cell.needle, cell.language, question, (LIST_JOINER[cell.language].join(codes),),
        tuple((code,) for code in codes), "keyword_f1", keyword_kinds=("text",) * options.asked,
    )  # fmt: skip


def _seed(seed: int, cell: Cell) -> str:
    return f"{cell_seed(seed, cell)}/coded-words/{cell.language}"


def _asked(draw: random.Random, language: str, count: int) -> list[str]:
    """Codes that share no character where these stand without spaces, so that none is read across two others."""
    while True:
        codes = [_code(draw, language) for _ in range(count)]
        if len(set(codes)) == count and (language != "zh" or len({*"".join(codes)}) == len("".join(codes))):
            return codes


class _CodedText:
    """The words of one row by rank, drawn as far as they are needed. `costs[k]`: tokens of the word of rank k."""

    def __init__(self, bench: Workbench, cell: Cell, item: Item) -> None:
        self._options: CodedWordsOptions = bench.options
        self._tokenizer: Tokenizer = bench.tokenizer
        self._language = cell.language
        self._seed = _seed(bench.seed, cell)
        self._draw = random.Random(f"{self._seed}/others")
        asked = [code for (code,) in item.keywords]
        self._words = [DOTS, *asked] if self._options.dots else asked
        self._known = set(self._words)
        self._costs = [self._cost(word) for word in self._words]

    def draft(self, wanted: int) -> TextDraft:
        """The longest text of at most so many expected tokens; dots fill what no word fits into."""
        low, high = 1, 16
        while self._tokens(high) <= wanted:
            low, high = high, high * 2
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if self._tokens(middle) <= wanted else (low, middle)
        counts, tokens = self._counts(low), self._tokens(low)
        if self._options.dots:
            more = max(0, wanted - tokens) // self._costs[0]
            counts[0] += more
            tokens += more * self._costs[0]
        self._check_apart(counts)
        words = [word for word, count in zip(self._words, counts, strict=False) for _ in range(count)]
        random.Random(f"{self._seed}/order").shuffle(words)
        return TextDraft(" ".join(words), tokens)

    def _counts(self, total: int) -> list[int]:
        counts = zipf_counts(total, self._options.alpha)
        while len(self._words) < len(counts):
            code = _code(self._draw, self._language)
            if code not in self._known:
                self._known.add(code)
                self._words.append(code)
                self._costs.append(self._cost(code))
        return counts

    def _tokens(self, total: int) -> int:
        counts = self._counts(total)
        costs: Ints = np.array(self._costs[: len(counts)], dtype=np.int64)
        return int(costs @ np.array(counts, dtype=np.int64))

    def _cost(self, word: str) -> int:
        return max(1, self._tokenizer.count(f" {word}"))

    def _check_apart(self, counts: Sequence[int]) -> None:
        last = self._options.asked + self._options.dots
        least, following = [*counts[last - 1 : last + 1], 0, 0][:2]
        if least - following < _FEWEST_APART or least < _APART * following:
            raise FitError(
                f"in a text of {sum(counts)} words the last one asked for stands {least} times and the next one "
                f"{following} times, too near to tell them apart; ask for longer lengths, or set options.alpha higher "
                "or options.asked lower"
            )


def _make(bench: Workbench) -> ContextMaker:
    def make(cell: Cell, item: Item, shown: Item, frame: Frame) -> Context:
        coded = _CodedText(bench, cell, item)
        text = fit_text(coded.draft, cell.length - bench.reserve, frame, bench.tokenizer, bench.counter)
        return whole_context(text)

    return make


def _check(placement: Placement, proof: ContextProof) -> Iterator[str]:
    """What a row says of its coded text that counting its words does not confirm."""
    yield from wrong_figures(proof)
    tally = Tally(proof.context.split(" "))
    if not all(word == DOTS or word.isalpha() for word in tally):
        yield "the coded text holds more than words, three dots and single spaces"
    dots = tally.pop(DOTS, 0)
    asked = [group[0] for group in proof.row["keywords"]]
    yield from wrong_tally(tally, asked, _APART)
    ranked = sorted(asked, key=lambda word: -tally[word])
    if ranked != asked:
        yield f"keywords are {', '.join(asked)}, expected them from the most frequent on: {', '.join(ranked)}"
    if dots and dots < tally[asked[0]]:
        yield f"{DOTS} stands {dots} times, fewer than the most frequent word, {tally[asked[0]]}"


CODED_WORDS = Task(
    "coded-words", 1, _ids, _item, CodedWordsOptions, corpus="coded_words",
    context=ContextKind(_make, _check, exact=always), controls={NO_CONTEXT: no_context}, coordinates=without_depths,
    drawn=True
)  # fmt: skip
