"""Finds where sentences or words end, as character offsets: the only places where a needle may stand.

A sentence ends right after closing punctuation and the quotes or brackets that close with it, before white space or, in
Chinese, anywhere. A paragraph that closes without punctuation ends no sentence.
"""

from __future__ import annotations

import re
import unicodedata

BOUNDARIES = ("sentence", "word")
# What joins a sentence to the one before it.
JOINERS = {"en": " ", "zh": ""}

_CLOSERS = "\"'\u2019\u201d)\\]\u300d\u300f\uff09\u300b\u3011"
# Only from the beginning of a run of marks: from each of them, long runs would take quadratic time.
_ENGLISH_END = re.compile(rf"(?<![.!?\u2026])[.!?\u2026]+[{_CLOSERS}]*(?=\s|$)")
# No semicolon: what follows one is still the same sentence.
_CHINESE_MARKS = "\u3002\uff01\uff1f\u2026"
_CHINESE_END = re.compile(rf"(?:[\u3002\uff01\uff1f]|\u2026\u2026)+[{_CLOSERS}]*")
_NO_END = re.compile(
    r"(?:\b(?:Mr|Mrs|Ms|Dr|Prof|Rev|St|Sr|Jr|vs|No|Nos|Fig|Vol|pp|cf|al|ca|approx|Inc|Ltd|Co|Corp)"
    r"|\b[A-Z]|\b(?:e\.g|i\.e|a\.m|p\.m|U\.S|U\.K)"
    # The number of an item in a list.
    r"|(?:\A|\n)[ \t]*(?:\d{1,3}|[a-z]))\.$"
)
_LONGEST_NO_END = 12
_WORD_END = re.compile(r"(?<=\S)(?=\s|$)")
# A needle before one of these would part it from its word.
_CLINGING = ("Po", "Pe", "Pf", "Pd", "Sk", "Mn", "Mc", "Me")


def sentence_ends(text: str) -> list[int]:
    """Character offsets right after each sentence of a text, ascending; without 0."""
    ends: set[int] = set()
    # Looking for single characters is far faster than looking for any of several.
    if any(mark in text for mark in _CHINESE_MARKS):
        ends |= {match.end() for match in _CHINESE_END.finditer(text)}
    ends |= {match.end() for match in _ENGLISH_END.finditer(text) if _is_end(text, match)}
    return sorted(ends)


def _is_end(text: str, match: re.Match[str]) -> bool:
    """Whether a sentence could end here: not if its line goes on in small letters, nor after an abbreviation."""
    following = text[match.end() : match.end() + 2]
    if "\n" not in following and following.lstrip()[:1].islower():
        return False
    return match.group() != "." or not _NO_END.search(text, max(0, match.end() - _LONGEST_NO_END), match.end())


def word_ends(text: str, language: str) -> list[int]:
    """Character offsets right after each word of a text, ascending; without 0.

    English words end before white space. Chinese ones are jieba's, together with the punctuation that follows them.
    """
    if language != "zh":
        return [match.start() for match in _WORD_END.finditer(text)]
    import logging

    import jieba

    jieba.setLogLevel(logging.WARNING)
    ends: list[int] = []
    at = 0
    for word in jieba.cut(text):
        if at and _is_gap(text[at - 1], word[0]):
            ends.append(at)
        at += len(word)
    return [*ends, at] if at and not text[-1].isspace() else ends


def _is_gap(left: str, right: str) -> bool:
    """Whether something may be put between two characters: not after white space, nor before a word's punctuation."""
    if left.isspace() or unicodedata.category(left) in ("Ps", "Pi"):
        return False
    return unicodedata.category(right) not in _CLINGING
