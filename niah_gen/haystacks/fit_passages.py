"""Fits numbered passages to a token budget: whole ones as far as they reach, a few cut at a sentence."""

from __future__ import annotations

import random
from collections import Counter as Counts
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from niah_gen.errors import FitError
from niah_gen.haystacks.fit import MOST_BELOW
from niah_gen.haystacks.haystack import Haystack, passes_of
from niah_gen.haystacks.passages import BLANK_LINE, MARKERS, Passage
from niah_gen.haystacks.splice import lay
from niah_gen.prompts.frame import Frame
from niah_gen.tokenizers.find import Ints, Tokenizer
from niah_gen.tokenizers.spliced import Counter, Encoded, encode

# Cutting aims at so few tokens below what is left; the tokenizer decides where sentences of a few passages end.
_AIM = 2
_ATTEMPTS = 6
# So many passages more than fit are tried, cut shorter: a few short texts have few ways of being cut.
_MOST_MORE = 6
# So many tokens below what is wanted, the first passages are tried as they are.
_NEAR = 8
# Of this many passages the sentences are dropped, at most.
_MOST_CUT = 40
_DIGITS = 6


class Lines(NamedTuple):
    """Passages to fill a prompt with. `endless`: all that may be taken, in order.

    `least`: how many are taken in any case. `order`: seeds the order in which they stand; None for that in
    which they are taken.
    """

    endless: Callable[[], Iterator[Passage]]
    least: int = 1
    order: str | None = None


class PassageRoom(NamedTuple):
    """What passages are wanted for. `budget`: tokens of the whole prompt. `needles`: numbered passages, encoded."""

    budget: int
    frame: Frame
    needles: tuple[Encoded, ...]
    language: str
    tokenizer: Tokenizer
    counter: Counter


class _Costs:
    """Tokens of numbered passages with the blank line behind them, by the number of sentences dropped from the end."""

    def __init__(self, language: str, tokenizer: Tokenizer) -> None:
        self._language = language
        self._tokenizer = tokenizer
        self._known: dict[tuple[str, int], int] = {}

    def __call__(self, passage: Passage, dropped: int = 0) -> int:
        key = (passage.sentences[0], dropped)
        if key not in self._known:
            text = numbered(passage.text(dropped), "1" * _DIGITS, self._language) + BLANK_LINE
            self._known[key] = self._tokenizer.count(text)
        return self._known[key]


def numbers(draw: random.Random, taken: frozenset[str]) -> Iterator[str]:
    """Random numbers of six digits, each once and none of those taken."""
    given = set(taken)
    while True:
        number = str(draw.randrange(10 ** (_DIGITS - 1), 10**_DIGITS))
        if number not in given:
            given.add(number)
            yield number


def numbered(passage: str, number: str, language: str) -> str:
    """A passage as it stands in a prompt."""
    return MARKERS[language].format(id=number) + passage


def marker_tokens(language: str, tokenizer: Tokenizer) -> int:
    """About how many tokens a number and the blank line behind a passage have."""
    return tokenizer.count(MARKERS[language].format(id="1" * _DIGITS)) + 1


def fit_passages(room: PassageRoom, lines: Lines, name: str, taken: frozenset[str], once: int) -> Haystack:
    """A haystack of numbered passages whose prompts end within 8 tokens below the budget, wherever the needles stand.

    `name`: seeds the numbers, none of which is `taken`. `once`: tokens of all passages that it takes them from. Where
    cutting comes no nearer, the nearest haystack that fits is taken; raises FitError where none does.
    """
    fixed = room.counter.count([room.frame.before, room.frame.after]) + sum(needle.size + 1 for needle in room.needles)
    fixed += sum(map(room.tokenizer.count, room.frame.others))
    costs = _Costs(room.language, room.tokenizer)
    wanted = room.budget - fixed
    best: tuple[int, Haystack] | None = None
    for _ in range(_ATTEMPTS):
        texts = _texts(lines, wanted, costs)
        if texts is None:
            break
        if lines.order is not None:
            random.Random(lines.order).shuffle(texts)
        own = numbers(random.Random(f"{name}/numbers"), taken)
        haystack = _haystack([numbered(text, next(own), room.language) for text in texts], room.tokenizer, once)
        fewest, most = _extent(haystack, room)
        below = room.budget - most
        if below >= 0 and (best is None or below < best[0]):
            best = below, haystack
        if below >= 0 and room.budget - fewest <= MOST_BELOW:
            break
        wanted += below if below < 0 else below - _AIM
    if best is None:
        raise FitError(
            f"the length leaves {max(0, room.budget - fixed)} tokens for passages, too few; ask for longer lengths, or "
            "set options.size lower"
        )
    return best[1]


