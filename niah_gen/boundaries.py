"""Finds where sentences end: the only places where a needle may stand without breaking the text around it.

A boundary lies right after closing punctuation and the quotes or brackets that close with it, before white space or,
in Chinese, anywhere. The end of a paragraph that closes without punctuation is none.
"""

from __future__ import annotations

import re

_CLOSERS = "\"'\u2019\u201d)\\]\u300d\u300f\uff09\u300b\u3011"
_ENGLISH_END = re.compile(rf"[.!?\u2026]+[{_CLOSERS}]*(?=\s|$)")
_CHINESE_END = re.compile(rf"(?:[\u3002\uff01\uff1f\uff1b]|\u2026\u2026)+[{_CLOSERS}]*")
_ABBREVIATION = re.compile(
    r"(?:\b(?:Mr|Mrs|Ms|Dr|Prof|Rev|St|Sr|Jr|vs|No|Nos|Fig|Vol|pp|cf|al|ca|approx|Inc|Ltd|Co|Corp)"
    r"|\b[A-Z]|\b(?:e\.g|i\.e|a\.m|p\.m|U\.S|U\.K))\.$"
)
_LONGEST_ABBREVIATION = 8


def sentence_ends(text: str) -> list[int]:
    """Character offsets right after each sentence of a text, ascending; without 0."""
    ends = {match.end() for match in _CHINESE_END.finditer(text)}
    for match in _ENGLISH_END.finditer(text):
        if not _is_abbreviation(text, match):
            ends.add(match.end())
    return sorted(ends)


def _is_abbreviation(text: str, match: re.Match[str]) -> bool:
    if match.group() != ".":
        return False
    following = text[match.end() : match.end() + 2].lstrip()
    if following[:1].islower():
        return True
    return _ABBREVIATION.search(text[max(0, match.end() - _LONGEST_ABBREVIATION) : match.end()]) is not None
