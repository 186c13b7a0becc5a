"""Finds a fact in folded text by its keyword group: in any of its spellings, or as the value that they spell.

The scorer looks for facts in answers and the generator for leaks in haystacks, by the same rules, so that both find the
same. What voids a find in an answer (negations, wrong units) is in `voiding`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from itertools import chain, islice, product
from typing import Any, NamedTuple

from niah_score.text.fold import Reading, fold
from niah_score.text.values import PAIR, TEXT, in_letters_of, is_same, kind_of, parsed, places_of, values_held

_NAME = re.compile("[\u3400-\u9fff]{2,4}")
# Letters enough for two syllables, so that there may be a name.
_LETTERS = re.compile("[a-z]{2}.?[a-z]")
# Characters with several readings have that many spellings together at the most.
_MOST_READINGS = 16


@lru_cache(maxsize=8_192)
def _spellings(name: str) -> tuple[str, ...]:
    """The spellings of a Chinese name in Latin letters.

    The surname, of one character or two, stands before or after the given name, whose syllables may stand apart.
    """
    from pypinyin import Style, pinyin

    readings = [
        dict.fromkeys(form for one in of_char for form in (one, one.replace("v", "u")))
        for of_char in pinyin(name, style=Style.NORMAL, heteronym=True)
    ]
    forms: dict[str, None] = {}
    for syllables in islice(product(*readings), _MOST_READINGS):
        for cut in (1, 2) if len(syllables) > 2 else (1,):
            surname = "".join(syllables[:cut])
            for given in ("".join(syllables[cut:]), " ".join(syllables[cut:])):
                forms |= dict.fromkeys((f"{surname} {given}", f"{given} {surname}"))
    return tuple(forms)


_ALPHANUMERIC = frozenset("abcdefghijklmnopqrstuvwxyz0123456789")
_DASHES = "\u2010\u2012\u2013\u2014"


class Group(NamedTuple):
    """A fact prepared for searching. `kind`: see `values`. `values`: those of the spellings; none for the kind `text`.

    `words`: spellings to find literally, as whole words; `names`: those that may be Chinese names. `rejects`: words
    that void a find they touch. `owner`: for one of a pair, the names of what the fact must be said of; `rejects` are
    then the names of the other owners. `language`: the language whose own rules are used in addition to those for
    every text; empty for none.
    """

    kind: str
    values: tuple[Any, ...]
    words: tuple[str, ...]
    rejects: tuple[str, ...] = ()
    owner: tuple[str, ...] = ()
    language: str = ""
    names: tuple[str, ...] = ()


def spaced(folded: str) -> str:
    """A folded text with a space for every hyphen and dash, as compared with spellings; positions do not change."""
    if "-" in folded:
        folded = folded.replace("-", " ")
    if not folded.isascii():
        for dash in _DASHES:
            if dash in folded:
                folded = folded.replace(dash, " ")
    return folded


# The same text is often searched for several facts, one after the other.
@lru_cache(maxsize=64)
def _searched(folded: str, language: str) -> str:
    return spaced(in_letters_of(folded, language))


@lru_cache(maxsize=65_536)
def as_word(keyword: str, language: str = "") -> str:
    """A spelling folded and spaced, for searching in such text. `language`: as in `Group`."""
    return spaced(in_letters_of(fold(keyword), language))


@lru_cache(maxsize=65_536)
def group_of(
    keywords: tuple[str, ...], kind: str | None = None, rejects: tuple[str, ...] = (), language: str = ""
) -> Group:
    """A keyword group prepared for searching. `kind`: by default that of the first spelling. `language`: as in `Group`.

    The first spelling states the value; spellings that say something else are found literally.
    """
    folded = [fold(keyword) for keyword in keywords]
    kind = kind or (kind_of(folded[0]) if folded else TEXT)
    values = parsed(folded[0], kind, language) if folded else frozenset()
    owner = kind.removeprefix(PAIR).split("|") if kind.startswith(PAIR) else []
    kind = kind if values else TEXT
    words = [
        keyword
        for keyword, text in zip(keywords, folded, strict=True)
        if not any(is_same(value, wanted) for value in parsed(text, kind, language) for wanted in values)
    ]
    found, rejected, owners = (tuple(as_word(word, language) for word in each) for each in (words, rejects, owner))
    return Group(kind, tuple(sorted(values)), found, rejected, owners, language, tuple(filter(_NAME.fullmatch, found)))


def finds(folded: str, group: Group) -> Iterator[Reading]:
    """The places where a folded text states a fact: literal spellings first, then its value in any form."""
    text = _searched(folded, group.language)
    # Chinese names may be in Latin letters.
    names = chain.from_iterable(map(_spellings, group.names)) if group.names and _LETTERS.search(text) else ()
    for word in (*group.words, *map(as_word, names)):
        place = find_word(text, word) if word in text else -1
        while place >= 0:
            yield Reading(word, place, place + len(word))
            place = find_word(text, word, place + 1)
    if group.values:
        places = places_of(folded, group.kind, group.language)
        same = [places[value] for value in places if any(is_same(value, wanted) for wanted in group.values)]
        yield from sorted(chain.from_iterable(same), key=lambda value: value[1:])


def holds_group(folded: str, keywords: Sequence[str], kind: str | None = None, language: str = "") -> bool:
    """Whether a folded text states a fact, given as a keyword group. `language`: as in `Group`."""
    return next(finds(folded, group_of(tuple(keywords), kind, (), language)), None) is not None


def holds(folded: str, keyword: str, kind: str | None = None) -> bool:
    """Whether a folded text states a fact, given in one spelling, in that spelling or another one of its value.

    An end that is an ASCII letter or digit must not touch another one ("art" is not in "heart"); Chinese has no spaces,
    so its characters need no such edge. Hyphens count as spaces.
    """
    group = group_of((keyword,), kind)
    if group.values:
        values = values_held(folded, group.kind)
        return any(is_same(value, wanted) for value in values for wanted in group.values)
    text = spaced(folded)
    return any(find_word(text, word) >= 0 for word in group.words)


def stated(holds_word: Callable[[str], bool], keywords: Sequence[Sequence[str]]) -> list[str]:
    """The spellings of keyword groups that a text states, one for each value. `holds_word`: `holds` of that text."""
    spellings: dict[object, str] = {}
    for keyword in (keyword for group in keywords for keyword in group):
        # Parsing is only worth it for keywords that occur: most are drawn at random and never seen again.
        if holds_word(keyword):
            spellings.setdefault(group_of((keyword,)).values or keyword, keyword)
    return list(spellings.values())


def find_word(text: str, word: str, start: int = 0) -> int:
    """The first place of a word in folded, spaced text from `start` on; -1 if there is none."""
    left, right = word[:1] in _ALPHANUMERIC, word[-1:] in _ALPHANUMERIC
    place = text.find(word, start) if word else -1
    while place >= 0:
        after = text[place + len(word) : place + len(word) + 1]
        if not ((left and place and text[place - 1] in _ALPHANUMERIC) or (right and after in _ALPHANUMERIC)):
            return place
        place = text.find(word, place + 1)
    return -1
