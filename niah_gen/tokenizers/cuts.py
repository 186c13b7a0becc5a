"""Finds the safe cuts of a text: places where encoding both sides separately gives the tokens of the whole.

Between a letter or digit and one of `_BREAKERS` every tiktoken pattern ends a piece: no alternative matches a letter or
digit followed by such a character, none looks behind, and the letter or digit keeps every look-ahead before it from
seeing past the cut. So the tokens between two safe cuts of a text stay the same whatever is spliced outside them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from niah_gen.tokenizers.find import Ints

# Ranges whose characters are all letters or digits in every Unicode version; there are more such characters.
_WORD_RANGES = (
    ("0", "9"), ("A", "Z"), ("a", "z"),
    ("\u00c0", "\u00d6"), ("\u00d8", "\u00f6"), ("\u00f8", "\u02af"), ("\u0391", "\u03a1"),
    ("\u03a3", "\u03f5"), ("\u0410", "\u044f"), ("\u3041", "\u3096"), ("\u30a1", "\u30fa"), ("\u4e00", "\u9fa5"),
    ("\uac00", "\ud7a3"), ("\u05d0", "\u05ea"), ("\u0621", "\u063a"), ("\u0641", "\u064a"), ("\u0905", "\u0939"),
    ("\u0e01", "\u0e2e"),
)  # fmt: skip
# None is a letter, mark, digit or the apostrophe of a contraction.
_BREAKERS = (
    ' \n\t\r.,;:!?()[]{}"/-\u2013\u2014\u2026\u201c\u201d\u2018'
    "\u3001\u3002\u300a\u300b\u300c\u300d\uff01\uff08\uff09\uff0c\uff1a\uff1b\uff1f"
)
# For short ASCII texts, a search is faster than arrays.
_ASCII_CUT = re.compile("[0-9A-Za-z](?=[" + re.escape("".join(filter(str.isascii, _BREAKERS))) + "])")
_SHORT = 400


def _table(ranges: Iterable[tuple[str, str]]) -> npt.NDArray[np.bool_]:
    table = np.zeros(0x10000, dtype=np.bool_)
    for first, last in ranges:
        table[ord(first) : ord(last) + 1] = True
    return table


_IN_WORD = _table(_WORD_RANGES)
_IS_BREAKER = _table((char, char) for char in _BREAKERS)


def cut_points(text: str) -> Ints:
    """Code points before which a text has its safe cuts, ascending."""
    if len(text) < _SHORT and text.isascii():
        return np.array([match.end() for match in _ASCII_CUT.finditer(text)], dtype=np.int64)
    points = np.frombuffer(text.encode("utf-32-le"), dtype=np.uint32)
    if len(points) < 2:
        return np.zeros(0, dtype=np.int64)
    in_table = np.minimum(points, 0xFFFF)  # U+FFFF is in neither table
    return np.flatnonzero(_IN_WORD[in_table[:-1]] & _IS_BREAKER[in_table[1:]]) + 1


def byte_offsets(points: npt.NDArray[np.uint32], chars: Ints) -> Ints:
    """Character offsets of a text, given as code points, as offsets into its UTF-8 bytes."""
    wide = np.flatnonzero(points >= 0x80)
    if not len(wide):
        return chars
    more = points[wide]
    extra = 1 + (more >= 0x800).astype(np.int64) + (more >= 0x10000)
    before: Ints = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(extra)])
    return np.add(chars, before[np.searchsorted(wide, chars)])
