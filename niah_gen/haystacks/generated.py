"""Fills haystacks with text that is made, not read: lines from a function, noise that repeats, words in a row."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from functools import lru_cache

import numpy as np

from niah_gen.errors import FitError
from niah_gen.haystacks.haystack import FillRequest, Haystack, Secret, no_room, room_for_filler
from niah_gen.tokenizers.counted import Counted, count, count_to, counted, known
from niah_gen.tokenizers.find import Ints, Tokenizer
from niah_score.text import fold, holds

# Makes one unit: a line of text that is not empty and holds no line end. The generator is seeded by the coordinates.
MakeUnit = Callable[[random.Random], str]

JOINER = "\n"
# The five sentences of RULER's and InfiniteBench's noise; the Chinese ones are ours.
NOISE = {
    "en": ("The grass is green.", " The sky is blue.", " The sun is yellow.", " Here we go.", " There and back again."),
    "zh": ("草地是绿的。", "天空是蓝的。", "太阳是黄的。", "我们出发了。", "去了又回来。"),
}
# Draws of one unit before giving up.
_TRIES = 100
# How often a text is made again if sums of tokens were estimates.
_ATTEMPTS = 8


class UnitsFiller:
    """Fills haystacks with the lines that `unit` makes, in an order and wording seeded by the coordinates."""

    def __init__(self, name: str, unit: MakeUnit, tokenizer: Tokenizer) -> None:
        self._name = name
        self._unit = unit
        self._tokenizer = tokenizer

    def fill(self, request: FillRequest) -> Haystack:
        """As many whole units as fit. Raises FitError if not even one does, or if units are not lines."""
        name = f"{request.seed}/{self._name}/{request.secret.id}/{request.length}/{request.repeat}"
        if request.depth is not None:
            name += f"/{request.depth!r}"
        draw = random.Random(name)
        room = room_for(request, self._tokenizer)
        units: list[str] = []
        left = room
        while left >= 0:
            units.append(self._one(draw, request.secret))
            left -= self._tokenizer.count(units[-1] + JOINER)
        return first_that_fit(*joined(units, JOINER, self._tokenizer), room, request, self._tokenizer)

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


class NoiseFiller:
    """Fills haystacks with lines of noise. `sentences`: those of a line, each beginning with its separator.

    All haystacks are beginnings of one text, which grows with the lengths asked for; the last line may end after any
    of its sentences.
    """

    def __init__(self, sentences: Sequence[str], tokenizer: Tokenizer) -> None:
        self._sentences = sentences
        self._line = "".join(sentences)
        # Sizes of the beginnings of a line, the longest first.
        self._beginnings = np.cumsum(list(map(len, sentences[:-1])))[::-1].tolist()
        self._tokenizer = tokenizer
        self._longest = -1
        # Rows of one length end at only a few different places.
        self._ending = lru_cache(maxsize=64)(self._make_ending)

    def fill(self, request: FillRequest) -> Haystack:
        """As many sentences as fit. Raises FitError if not even one does."""
        room = room_for(request, self._tokenizer)
        if max(room, request.longest) > self._longest:
            self._longest = max(room, request.longest)
            # A line has at most one token fewer among others than alone.
            lines = self._longest // max(1, self._tokenizer.count(self._line) - 1) + 2
            self._text = counted(f"{self._line}{JOINER}" * lines, self._tokenizer)
            self._places = np.arange(lines + 1) * len(self._line + JOINER) - len(JOINER)
            self._places[0] = 0
            self._before = count_to(self._text, self._places, self._tokenizer)
            self._ending.cache_clear()
        fitting = max(0, int(np.searchsorted(self._before, room, side="right")) - 1)
        for lines in range(fitting, max(-1, fitting - 2), -1):
            start = int(self._places[lines]) + len(JOINER) if lines else 0
            for end in (*(start + size for size in self._beginnings), int(self._places[lines])):
                if end and count(self._text, (), end, self._tokenizer) <= room:
                    return self._ending(lines, end)
        raise no_room(request.length, request.reserve, room)

    def _make_ending(self, lines: int, end: int) -> Haystack:
        """Noise up to a code point in or at the end of line `lines`, with a place after each line and at the end."""
        whole = lines + (end > self._places[lines])
        before = np.append(self._before[:whole], count(self._text, (), end, self._tokenizer))
        return haystack_of(self._text, np.append(self._places[:whole], end), before, len(self._line + JOINER))


def joined(units: Sequence[str], joiner: str, tokenizer: Tokenizer) -> tuple[Counted, Ints, Ints]:
    """Units in a row: their text, the places at its beginning and after each unit, and the tokens before each place."""
    source = counted(joiner.join(units), tokenizer)
    sizes = np.array([len(unit) + len(joiner) for unit in units], dtype=np.int64)
    places = np.append(0, np.cumsum(sizes) - len(joiner))
    return source, places, count_to(source, places, tokenizer)


def room_for(request: FillRequest, tokenizer: Tokenizer) -> int:
    """Tokens left for the filler of a request."""
    needles = request.secret.texts
    return room_for_filler(request.length, request.reserve, request.frame, needles, request.joiner, tokenizer)


def haystack_of(source: Counted, places: Ints, before: Ints, period: int = 0) -> Haystack:
    """A haystack of a text up to its last place."""
    return Haystack(source, int(places[-1]), int(before[-1]), 1.0, places, before, period=period)


def first_that_fit(
    source: Counted, places: Ints, before: Ints, room: int, request: FillRequest, tokenizer: Tokenizer
) -> Haystack:
    """The first units of a text that surely fit into `room` tokens, with a place after each."""
    for last in range(int(np.searchsorted(before, room, side="right")) - 1, 0, -1):
        # If the tokenizer is not local, what stands before each place is an estimate.
        tokens = int(before[last]) if tokenizer.local else tokenizer.count(source.text[: places[last]])
        if tokens <= room:
            return haystack_of(source, places[: last + 1], np.append(np.minimum(before[:last], tokens), tokens))
    raise no_room(request.length, request.reserve, room)


def fit_text(build: Callable[[int], Counted], room: int, tokenizer: Tokenizer) -> Counted:
    """The longest text that a maker builds in `room` tokens. `build`: makes one of at most so many expected tokens.

    Raises FitError if none fits, and what `build` raises.
    """
    wanted = room
    for _ in range(_ATTEMPTS if room > 0 else 0):
        text = build(wanted)
        over = count(text, (), len(text.text), tokenizer) - room
        if over <= 0:
            return text
        wanted -= over
    raise FitError(f"the length leaves {max(0, room)} tokens, too few for a text; ask for longer lengths")


def in_a_row(texts: Sequence[str], tokens: Ints, tokenizer: Tokenizer) -> Counted:
    """Texts in a row, each of which has so many tokens: only what is not between words is ever encoded.

    Each but the first begins with a mark or white space.
    """
    if not tokenizer.local:
        return counted("".join(texts), tokenizer)
    after_words = np.array([text[-1].isalnum() for text in texts])[:-1]
    cuts = np.cumsum(list(map(len, texts)))[:-1]
    return known("".join(texts), cuts[after_words], np.cumsum(tokens)[:-1][after_words], tokenizer)


def tokens_of_each(texts: Sequence[str], tokenizer: Tokenizer) -> Ints:
    """Tokens of each of several texts in a row; exact if the tokenizer is local.

    Each must begin with a mark or white space and end with a letter or digit, so that all meet at safe cuts; they are
    encoded together.
    """
    # After a letter, the first text begins at a safe cut too.
    places = np.cumsum([1, *map(len, map(str.encode, texts))])
    before = np.searchsorted(tokenizer.encode("a" + "".join(texts)).ends, places, side="right")
    tokens: Ints = np.maximum(np.diff(before), 1)
    return tokens
