"""Finds a fact in folded text by its keyword group: in any of its spellings, or as the value that they spell.

The scorer looks for facts in answers, the generator for leaks in haystacks, by the same rules: what counts as found for
one counts for the other. What voids a find in an answer (negations, wrong units) is in `voiding`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from niah_score.text.fold import fold
from niah_score.text.own_values import in_letters_of
from niah_score.text.values import PAIR, TEXT, is_same, kind_of, parsed, values_held, values_in

_ALPHANUMERIC = frozenset("abcdefghijklmnopqrstuvwxyz0123456789")
_DASHES = "\u2010\u2012\u2013\u2014"


class Word(NamedTuple):
    """A spelling, folded and spaced; `left` and `right`: whether it ends there with an ASCII letter or digit."""

    text: str
    left: bool
    right: bool


class Group(NamedTuple):
    """A fact as it is looked for. `kind`: see `values`. `values`: what the spellings say, none of the kind `text`.

    `words`: spellings that are looked for as they stand, as whole words. `rejects`: what voids a find that it touches.
    `owner`: the names of what the fact must be said of, as one of a pair; then `rejects` are those of the other owners.
    `written`: the first spelling of a value. `language`: whose own rules it is read by, beside those of every text;
    empty for none.
    """

    kind: str
    values: tuple[Any, ...]
    words: tuple[Word, ...]
    rejects: tuple[Word, ...] = ()
    owner: tuple[Word, ...] = ()
    written: str = ""
    language: str = ""


class Find(NamedTuple):
    """Where a fact stands in a text: code points `start` up to, but not including, `end`."""

    start: int
    end: int


def spaced(folded: str) -> str:
    """A folded text with a space for every hyphen and dash, as spellings are compared; places stay as they are."""
    if "-" in folded:
        folded = folded.replace("-", " ")
    if not folded.isascii():
        for dash in _DASHES:
            if dash in folded:
                folded = folded.replace(dash, " ")
    return folded


@lru_cache(maxsize=65_536)
def as_word(keyword: str, language: str = "") -> Word:
    """What is looked for in folded, spaced text to find a spelling. `language`: as of `Group`."""
    text = spaced(in_letters_of(fold(keyword), language))
    return Word(text, text[:1] in _ALPHANUMERIC, text[-1:] in _ALPHANUMERIC)


@lru_cache(maxsize=65_536)
def group_of(
    keywords: tuple[str, ...], kind: str | None = None, rejects: tuple[str, ...] = (), language: str = ""
) -> Group:
    """A keyword group as it is looked for. Without a `kind`, the first spelling tells it. `language`: as of `Group`.

    Its first spelling states the value; spellings that say something else are looked for as they stand.
    """
    folded = [fold(keyword) for keyword in keywords]
    kind = kind or (kind_of(folded[0]) if folded else TEXT)
    values = parsed(folded[0], kind, language) if folded else frozenset()
    names = kind.removeprefix(PAIR).split("|") if kind.startswith(PAIR) else []
    owner = tuple(as_word(name, language) for name in names)
    if not values:
        kind = TEXT
    words = [
        as_word(keyword, language)
        for keyword, text in zip(keywords, folded, strict=True)
        if not any(is_same(found, wanted) for found in parsed(text, kind, language) for wanted in values)
    ]
    return Group(
        kind,
        tuple(sorted(values)),
        tuple(words),
        tuple(as_word(word, language) for word in rejects),
        owner,
        folded[0] if values else "",
        language,
    )


def finds(folded: str, group: Group) -> Iterator[Find]:
    """Every place where a folded text states a fact: its spellings first, then its value in other forms."""
    text = spaced(in_letters_of(folded, group.language))
    for word in group.words:
        place = find_word(text, word)
        while place >= 0:
            yield Find(place, place + len(word.text))
            place = find_word(text, word, place + 1)
    if group.values:
        for value, start, end in values_in(folded, group.kind, group.language):
            if any(is_same(value, wanted) for wanted in group.values):
                yield Find(start, end)


def holds_group(folded: str, keywords: Sequence[str], kind: str | None = None, language: str = "") -> bool:
    """Whether a folded text states a fact, given as a keyword group. `language`: as of `Group`."""
    return next(finds(folded, group_of(tuple(keywords), kind, (), language)), None) is not None


def holds(folded: str, keyword: str, kind: str | None = None) -> bool:
    """Whether a folded text states a fact, given in one spelling, in this or any other spelling of its value.

    Where a spelling begins or ends with an ASCII letter or digit, none may stand right beside it ("art" is not in
    "heart"); Chinese has no spaces, so its characters need no such edge. Hyphens are spaces.
    """
    group = group_of((keyword,), kind)
    if group.values:
        found = values_held(folded, group.kind)
        return any(is_same(value, wanted) for value in found for wanted in group.values)
    text = spaced(folded)
    return any(find_word(text, word) >= 0 for word in group.words)


def stated(holds_word: Callable[[str], bool], keywords: Sequence[Sequence[str]]) -> list[str]:
    """The spellings of keyword groups that a text states, one for each value. `holds_word`: `holds` of that text."""
    found: dict[object, str] = {}
    for keyword in (keyword for group in keywords for keyword in group):
        # Of a keyword that does not stand there, drawn at random and never seen again, the value need not be read.
        if holds_word(keyword):
            found.setdefault(group_of((keyword,)).values or keyword, keyword)
    return list(found.values())


def find_word(text: str, word: Word, start: int = 0) -> int:
    """Where folded, spaced text first holds a word, from `start` on; -1 if nowhere."""
    wanted, left, right = word
    place = text.find(wanted, start) if wanted else -1
    while place >= 0:
        end = place + len(wanted)
        if not (
            (left and place and text[place - 1] in _ALPHANUMERIC) or (right and text[end : end + 1] in _ALPHANUMERIC)
        ):
            return place
        place = text.find(wanted, place + 1)
    return -1
