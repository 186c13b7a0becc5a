"""Fits numbered passages to a token budget: most of them whole, a few shortened by sentences."""

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

# Cutting aims at no more than this many tokens below what is left.
_AIM = 2
_ATTEMPTS = 6
# Up to this many passages more than fit are tried, cut shorter: a few short texts can be cut in few ways only.
_MOST_MORE = 6
# Within this many tokens below the size wanted, passages are tried as they are.
_NEAR = 8
# At most this many passages are shortened.
_MOST_CUT = 40
_DIGITS = 6


class Lines(NamedTuple):
    """Passages to fill a prompt with. `endless`: all that may be taken, in order.

    `least`: how many are always taken. `order`: seeds the order in which they stand; None for the order in which they
    are taken.
    """

    endless: Callable[[], Iterator[Passage]]
    least: int = 1
    order: str | None = None


class PassageRoom(NamedTuple):
    """The prompt that passages are to fill. `budget`: its tokens. `needles`: numbered passages, encoded."""

    budget: int
    frame: Frame
    needles: tuple[Encoded, ...]
    language: str
    tokenizer: Tokenizer
    counter: Counter


class _Costs:
    """Tokens of numbered passages with the blank line after them, by the number of sentences dropped from the end."""

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
    """Random numbers of six digits, each at most once and none of those taken."""
    given = set(taken)
    while True:
        number = str(draw.randrange(10 ** (_DIGITS - 1), 10**_DIGITS))
        if number not in given:
            given.add(number)
            yield number


def numbered(passage: str, number: str, language: str) -> str:
    """A passage with its number, as prompts show it."""
    return MARKERS[language].format(id=number) + passage


def marker_tokens(language: str, tokenizer: Tokenizer) -> int:
    """About how many tokens the number of a passage and the blank line after it have."""
    return tokenizer.count(MARKERS[language].format(id="1" * _DIGITS)) + 1


def fit_passages(room: PassageRoom, lines: Lines, name: str, taken: frozenset[str], once: int) -> Haystack:
    """A haystack of numbered passages whose prompts end within 8 tokens below the budget, wherever the needles stand.

    `name`: seeds the numbers, none of which is `taken`. `once`: tokens of all passages available. If cutting comes no
    nearer, the nearest haystack that fits is taken; raises FitError if none does.
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
            f"the length leaves {max(0, room.budget - fixed)} tokens for passages, which is too few; ask for longer "
            "lengths, or set options.size lower"
        )
    return best[1]


def fullest(make: Callable[[int], Haystack], room: PassageRoom, count: int) -> Haystack:
    """The haystack whose shortest prompt leaves the fewest tokens of the budget free, of up to `count` numbered ones.

    Few enough end the search. Raises the last FitError if `make` raises one for all of them.
    """
    best: tuple[int, Haystack] | None = None
    for number in range(count):
        try:
            haystack = make(number)
        except FitError:
            if best is None and number == count - 1:
                raise
            continue
        below = room.budget - _extent(haystack, room)[0]
        if best is None or below < best[0]:
            best = below, haystack
        if below <= MOST_BELOW:
            break
    assert best is not None
    return best[1]


def _texts(lines: Lines, wanted: int, costs: _Costs) -> list[str] | None:
    """The passages that come nearest to `wanted` tokens from below; None if not even the fewest of them fit."""
    endless = lines.endless()
    taken: list[Passage] = []
    size = 0
    best: tuple[int, list[str]] | None = None
    more = 0
    while more <= _MOST_MORE and (best is None or best[0] > _AIM):
        taken.append(next(endless))
        size += costs(taken[-1])
        if len(taken) >= lines.least and size + _NEAR > wanted:
            below, drops = _drops(taken, size - wanted, costs)
            if below >= 0 and (best is None or below < best[0]):
                best = below, [passage.text(drops.get(passage.sentences, 0)) for passage in taken]
            more += size > wanted
    return None if best is None else best[1]


def _drops(taken: Sequence[Passage], excess: int, costs: _Costs) -> tuple[int, dict[tuple[str, ...], int]]:
    """How many sentences to drop from the end of each passage to save `excess` tokens, or as few more as possible.

    Each passage keeps its first sentence, and equal passages are cut alike. Returns first how many tokens are saved
    beyond `excess`, negative if too few are.
    """
    if excess <= 0:
        return -excess, {}
    drops_by_saving: dict[int, dict[tuple[str, ...], int]] = {0: {}}
    times = Counts(passage.sentences for passage in taken)
    for passage in list({passage.sentences: passage for passage in reversed(taken)}.values())[:_MOST_CUT]:
        count = times[passage.sentences]
        saved = [count * (costs(passage) - costs(passage, dropped)) for dropped in range(len(passage.sentences))]
        longer: dict[int, dict[tuple[str, ...], int]] = {}
        for total, drops in drops_by_saving.items():
            for dropped, tokens in enumerate(saved):
                if total + tokens not in longer:
                    longer[total + tokens] = {**drops, passage.sentences: dropped} if dropped else drops
                if total + tokens >= excess:
                    break
        drops_by_saving = longer
        if any(excess <= total <= excess + _AIM for total in drops_by_saving):
            break
    best = min((total for total in drops_by_saving if total >= excess), default=max(drops_by_saving))
    return best - excess, drops_by_saving[best]


def _haystack(texts: Sequence[str], tokenizer: Tokenizer, once: int) -> Haystack:
    source = encode(BLANK_LINE.join(texts), tokenizer)
    sizes = [len(text.encode()) for text in texts]
    places: Ints = np.concatenate([[0], np.cumsum(sizes) + len(BLANK_LINE) * np.arange(len(sizes))])
    before = np.searchsorted(source.ends, places, side="right")
    return Haystack(source, len(source.data), source.size, passes_of(source.size, once), places, before)


def _extent(haystack: Haystack, room: PassageRoom) -> tuple[int, int]:
    """The fewest and the most tokens of prompts with all needles at the beginning, in the middle, and at the end.

    Between any other two passages a needle adds the same tokens as in the middle.
    """
    places = haystack.needle_places()[0].tolist()
    others = sum(map(room.tokenizer.count, room.frame.others))
    tokens = []
    for place in dict.fromkeys([places[0], places[len(places) // 2], places[-1]]):
        stands = [(place, number) for number in range(len(room.needles))]
        pieces = lay(haystack, room.needles, stands, BLANK_LINE)
        around = [room.frame.before, *(piece.content for piece in pieces), room.frame.after]
        tokens.append(room.counter.count(around) + others)
    return min(tokens), max(tokens)
