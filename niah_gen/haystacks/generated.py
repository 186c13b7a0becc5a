"""Fills haystacks with units that a function makes, one per line, instead of a corpus."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator

import numpy as np

from niah_gen.errors import FitError
from niah_gen.haystacks.fit import WINDOW, Fitting, seam_tokens
from niah_gen.haystacks.haystack import FillRequest, Haystack, Secret
from niah_gen.haystacks.sentences import Kept, sentences_of
from niah_gen.tokenizers.find import Tokenizer
from niah_gen.tokenizers.spliced import Counter, encode
from niah_score.text import fold, holds

# Makes one unit: a line of text that is not empty and holds no line end. The generator is seeded by the coordinates.
MakeUnit = Callable[[random.Random], str]

JOINER = "\n"
# Units encoded together as one document; the fitting joins as many documents as the length needs.
_BATCH = 256
_ENDLESS = 2**62
# Draws of one unit before giving up.
_TRIES = 100


class UnitsFiller:
    """Fills haystacks with the lines that `unit` makes, in an order and wording seeded by the coordinates."""

    def __init__(self, name: str, unit: MakeUnit, tokenizer: Tokenizer) -> None:
        self._name = name
        self._unit = unit
        self._tokenizer = tokenizer
        self._counter = Counter(tokenizer)

    def fill(self, request: FillRequest) -> Haystack:
        """As many whole units as fit. Raises FitError if not even one does, or if units are not lines."""
        fitting = Fitting(request, self._tokenizer, self._counter)
        batches = self._batches(request)
        # Units do not repeat, so no number of batches is "all of them".
        sentences = sentences_of(batches, _ENDLESS, max(fitting.room, 1), WINDOW, self._tokenizer)
        added = seam_tokens(request, sentences, self._counter)
        return fitting.haystack(sentences, added, (JOINER,), None)

    def _batches(self, request: FillRequest) -> Iterator[Kept]:
        name = f"{request.seed}/{self._name}/{request.secret.id}/{request.length}/{request.repeat}"
        if request.depth is not None:
            name += f"/{request.depth!r}"
        draw = random.Random(name)
        while True:
            units = [self._one(draw, request.secret) for _ in range(_BATCH)]
            sizes = [len(unit.encode()) + len(JOINER) for unit in units]
            text = encode(JOINER.join(units) + JOINER, self._tokenizer)
            yield Kept(text, np.cumsum(sizes, dtype=np.int64) - len(JOINER), text.size)

    def _one(self, draw: random.Random, secret: Secret) -> str:
        """A unit that gives nothing away; one that holds a keyword or a needle is drawn again."""
        for _ in range(_TRIES):
            unit = self._unit(draw)
            if not isinstance(unit, str) or not unit.strip() or "\n" in unit:
                raise FitError(f"{self._name}: a unit is {unit!r}; expected one line that is not empty")
            folded = fold(unit)
            if not any(holds(folded, word) for group in secret.keywords for word in group) and not any(
                text in unit for text in secret.texts
            ):
                return unit
        raise FitError(
            f"{self._name}: {_TRIES} units in a row hold a keyword or the text of {secret.id!r}; make units differ more"
        )

    def notes(self, secret: Secret) -> tuple[str, ...]:
        """Nothing."""
        return ()
