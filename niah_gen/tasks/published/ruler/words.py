"""Loads the words that RULER draws keys and lists from: those of wonderwords 2.2.0, in RULER's order."""

from __future__ import annotations

from bisect import bisect_right
from functools import lru_cache
from itertools import accumulate
from pathlib import Path
from typing import NamedTuple

_FOLDER = Path(__file__).parents[3] / "library" / "ruler"


@lru_cache(maxsize=3)
def word_list(kind: str) -> tuple[str, ...]:
    """A list of wonderwords 2.2.0 in its order: `noun`, `adjective` or `verb`; some words occur twice."""
    return tuple((_FOLDER / f"{kind}list.txt").read_text("utf-8").splitlines())


@lru_cache(maxsize=1)
def vocabulary() -> tuple[str, ...]:
    """All distinct nouns, adjectives and verbs, sorted: what common words are drawn from."""
    return tuple(sorted({word for kind in ("noun", "adjective", "verb") for word in word_list(kind)}))


class _Block(NamedTuple):
    """A run of the sorted pairs: those of one adjective (`pairs` is empty), or of several, which interleave."""

    adjective: str
    pairs: tuple[str, ...]


class Pairs:
    """The sorted list of all distinct `adjective-noun` pairs, 6,175,260 of them, without holding it in memory.

    Pairs of different adjectives interleave only if one adjective with its hyphen begins the other.
    """

    def __init__(self, adjectives: tuple[str, ...], nouns: tuple[str, ...]) -> None:
        self._nouns = tuple(sorted(set(nouns)))
        self._blocks: list[_Block] = []
        group: list[str] = []
        for adjective in sorted(set(adjectives), key=lambda word: f"{word}-"):
            if group and not f"{adjective}-".startswith(f"{group[0]}-"):
                self._blocks.append(self._block(group))
                group = []
            group.append(adjective)
        if group:
            self._blocks.append(self._block(group))
        self._starts = [0, *accumulate(len(block.pairs) or len(self._nouns) for block in self._blocks)]

    def _block(self, adjectives: list[str]) -> _Block:
        if len(adjectives) == 1:
            return _Block(adjectives[0], ())
        return _Block("", tuple(sorted({f"{one}-{noun}" for one in adjectives for noun in self._nouns})))

    def __len__(self) -> int:
        return self._starts[-1]

    def __getitem__(self, number: int) -> str:
        at = bisect_right(self._starts, number) - 1
        adjective, pairs = self._blocks[at]
        within = number - self._starts[at]
        return pairs[within] if pairs else f"{adjective}-{self._nouns[within]}"


@lru_cache(maxsize=1)
def pairs() -> Pairs:
    """The words that keys and values are drawn from."""
    return Pairs(word_list("adjective"), word_list("noun"))