def most_below(haystack: Haystack, room: PassageRoom) -> int:
    """How many tokens the shortest prompt over a haystack ends below the budget."""
    return room.budget - _extent(haystack, room)[0]


def _texts(lines: Lines, wanted: int, costs: _Costs) -> list[str] | None:
    """The passages that come nearest to so many tokens from below; None where not even the fewest of them fit."""
    endless = lines.endless()
    taken: list[Passage] = []
    size = 0
    found: tuple[int, list[str]] | None = None
    more = 0
    while more <= _MOST_MORE and (found is None or found[0] > _AIM):
        taken.append(next(endless))
        size += costs(taken[-1])
        if len(taken) >= lines.least and size + _NEAR > wanted:
            below, drops = _drops(taken, size - wanted, costs)
            if below >= 0 and (found is None or below < found[0]):
                found = below, [passage.text(drops.get(passage.sentences, 0)) for passage in taken]
            more += size > wanted
    return None if found is None else found[1]


def _drops(taken: Sequence[Passage], excess: int, costs: _Costs) -> tuple[int, dict[tuple[str, ...], int]]:
    """How many sentences to drop from the end of each passage so that `excess` tokens go, or as few more as can be.

    Each keeps its first sentence, and passages that say the same are cut alike. First, how many more tokens go than
    have to; below 0 where too few do.
    """
    if excess <= 0:
        return -excess, {}
    ways: dict[int, dict[tuple[str, ...], int]] = {0: {}}
    times = Counts(passage.sentences for passage in taken)
    for passage in list({passage.sentences: passage for passage in reversed(taken)}.values())[:_MOST_CUT]:
        count = times[passage.sentences]
        saved = [count * (costs(passage) - costs(passage, dropped)) for dropped in range(len(passage.sentences))]
        longer: dict[int, dict[tuple[str, ...], int]] = {}
        for total, way in ways.items():
            for dropped, tokens in enumerate(saved):
                if total + tokens not in longer:
                    longer[total + tokens] = {**way, passage.sentences: dropped} if dropped else way
                if total + tokens >= excess:
                    break
        ways = longer
        if any(excess <= total <= excess + _AIM for total in ways):
            break
    best = min((total for total in ways if total >= excess), default=max(ways))
    return best - excess, ways[best]


def _haystack(texts: Sequence[str], tokenizer: Tokenizer, once: int) -> Haystack:
    source = encode(BLANK_LINE.join(texts), tokenizer)
    sizes = [len(text.encode()) for text in texts]
    places: Ints = np.concatenate([[0], np.cumsum(sizes) + len(BLANK_LINE) * np.arange(len(sizes))])
    before = np.searchsorted(source.ends, places, side="right")
    return Haystack(source, len(source.data), source.size, passes_of(source.size, once), places, before)


def _extent(haystack: Haystack, room: PassageRoom) -> tuple[int, int]:
    """The fewest and the most tokens of prompts with all needles at the beginning, in the middle, and at the end.

    What stands between two passages is the same everywhere else.
    """
    assert haystack.places is not None
    places = haystack.places.tolist()
    found = []
    for place in dict.fromkeys([places[0], places[len(places) // 2], places[-1]]):
        stands = [(place, number) for number in range(len(room.needles))]
        pieces = lay(haystack, room.needles, stands, BLANK_LINE)
        found.append(
            room.counter.count([room.frame.before, *(piece.content for piece in pieces), room.frame.after])
            + sum(map(room.tokenizer.count, room.frame.others))
        )
    return min(found), max(found)
