"""Counts the items of an answer's lists that were not asked for: coal, in "kapok, copra and coal".

A list is a sentence in which at least two parts between commas and conjunctions hold a fact, or at least two lines with
bullets or numbers of which any holds one. A part counts as an item if it is short and begins like one; explanations ("a
saddler's daughter", "in that order") do not. This heuristic errs on the side of counting too few.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import cache

from niah_score.text import Group, finds, fold
from niah_score.text.phrases import phrases_of

_SAID = phrases_of("invented")
_BULLET = re.compile(r"^\s*(?:[-*\u2022\u00b7\u2013]|\(?\d{1,2}[.)\u3001\uff0e](?!\d))\s*(?=\S)")
# The signs of brackets, and what may be in them: also brackets, which may again hold brackets.
OPENING, CLOSING, _NO_BRACKET = r"[(\[（【]", r"[)\]）】]", r"[^()\[\]（）【】\n]"
IN_BRACKETS = rf"(?:{_NO_BRACKET}|{OPENING}(?:{_NO_BRACKET}|{OPENING}{_NO_BRACKET}*+{CLOSING})*+{CLOSING})"
_ASIDE = re.compile(rf"{OPENING}{IN_BRACKETS}*+{CLOSING}")
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+|[。！？\n;；]|:\s|：")
_CHINESE = re.compile("[\u3400-\u9fff]")
_INTRODUCTION = 2  # short parts before the first fact of a list
_INDEX = re.compile(r"[\W\d]{0,2}\W*")  # the number of a row or an item, or no word at all
_TERSE = 5  # words of a sentence that is an item, and half the characters of a Chinese one
_LONGEST = {True: 4, False: 8}  # words of an item in Latin script, characters of one in Chinese


# So many short parts that state nothing known are no explanation: the answer names whatever might be asked.
MOST_UNKNOWN = 7


def invented_items(answer: str, named: Sequence[Group]) -> int:
    """Count the items of an answer's lists that state none of some facts. `named`: the facts."""
    holds = _states_any(named)
    lines = [_ASIDE.sub("", line) for line in answer.splitlines() if line.strip()]
    bullets = [line for line in lines if _BULLET.match(line)]
    listed = [fold(_BULLET.sub("", line)) for line in bullets]
    if len(listed) < 2 or not any(map(holds, listed)):
        listed = []
    count = sum(_is_item(item) for item in listed if not holds(item))
    running = [line for line in lines if not (listed and _BULLET.match(line))]
    return count + sum(_in_sentence(part, holds) for line in running for part in _SENTENCE_END.split(line) if part)


def _states_any(named: Sequence[Group]) -> Callable[[str], bool]:
    @cache  # a model that repeats itself lists the same items
    def holds(folded: str) -> bool:
        return any(next(finds(folded, group), None) is not None for group in named)

    return holds


def _in_sentence(sentence: str, holds: Callable[[str], bool]) -> int:
    parts = [fold(part) for part in _SAID.separator.split(sentence)]
    held = list(map(holds, parts))
    if sum(held) < 2:
        return 0
    # A little before the first fact introduces the list.
    first = held.index(True)
    if sum(map(_is_item, parts[:first])) > _INTRODUCTION:
        first = 0
    return sum(_is_item(part) for part, is_held in zip(parts[first:], held[first:], strict=True) if not is_held)


def _is_item(folded: str) -> bool:
    item = _SAID.opening.sub("", folded.strip(" .*_\"'`\u201c\u201d\u300a\u300b")).strip(" .*_\"'`")
    if not item or _SAID.no_item.match(item) or _SAID.verb.search(item):
        return False
    is_latin = item.isascii()
    return len(item.split() if is_latin else item) <= _LONGEST[is_latin]


def unknown_items(answer: str, named: Sequence[Group], *, beside: bool) -> int:
    """Count an answer's sentences of few words, and short parts of others, that state none of some facts; 0 if few.

    Words in a row without any that a sentence needs ("the", "is") count as names of two words each, or of one
    if there are digits. `beside`: also those in a sentence with a fact.
    """
    sentences = [
        (sentence, items)
        for line in answer.splitlines()
        for sentence in _SENTENCE_END.split(_ASIDE.sub("", _BULLET.sub("", line)))
        if (items := list(_short_parts(sentence)))
    ]
    if sum(len(items) for _, items in sentences) <= MOST_UNKNOWN:
        return 0
    holds = _states_any(named)
    unknown = sum(
        not holds(item) for sentence, items in sentences if beside or not holds(fold(sentence)) for item in items
    )
    return unknown if unknown > MOST_UNKNOWN else 0


def _short_parts(sentence: str) -> Iterator[str]:
    folded = fold(sentence).strip(" .|")
    words = [] if _CHINESE.search(folded) else folded.split()
    longest = _TERSE if words else 2 * _TERSE
    if (
        any(map(str.isalnum, folded))
        and "|" not in folded
        and not _SAID.verb.search(folded)
        and len(words or folded) <= longest
    ):
        yield folded
    elif len(words) > _TERSE and not _SAID.of_sentences.search(folded):
        each = 1 if any(map(str.isdigit, folded)) else 2
        yield from (" ".join(words[place : place + each]) for place in range(0, len(words), each))
    else:
        # Chinese prose has many short clauses between commas.
        parts = (
            re.split(r"[、|\s]", sentence)
            if _CHINESE.search(sentence)
            else _SAID.separator.split(sentence.replace("|", ", "))
        )
        items = (fold(part) for part in parts)
        yield from (item for item in items if not _INDEX.fullmatch(item) and _is_item(item))
