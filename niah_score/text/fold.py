"""Folds text so that two spellings of one fact compare equal, and finds keywords in folded text.

The scorer looks for keywords in answers and the generator for leaks in haystacks by these same rules: what counts as
found for one counts for the other.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from typing import NamedTuple

_ALPHANUMERIC = frozenset("abcdefghijklmnopqrstuvwxyz0123456789")

# The comma first: a pattern that begins with a literal is searched for many times faster than a look-behind.
DIGIT_GROUPS = re.compile(r",(?<=\d,)(?=\d{3}(?!\d))")

# NFKC decomposes first, so replacing a character by its own decomposition beforehand changes nothing. These few are
# mostly all that Chinese text has to fold; what is left is NFKC already, which the pattern tells five times faster than
# normalising does (20 microseconds for 200 characters).
_FULL_WIDTH = tuple((char, unicodedata.normalize("NFKC", char)) for char in "，：；！？（）％")
_MAY_CHANGE = re.compile(r"[^\x00-\x7f\u4e00-\u9fff、。《》〈〉「」『』【】“”‘’—·]")


def fold(text: str) -> str:
    """NFKC (which also folds full width), case folded, runs of white space one space, 1,024 as 1024."""
    if text.isascii():
        text = text.lower()
    else:
        for char, narrow in _FULL_WIDTH:
            if char in text:
                text = text.replace(char, narrow)
        if _MAY_CHANGE.search(text):
            text = unicodedata.normalize("NFKC", text)
        text = text.casefold()
        if not unicodedata.is_normalized("NFKC", text):
            text = unicodedata.normalize("NFKC", text)  # case folding takes some letters apart
    # Printable ASCII has no white space but spaces; seeing that costs a tenth of splitting.
    is_plain = text.isascii() and text.isprintable() and "  " not in text
    text = text.strip(" ") if is_plain else " ".join(text.split())
    return DIGIT_GROUPS.sub("", text) if "," in text else text


def without_spaces(text: str) -> str:
    """The text without white space (what Python's \\s matches)."""
    return text.replace(" ", "") if text.isascii() and text.isprintable() else "".join(text.split())


def holds(folded: str, keyword: str) -> bool:
    """Whether folded text holds a keyword as whole words.

    Where the keyword begins or ends with an ASCII letter or digit, none may stand right beside it ("art" is not in
    "heart"); Chinese has no spaces, so its characters need no such edge.
    """
    return find_word(folded, as_word(keyword)) >= 0


class Word(NamedTuple):
    """A keyword folded; `left` and `right`: whether it ends there with an ASCII letter or digit."""

    text: str
    left: bool
    right: bool


@lru_cache(maxsize=65_536)
def as_word(keyword: str) -> Word:
    """What is looked for in folded text to find a keyword."""
    text = fold(keyword)
    return Word(text, text[:1] in _ALPHANUMERIC, text[-1:] in _ALPHANUMERIC)


def find_word(folded: str, word: Word) -> int:
    """Where folded text first holds a word, -1 if nowhere."""
    text, left, right = word
    place = folded.find(text) if text else -1
    while place >= 0:
        end = place + len(text)
        if not (
            (left and place and folded[place - 1] in _ALPHANUMERIC)
            or (right and folded[end : end + 1] in _ALPHANUMERIC)
        ):
            return place
        place = folded.find(text, place + 1)
    return -1
