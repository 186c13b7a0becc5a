"""Holds the answers and targets of many rows for the fast versions of metrics, and caches what these share."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple, TypeVar

from niah_score.metrics.target import Target
from niah_score.text import (
    Find,
    Group,
    Letters,
    Verdict,
    doubtful,
    find_as_written,
    find_word,
    fold_all,
    in_letters,
    may_state,
    spaced,
    stands,
    verdict,
    without_spaces_all,
    words_in,
)

# With fewer words or texts, searching them all at once is not worth it.
_MANY = 4
_NOT_NAMED = Verdict(None, False)
PerRow = TypeVar("PerRow")
Prepared = TypeVar("Prepared")


class ScoreColumns(NamedTuple):
    """Scores of many rows, in order: `values`, and a list for each of the metric's `parts`."""

    values: list[float | None]
    parts: dict[str, list[Any]]


class TargetRun(NamedTuple):
    """Adjacent rows with the same target: those from `start` up to, but not including, `end`."""

    target: Target
    start: int
    end: int


@dataclass(frozen=True)
class Chunk:
    """Many rows: item i of each list belongs to row i. `texts`: what is judged, "" without an answer.

    Scores do not depend on the order of the rows; sorting them by target makes judging fastest.
    """

    texts: list[str]
    targets: list[Target]
    _shared: dict[Callable[[Chunk], ScoreColumns], ScoreColumns] = field(default_factory=dict, repr=False)
    _letters: dict[tuple[str, int, int], Letters] = field(default_factory=dict, repr=False)

    @cached_property
    def runs(self) -> list[TargetRun]:
        """The rows as runs with one target each."""
        changes = [place for place, (one, next_) in enumerate(pairwise(self.targets), 1) if one is not next_]
        bounds = [0, *changes, len(self.targets)] if self.targets else []
        return [TargetRun(self.targets[start], start, end) for start, end in pairwise(bounds)]

    @cached_property
    def folded(self) -> list[str]:
        """The texts, folded by `niah_score.text.fold`."""
        return fold_all(self.texts)

    @cached_property
    def spaceless(self) -> list[str]:
        """The texts without white space, as the CDME metrics compare them (what Python's \\s matches)."""
        return without_spaces_all(self.texts)

    def spaceless_letters(self, reference: str, start: int, end: int) -> Letters:
        """A reference and the spaceless texts of a run, as bytes where comparing those is faster."""
        key = (reference, start, end)
        if key not in self._letters:
            self._letters[key] = in_letters(reference, self.spaceless[start:end])
        return self._letters[key]

    @property
    def hits(self) -> list[tuple[int | None, ...]]:
        """For every row and keyword group, where the text states it (a code point of the folded text), or None."""
        return self._verdicts[0]

    @property
    def taken_back(self) -> frozenset[int]:
        """The rows whose text names a fact only to take it back; see `niah_score.text.Verdict`."""
        return self._verdicts[1]

    @cached_property
    def _verdicts(self) -> tuple[list[tuple[int | None, ...]], frozenset[int]]:
        # The results are those of `verdict` for each text, but most texts are decided without calling it.
        easy = self._easy_finds()
        sure = [
            (text, find, group)
            for (target, start, end), of_run in zip(self.runs, easy, strict=True)
            for group, finds in zip(target.groups, of_run, strict=True)
            for text, find in zip(self.folded[start:end], finds, strict=True)
            if find is not None
        ]
        doubts = iter(doubtful(sure))
        hits: list[tuple[int | None, ...]] = []
        taken_back: set[int] = set()
        for (target, start, end), of_run in zip(self.runs, easy, strict=True):
            texts, places = self.folded[start:end], []
            for group, finds in zip(target.groups, of_run, strict=True):
                verdicts = [_verdict(text, find, group, doubts) for text, find in zip(texts, finds, strict=True)]
                places.append([find and find.start for find, _ in verdicts])
                taken_back.update(place for place, verdict in enumerate(verdicts, start) if verdict.taken_back)
            hits += zip(*places, strict=True) if places else [()] * (end - start)
        return hits, frozenset(taken_back)

    def _easy_finds(self) -> list[list[list[Find | None]]]:
        """For each run, keyword group and row, where the text states the fact, if that is evident without parsing."""
        spaces = [spaced(text) for text in self.folded]
        return [
            [_easily_found(group, self.folded[start:end], spaces[start:end]) for group in target.groups]
            for target, start, end in self.runs
        ]

    def of_runs(
        self,
        prepare: Callable[[Target], Prepared],
        work: Callable[[Prepared, list[str]], Iterable[PerRow]],
        texts: list[str],
    ) -> list[PerRow]:
        """A value for each row: `work` is called with each run's prepared target and texts.

        `texts`: of all rows. `prepare` is called once for each target.
        """
        known: dict[int, Prepared] = {}
        values: list[PerRow] = []
        for target, start, end in self.runs:
            if id(target) not in known:
                known[id(target)] = prepare(target)
            values += work(known[id(target)], texts[start:end])
        return values

    def once(self, prepare: Callable[[Target], PerRow]) -> list[PerRow]:
        """`prepare` of every row's target, called once for each target."""
        return self.of_runs(prepare, lambda prepared, texts: [prepared] * len(texts), self.texts)

    def shared(self, many: Callable[[Chunk], ScoreColumns]) -> ScoreColumns:
        """The scores by a metric's fast version, cached, as other metrics build on them."""
        if many not in self._shared:
            self._shared[many] = many(self)
        return self._shared[many]

    def only(self, places: list[int]) -> Chunk:
        """The chunk of some of the rows."""
        return Chunk([self.texts[place] for place in places], [self.targets[place] for place in places])


def _verdict(folded: str, find: Find | None, group: Group, doubts: Iterator[bool]) -> Verdict:
    """What a text says about a fact. `find`: where it is evident; `doubts`: for each such find, if it may be void."""
    if find is not None:
        # If the first find is void, another one may stand.
        return verdict(folded, group) if next(doubts) and not stands(folded, find, group) else Verdict(find, False)
    may_be = group.language or (group.values and may_state(folded, group))
    may_be = may_be or words_in(folded, group) is not group.words
    return verdict(folded, group) if may_be else _NOT_NAMED


def _easily_found(group: Group, folded: Sequence[str], spaces: Sequence[str]) -> list[Find | None]:
    """Where each text states a fact in its first spelling or in a word; None if the text would have to be parsed."""
    if group.language:
        return [None] * len(folded)
    finds: list[Find | None] = [find_as_written(text, group) if group.values else None for text in folded]
    if group.words:
        for place, may_hold in enumerate(_holding_words(group, spaces)):
            if may_hold and finds[place] is None:
                finds[place] = _first_word(spaces[place], group)
    return finds


def _holding_words(group: Group, spaces: Sequence[str]) -> list[bool]:
    """Which spaced texts contain the characters of any word of a group."""
    if len(group.words) < _MANY or len(spaces) < _MANY:
        return [True] * len(spaces)
    import polars as pl

    words = [word.text for word in group.words]
    holding: list[bool] = pl.Series("", spaces, pl.String).str.contains_any(words).to_list()
    return holding


def _first_word(spaces: str, group: Group) -> Find | None:
    for word in group.words:
        place = find_word(spaces, word)
        if place >= 0:
            return Find(place, place + len(word.text))
    return None
