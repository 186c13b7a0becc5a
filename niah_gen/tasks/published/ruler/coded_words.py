"""Draws RULER's frequent words extraction: invented words whose frequencies follow a zeta law."""

from __future__ import annotations

import math
import random
import string
from collections.abc import Sequence

import numpy as np

from niah_gen.errors import FitError
from niah_gen.prompts.messages import Piece
from niah_gen.tasks.published.ruler.draft import RulerDraft
from niah_gen.tasks.published.ruler.templates import CODED_WORDS, filled
from niah_gen.tokenizers.spliced import Counter

_ALPHA = 2.0
# zeta(2).
_ZETA = math.pi**2 / 6
_LETTERS = 6
_NOISE = "..."
# Tokens reserved for the answer.
_REPLY = 50


class CodedWords:
    """The generator of one run. A size is the N of the zeta law: the word of rank k occurs N k^-2 / zeta(2) times."""

    def __init__(self, seed: int, length: int, model_template: str) -> None:
        self._seed = seed
        self._draw = random.Random(seed)
        self._model_template = model_template
        self._budget = budget = length - _REPLY
        self._vocabulary = budget // 50
        self._first = budget // 6
        self._step = budget // 32

    def size(self, length: int, counter: Counter) -> int:
        """The last N, in even steps from the first, whose prompt is shorter than the budget."""
        words = self._drawn()
        size = self._first
        while self._draft(words, size).tokens(counter) < self._budget:
            size += self._step
        return size - self._step

    def sample(self, number: int, size: int, length: int, counter: Counter) -> RulerDraft:
        """The prompt of the next sample, with new words; N is lowered until it fits."""
        words = self._drawn()
        while True:
            draft = self._draft(words, size)
            if draft.tokens(counter) <= self._budget:
                return draft
            if size <= self._step:
                raise FitError(f"length {length} leaves no room for RULER's coded words; ask for longer lengths")
            size -= self._step

    def _drawn(self) -> list[str]:
        """New words by rank, the noise first."""
        words = [self._word() for _ in range(self._vocabulary)]
        while len(set(words)) < self._vocabulary:
            words.append(self._word())
        words = sorted(set(words))
        random.Random(self._seed).shuffle(words)
        return [_NOISE, *words[1:]]

    def _word(self) -> str:
        return "".join(self._draw.choices(string.ascii_lowercase, k=_LETTERS))

    def _draft(self, words: Sequence[str], size: int) -> RulerDraft:
        # With numpy, as published: its powers can differ from Python's in the last bit.
        counts = (size * np.arange(1, len(words) + 1) ** -_ALPHA / _ZETA).astype(int).tolist()
        text = [word for word, count in zip(words, counts, strict=True) for _ in range(count)]
        random.Random(self._seed).shuffle(text)
        frames = filled(CODED_WORDS, self._model_template)
        return RulerDraft(
            frames.before, (Piece(" ".join(text)),), frames.after, frames.prefix, frames.question, tuple(words[1:4])
        )
