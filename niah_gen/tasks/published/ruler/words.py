"""Draws RULER's two word lists: common words, ten of which are far more frequent, and coded words, by a zeta law.

Words are those of wonderwords 2.2.0, in RULER's order.
"""

from __future__ import annotations

import math
import random
import string
from bisect import bisect_right
from functools import lru_cache
from itertools import accumulate
from pathlib import Path

import numpy as np

from niah_gen.errors import FitError, RecipeError
from niah_gen.tasks.published.files import json_of, read_once
from niah_gen.tasks.published.ruler.draft import LIBRARY, RulerDraft, RulerRun, templates
from niah_gen.tokenizers.find import Tokenizer

_COMMON = 10
_PROBE = 4096
# Lengths below this have shorter lists.
_SHORT = 4096
_ALPHA = 2.0
# zeta(2).
_ZETA = math.pi**2 / 6
_LETTERS = 6


@lru_cache(maxsize=3)
def word_list(kind: str) -> tuple[str, ...]:
    """A list of wonderwords 2.2.0 in its order: `noun`, `adjective` or `verb`; some words occur twice."""
    return tuple((LIBRARY / f"{kind}list.txt").read_text("utf-8").splitlines())


@lru_cache(maxsize=1)
def vocabulary() -> tuple[str, ...]:
    """All distinct nouns, adjectives and verbs, sorted: what common words are drawn from."""
    return tuple(sorted({word for kind in ("noun", "adjective", "verb") for word in word_list(kind)}))


class Pairs:
    """The sorted list of all distinct `adjective-noun` pairs, 6,175,260 of them, without holding it in memory.

    Pairs of different adjectives interleave only if one adjective with its hyphen begins the other; the pairs of such
    adjectives are listed.
    """

    def __init__(self, adjectives: tuple[str, ...], nouns: tuple[str, ...]) -> None:
        self._nouns = sorted(set(nouns))
        groups: list[list[str]] = []
        for adjective in sorted({f"{adjective}-" for adjective in adjectives}):
            if groups and adjective.startswith(groups[-1][0]):
                groups[-1].append(adjective)
            else:
                groups.append([adjective])
        self._groups = [
            group[0] if len(group) == 1 else sorted({one + noun for one in group for noun in self._nouns})
            for group in groups
        ]
        sizes = (len(self._nouns) if isinstance(group, str) else len(group) for group in self._groups)
        self._starts = list(accumulate(sizes, initial=0))

    def __len__(self) -> int:
        return self._starts[-1]

    def __getitem__(self, number: int) -> str:
        at = bisect_right(self._starts, number) - 1
        group, within = self._groups[at], number - self._starts[at]
        return group + self._nouns[within] if isinstance(group, str) else group[within]


@lru_cache(maxsize=1)
def pairs() -> Pairs:
    """The words that keys and values are drawn from."""
    return Pairs(word_list("adjective"), word_list("noun"))


@read_once
def words_of_file(path: Path) -> list[str]:
    """The words of RULER's english_words.json, a JSON object's values. Raises RecipeError if the file is not one."""
    words = json_of(path.read_bytes(), f"options.words: {path}")
    if not isinstance(words, dict) or not all(isinstance(word, str) for word in words.values()):
        raise RecipeError([f"options.words: {path}: expected an object whose values are words"])
    return list(words.values())


class CommonWords(RulerRun):
    """The generator of one run. `words`: the file to draw from for lists longer than the vocabulary."""

    reply = 120

    def __init__(self, seed: int, length: int, template: str, tokenizer: Tokenizer, words: Path | None) -> None:
        super().__init__(seed, length, template, tokenizer)
        self._file = words
        self._words = list(vocabulary())
        random.Random(seed).shuffle(self._words)

    def size(self) -> int:
        """The number of words to try first in every sample."""
        each = self.draft(_PROBE, 0).tokens(self.tokenizer) / _PROBE
        return self.largest(int(self.length // each) * 2)

    def draft(self, size: int, sample: int) -> RulerDraft:
        """One prompt. Draws the example's words, then those of the list."""
        short = self.length < _SHORT
        example, answers = self._listed(20 if short else 40, *((3, 1) if short else (10, 3)))
        text, outputs = self._listed(size, *((6, 1) if short else (30, 3)))
        own = templates()["common_words"]
        shown = " ".join(f"{number}. {word}" for number, word in enumerate(answers, 1))
        before = f"{own['prompt'].replace('{context}', example)}{own['prefix']} {shown}\n"
        draft = self.drawn("common_words", text, outputs)
        at = draft.before.index(own["prompt"][:20])
        return draft._replace(before=f"{draft.before[:at]}{before}{draft.before[at:]}")

    def _listed(self, size: int, common_times: int, other_times: int) -> tuple[str, list[str]]:
        """A numbered list of `size` different words, and the ten common ones."""
        drawn = self.draw.sample(self._words if size <= len(self._words) else self._of_file(size), size)
        common, others = drawn[:_COMMON], drawn[_COMMON:]
        items = common * common_times + others * other_times
        random.Random(self.seed).shuffle(items)
        return " ".join(f"{number}. {word}" for number, word in enumerate(items, 1)), common

    def _of_file(self, size: int) -> list[str]:
        if self._file is None:
            raise FitError(
                f"RULER's lists of {size} words need its file english_words.json, since its word lists have only "
                f"{len(self._words)}; give it with --set options.words=PATH, or ask for shorter lengths"
            )
        words = words_of_file(self._file)
        if len(words) < size:
            raise FitError(f"{self._file} has {len(words)} words, but RULER's list needs {size}")
        return words


class CodedWords(RulerRun):
    """The generator of one run. A size is the N of the zeta law: the word of rank k occurs N k^-2 / zeta(2) times."""

    reply = 50

    def __init__(self, seed: int, length: int, template: str, tokenizer: Tokenizer) -> None:
        super().__init__(seed, length, template, tokenizer)
        self._budget = length - self.reply
        self.step = self._budget // 32
        self._words: list[str] = []

    def size(self) -> int:
        """The last N, in even steps from the first, whose prompt is shorter than the budget."""
        self._draw_words()
        size = self._budget // 6
        while self.draft(size, 0).tokens(self.tokenizer) < self._budget:
            size += self.step
        return size - self.step

    def sample(self, size: int) -> RulerDraft:
        """The prompt of the next sample, with new words; N is lowered until it fits."""
        self._draw_words()
        return super().sample(size)

    def _draw_words(self) -> None:
        """New words by rank, the noise first."""
        count = self._budget // 50
        words = [self._word() for _ in range(count)]
        while len(set(words)) < count:
            words.append(self._word())
        words = sorted(set(words))
        random.Random(self.seed).shuffle(words)
        self._words = ["...", *words[1:]]

    def _word(self) -> str:
        return "".join(self.draw.choices(string.ascii_lowercase, k=_LETTERS))

    def draft(self, size: int, sample: int) -> RulerDraft:
        """One prompt of the words drawn last."""
        # With numpy, as published: its powers can differ from Python's in the last bit.
        counts = (size * np.arange(1, len(self._words) + 1) ** -_ALPHA / _ZETA).astype(int).tolist()
        text = [word for word, count in zip(self._words, counts, strict=True) for _ in range(count)]
        random.Random(self.seed).shuffle(text)
        return self.drawn("coded_words", " ".join(text), self._words[1:4])
