"""What metrics see: some rows' answers and what they are judged against, as parallel lists; out come parallel lists.

A metric is one function from a Chunk to Columns, and one line in the table of niah_score.metrics.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple, TypeVar

from niah_score.text import Word, as_word, find_word
from niah_score.text.vectorised import Letters, fold_all, in_letters, without_spaces_all

Columns = dict[str, list[Any]]
Value = TypeVar("Value")
Made = TypeVar("Made")

SCORE = ""  # the key of a metric's score among its columns; its parts have names


@dataclass(frozen=True, slots=True, eq=False)
class Target:
    """What an answer is judged against; rows of one needle share one.

    `answers`: accepted ones, the first is the reference. `keywords`: groups of variants. `needles`: the hidden texts.
    `prefix`: what the prompt ends with, or None.
    """

    answers: tuple[str, ...]
    keywords: tuple[tuple[str, ...], ...] = ()
    needles: tuple[str, ...] = ()
    prefix: str | None = None
    language: str = "en"


class Run(NamedTuple):
    """Neighbouring rows of one target: those from `start` up to `end`."""

    target: Target
    start: int
    end: int


@dataclass(frozen=True)
class Chunk:
    """Rows side by side: item i of either list belongs to row i. `texts`: what is judged, "" without an answer.

    Rows in any order are judged alike; those of one target together cost least.
    """

    texts: list[str]
    targets: list[Target]
    _shared: dict[str, Columns] = field(default_factory=dict, repr=False)
    _letters: dict[tuple[str, int, int], Letters] = field(default_factory=dict, repr=False)

    @cached_property
    def runs(self) -> list[Run]:
        """The rows, as runs of one target each."""
        changes = [place for place, (one, next_) in enumerate(pairwise(self.targets), 1) if one is not next_]
        bounds = [0, *changes, len(self.targets)] if self.targets else []
        return [Run(self.targets[start], start, end) for start, end in pairwise(bounds)]

    @cached_property
    def folded(self) -> list[str]:
        """The texts as `niah_score.text.fold` leaves them."""
        return fold_all(self.texts)

    @cached_property
    def packed(self) -> list[str]:
        """The texts without white space, as the CDME metrics compare them (what Python's \\s matches)."""
        return without_spaces_all(self.texts)

    def packed_letters(self, reference: str, start: int, end: int) -> Letters:
        """A reference and the packed texts of some rows, spelt in few letters where this is faster."""
        key = (reference, start, end)
        if key not in self._letters:
            self._letters[key] = in_letters(reference, self.packed[start:end])
        return self._letters[key]

    @cached_property
    def hits(self) -> list[tuple[str | None, ...]]:
        """For every keyword group, the first of its members (folded) that the text holds as whole words, or None."""
        return self.of_runs(_words, _held, self.folded)

    def of_runs(
        self, make: Callable[[Target], Made], work: Callable[[Made, list[str]], Iterable[Value]], texts: list[str]
    ) -> list[Value]:
        """What `work` makes of each run's texts and of `make` of its target, one run after the other.

        `texts`: of all rows. `make` is worked out once for each target.
        """
        known: dict[int, Made] = {}
        found: list[Value] = []
        for target, start, end in self.runs:
            if id(target) not in known:
                known[id(target)] = make(target)
            found += work(known[id(target)], texts[start:end])
        return found

    def once(self, make: Callable[[Target], Value]) -> list[Value]:
        """`make` of every row's target, worked out once for each."""
        return self.of_runs(make, lambda made, texts: [made] * len(texts), self.texts)

    def shared(self, metric: Callable[[Chunk], Columns]) -> Columns:
        """The columns of a metric that another builds on, worked out once."""
        if metric.__name__ not in self._shared:
            self._shared[metric.__name__] = metric(self)
        return self._shared[metric.__name__]

    def only(self, places: list[int]) -> Chunk:
        """The chunk of some of the rows."""
        return Chunk([self.texts[place] for place in places], [self.targets[place] for place in places])


def _words(target: Target) -> list[list[Word]]:
    return [[as_word(word) for word in group] for group in target.keywords]


def _held(groups: list[list[Word]], texts: list[str]) -> Iterable[tuple[str | None, ...]]:
    if not groups:
        return [()] * len(texts)
    return zip(*(_first_held(group, texts) for group in groups), strict=True)


def _first_held(words: list[Word], texts: list[str]) -> list[str | None]:
    """For each text the first of the words that it holds."""
    found: list[str | None] = [None] * len(texts)
    for word in words:
        plain = word.text
        found = [
            held if held is not None else plain if plain in text and find_word(text, word) >= 0 else None
            for held, text in zip(found, texts, strict=True)
        ]
    return found
