"""Draws RULER's eight niah tasks: keys with values, hidden in noise, in essays, or among others of their kind."""

from __future__ import annotations

import random
import uuid
from itertools import accumulate
from typing import NamedTuple

import numpy as np

from niah_gen.prompts.messages import Piece
from niah_gen.tasks.published.ruler.draft import RulerDraft, fitting, listed, searched_size
from niah_gen.tasks.published.ruler.essays import Essays
from niah_gen.tasks.published.ruler.templates import NIAH, filled
from niah_gen.tasks.published.ruler.words import pairs
from niah_gen.tokenizers.find import Tokenizer
from niah_gen.tokenizers.spliced import Counter, Encoded, Slice, encode

NOISE = "The grass is green. The sky is blue. The sun is yellow. Here we go. There and back again."
_NEEDLE = "One of the special magic {kind} for {key} is: {value}."
# The depths that essay needles are drawn from, in percent.
_DEPTHS = tuple(int(depth) for depth in np.round(np.linspace(0, 100, 40)))


class NiahSettings(NamedTuple):
    """The settings of a niah task. `haystack`: noise, essay or needle; `values`: per key; `queries`: keys asked for."""

    haystack: str
    key_kind: str = "words"
    value_kind: str = "numbers"
    keys: int = 1
    values: int = 1
    queries: int = 1


class NoiseLines:
    """RULER's line of noise, repeated."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer
        self._encoded: tuple[int, Encoded] = 0, encode("", tokenizer)

    def lines(self, count: int) -> Encoded:
        """At least `count` lines; each begins at a multiple of LINE bytes."""
        if self._encoded[0] < count:
            # Twice as many as needed, so that a search does not encode every size.
            self._encoded = 2 * count, encode("\n".join([NOISE] * (2 * count)), self._tokenizer)
        return self._encoded[1]


# Bytes of a line of noise with its line end.
LINE = len(NOISE) + 1


class Niah:
    """The generator of one run of a niah task."""

    reply = 128

    def __init__(
        self, settings: NiahSettings, seed: int, length: int, model_template: str, tokenizer: Tokenizer,
        essays: Essays | None = None,
    ) -> None:  # fmt: skip
        self._settings = settings._replace(keys=max(settings.keys, settings.queries))
        self._seed = seed
        self._draw = random.Random(seed)
        self._model_template = model_template
        self._tokenizer = tokenizer
        self._essays = essays
        self._noise = NoiseLines(tokenizer)
        self.step = 500 if settings.haystack == "essay" else (5 if length < 4096 else 25)

    def size(self, length: int, counter: Counter) -> int:
        """The size to try first in every sample."""
        return searched_size(self, length, counter)

    def draft(self, size: int, sample: int) -> RulerDraft:
        """One prompt. Draws keys and values, the haystack, the places, then the keys to ask for."""
        settings = self._settings
        keys: list[str] = []
        values: list[list[str]] = []
        needles: list[str] = []
        for _ in range(settings.keys):
            key = self._word(settings.key_kind)
            own = [self._word(settings.value_kind) for _ in range(settings.values)]
            keys.append(key)
            values.append(own)
            needles += [_NEEDLE.format(kind=settings.value_kind, key=key, value=value) for value in own]
        # A separate generator with the run's seed: the order is the same in every prompt of the run.
        random.Random(self._seed).shuffle(needles)
        context, filler = self._context(size, needles)
        asked = self._draw.sample(range(settings.keys), settings.queries)
        outputs = tuple(value for number in asked for value in values[number])
        query = listed([keys[number] for number in asked])
        one = len(outputs) == 1
        kind = settings.value_kind.rstrip("s") if one else settings.value_kind
        frames = filled(NIAH, self._model_template, singular=one, type_needle_v=kind, query=query)
        return RulerDraft(
            frames.before, context, frames.after, frames.prefix, frames.question, outputs, tuple(needles), filler
        )

    def sample(self, number: int, size: int, length: int, counter: Counter) -> RulerDraft:
        """The prompt of the next sample."""
        return fitting(self, size, number, length, counter)

    def _word(self, kind: str) -> str:
        if kind == "words":
            return self._draw.choice(pairs())
        if kind == "numbers":
            return str(self._draw.randint(10**6, 10**7 - 1))
        return str(uuid.UUID(int=self._draw.getrandbits(128), version=4))

    def _context(self, size: int, needles: list[str]) -> tuple[tuple[Piece, ...], tuple[int, int] | None]:
        if self._settings.haystack == "essay":
            return self._in_essay(size, needles)
        source, ends = self._lines(size)
        places = sorted(self._draw.sample(range(size), len(needles)), reverse=True)
        pieces: list[Piece] = []
        at = 0
        # Needle k goes before line places[k], so the last needle comes first in the text.
        for number, place in reversed(list(enumerate(places))):
            start = ends[place - 1] + 1 if place else 0
            if at < start:
                pieces.append(Piece(Slice(source, at, start)))
            pieces += [Piece(needles[number], number), Piece("\n")]
            at = start
        return (*pieces, Piece(Slice(source, at, ends[size - 1]))), None

    def _lines(self, size: int) -> tuple[Encoded, list[int]]:
        """The lines of a haystack of noise or needles, and the byte where each ends."""
        if self._settings.haystack == "noise":
            return self._noise.lines(size), [LINE * number - 1 for number in range(1, size + 1)]
        kind, value_kind = self._settings.key_kind, self._settings.value_kind
        lines = [
            _NEEDLE.format(kind=value_kind, key=self._word(kind), value=self._word(value_kind)) for _ in range(size)
        ]
        ends = [end - 1 for end in accumulate(len(line.encode()) + 1 for line in lines)]
        return encode("\n".join(lines), self._tokenizer), ends

    def _in_essay(self, size: int, needles: list[str]) -> tuple[tuple[Piece, ...], tuple[int, int]]:
        assert self._essays is not None
        sentences = self._essays.sentences(size)
        cuts = sorted(int(sentences.count * (depth / 100)) for depth in self._draw.sample(_DEPTHS, len(needles)))
        pieces: list[Piece] = []
        last = 0
        for number, cut in enumerate([*cuts, sentences.count]):
            pieces += map(Piece, sentences.between(last, cut))
            if number < len(needles):
                # Parts are joined by single spaces, even around an empty part.
                pieces += [Piece(" "), Piece(needles[number], number), Piece(" ")]
            last = cut
        return tuple(pieces), (size, self._essays.count)
