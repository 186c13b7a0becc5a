"""Looks for a dataset's other needles in answers: an answer that states one of them has found the wrong needle."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from niah_score.metrics import Chunk, Target
from niah_score.text import Word, as_word, find_word, fold, group_of, holds_group, may_hold, spaced

if TYPE_CHECKING:
    import polars as pl

Spellings = tuple[tuple[str, ...], ...]


class OtherNeedle(NamedTuple):
    """A needle of the dataset: its id, its language, and its keyword groups."""

    id: str
    language: str
    keywords: Spellings

    @property
    def words(self) -> tuple[tuple[Word, ...], ...]:
        """The keywords in the form in which they are searched for."""
        return tuple(tuple(map(as_word, group)) for group in self.keywords)


def with_other_needles(target: Target, others: Sequence[OtherNeedle]) -> Target:
    """A target with the facts of the dataset's other needles in its language as `foreign` ones.

    Facts that are its own, or that occur in its needles, are left out: an answer may repeat the needle.
    """
    added = _foreign(target.keywords, target.needles, target.language, tuple(others))
    return replace(target, foreign=added) if added else target


@lru_cache(maxsize=1_024)
def _foreign(
    keywords: Spellings, needles: tuple[str, ...], language: str, others: tuple[OtherNeedle, ...]
) -> Spellings:
    own = [group_of(group) for group in keywords]
    values = {value for group in own for value in group.values}
    words = {word.text for group in own for word in group.words}
    texts = [(folded, spaced(folded)) for folded in map(fold, needles)]
    groups = dict.fromkeys(group for other in others if other.language == language for group in other.keywords)
    return tuple(
        spellings
        for spellings in groups
        if values.isdisjoint((group := group_of(spellings)).values)
        and words.isdisjoint(word.text for word in group.words)
        # Hardly any group occurs in the needles, and that is cheap to see.
        and not any(may_hold(*text, group) and holds_group(text[0], spellings) for text in texts)
    )


def holding_another(
    chunk: Chunk,
    folded: pl.Series,
    places: Sequence[int],
    needle_ids: Sequence[str | None],
    others: Sequence[OtherNeedle],
) -> list[int]:
    """The rows among `places` whose answer has all keywords of another needle in their language."""
    import polars as pl

    words = sorted({word.text for other in others for group in other.words for word in group})
    if not words:
        return []
    asked = pl.Series(places, dtype=pl.Int64)
    asked = asked.filter(folded.gather(asked).str.contains_any(words))
    named = folded.gather(asked).str.extract_many(words, overlapping=True).to_list()
    holding = []
    for place, names in zip(asked.to_list(), map(frozenset, named), strict=True):
        text, needle, language = chunk.folded[place], needle_ids[place], chunk.targets[place].language
        # Few needles' words occur at all; only those are searched for as whole words.
        if any(
            any(word.text in names for word in other.words[0])
            and other.id != needle
            and other.language == language
            and _holds_all(text, other.words)
            for other in others
        ):
            holding.append(place)
    return holding


def _holds_all(text: str, groups: tuple[tuple[Word, ...], ...]) -> bool:
    return all(any(word.text in text and find_word(text, word) >= 0 for word in group) for group in groups)
