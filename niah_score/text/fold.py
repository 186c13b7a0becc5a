"""Folds texts so that those that differ only in width, case, script, apostrophes or digit groups compare equal.

Folded texts are read in windows, so that the time grows with the text and no faster, whatever a pattern costs on one.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable
from functools import cache
from typing import Any, NamedTuple, cast


class Reading(NamedTuple):
    """A value of any kind, and its place in a text: code points `start` up to, but not including, `end`."""

    value: Any
    start: int
    end: int


# Longer texts, in code points, are read in windows: `_OWN` of their own, and `_MARGIN` on either side, which is more
# than values are long and more than their readers look around.
WHOLE = 1_000
_OWN, _MARGIN = 720, 128


def in_windows(text: str, read: Callable[[str], Iterable[Reading]]) -> list[Reading]:
    """What a reader finds in a text: values, with their starts and ends.

    In a long text, each window keeps the values that begin in its own part, so that none is read twice.
    """
    if len(text) <= WHOLE:
        return list(read(text))
    found: list[Reading] = []
    known: dict[tuple[str, int, int], list[Reading]] = {}
    own = 0
    while own < len(text):
        first, end = max(0, own - _MARGIN), own + _step(text, own)
        # A model that loops repeats its windows.
        key = (text[first : end + _MARGIN], own - first, end - first)
        if key not in known:
            known[key] = [one for one in read(key[0]) if key[1] <= one.start < key[2]]
        found += [Reading(value, first + start, first + stop) for value, start, stop in known[key]]
        own = end
    return found


def _step(text: str, own: int) -> int:
    """The size of a window's own part; if the text repeats itself here, a multiple of what it repeats."""
    period = text.find(text[own : own + _MARGIN], own + 1, own + _OWN + _MARGIN) - own
    return _OWN // period * period if period > 0 else _OWN


class _LatePattern:
    """A stand-in for a pattern. Each method is stored as an attribute on first use, so that later calls are fast."""

    def __init__(self, pattern: str, flags: int) -> None:
        self.pattern, self.flags = pattern, flags

    def __getattr__(self, name: str) -> Any:
        # Called only for attributes not stored yet; re caches compiled patterns.
        value = getattr(re.compile(self.pattern, self.flags), name)
        setattr(self, name, value)
        return value


def late(pattern: str, flags: int = 0) -> re.Pattern[str]:
    """`re.compile`, done when the pattern is first used; an invalid pattern fails only then."""
    return cast("re.Pattern[str]", _LatePattern(pattern, flags))


_HAN = re.compile("[\u3400-\u9fff]")


def simplified(text: str) -> str:
    """A text with each traditional character replaced by the simplified one that OpenCC maps it to on its own."""
    if text.isascii() or not _HAN.search(text):
        return text
    return text.translate(simplified_characters()) if _traditional().search(text) else text


@cache
def simplified_characters() -> dict[int, str]:
    """The simplified form of every traditional character from U+3400 to U+9FFF, by code point."""
    import opencc

    characters = [chr(point) for point in range(0x3400, 0xA000)]
    # On separate lines they are converted as characters, not as parts of words.
    converted = opencc.OpenCC("t2s").convert("\n".join(characters)).split("\n")
    return {
        ord(one): other for one, other in zip(characters, converted, strict=True) if one != other and len(other) == 1
    }


@cache
def _traditional() -> re.Pattern[str]:
    return re.compile(f"[{''.join(map(chr, simplified_characters()))}]")


# The comma comes first: patterns that begin with a literal are many times faster than those with a look-behind.
_DIGIT_GROUPS = re.compile(r",(?<=\d,)(?=\d{3}(?!\d))")

# NFKC decomposes first, so replacing a character with its own decomposition beforehand changes nothing. These few are
# usually all that needs folding in Chinese text; the rest is NFKC already, which the pattern `_MAY_CHANGE` finds out
# five times faster than normalising does (20 microseconds for 200 characters).
_FULL_WIDTH = tuple((char, unicodedata.normalize("NFKC", char)) for char in "：；！？（）％")
# Stands for a full-width comma while digits are grouped: between ASCII digits it separates numbers (283，417).
SEPARATOR = "\ue000"
_SEPARATED = re.compile(f"{SEPARATOR}(?<=\\d{SEPARATOR})(?=\\d{{3}}(?!\\d))")
_FULL_WIDTH_GROUPS = re.compile("(?<=[\uff10-\uff19])\uff0c(?=[\uff10-\uff19]{3}(?![\uff10-\uff19]))")
# Arabic is compared without vowel signs and stretched letters, with one form of alef, and with Arabic and Persian
# digits as ASCII digits.
_ARABIC = re.compile("[\u0610-\u061a\u0622\u0623\u0625\u0640\u064b-\u066c\u0670\u0671\u06d6-\u06ed\u06f0-\u06f9]")
_ARABIC_SIGNS = late("[\u0610-\u061a\u0640\u064b-\u065f\u0670\u06d6-\u06dc\u06df-\u06e4\u06e7\u06e8\u06ea-\u06ed]")
_ARABIC_GROUPS = late("(?<=\\d)\u066c(?=\\d{3}(?!\\d))")
_ARABIC_LETTERS = str.maketrans(
    dict.fromkeys("\u0622\u0623\u0625\u0671", "\u0627")
    | {chr(first + digit): str(digit) for first in (0x660, 0x6F0) for digit in range(10)}
    | {"\u066b": "."}
)
_MARKED = re.compile("[\u00b2\u00b3\u00b9\u2070-\u2079\u2460-\u2473\u2488-\u249b]")
# A mark of a footnote directly after a word or number (417¹); but not the exponent of a unit (m²).
_FOOTNOTE = late(
    "(?<=\\S)(?<!(?<![A-Za-z])m)(?<!(?<![A-Za-z])[ckdm]m)(?<!(?<![A-Za-z])ft)[\u00b2\u00b3\u00b9\u2070\u2074-\u2079]+"
)
# 1 in a circle, or with its full stop, numbers an item, and is not a digit of the number after it.
_ITEM_NUMBER = late("[\u2460-\u2473\u2488-\u249b](?=[\\w\u00a3$\u20ac\u00a5])")
_ACCENTED = re.compile("[\u00e0-\u024f\u0300-\u036f\u1e00-\u1eff]")
_LATIN_MARKS = late("(?<=[a-z])[\u0300-\u036f]+")
_MAY_CHANGE = re.compile(r"[^\x00-\x7f\u4e00-\u9fff、。《》〈〉「」『』【】“”‘’—·]")
# Texts with more characters and at most this many bytes per character are folded line by line.
_LONG, _MOSTLY_ASCII = 20_000, 1.02


def fold(text: str) -> str:
    """Fold a text: NFKC (including full width), case folded, simplified script, straight apostrophes.

    Runs of white space become one space, and 1,024 becomes 1024. Latin letters lose their accents, and Arabic its vowel
    signs; ٤١٧ becomes 417. Marks of footnotes (417¹) are left out.
    """
    if text.isascii():
        text = text.lower()
    elif len(text) > _LONG and "\n" in text and len(text.encode(errors="surrogatepass")) < _MOSTLY_ASCII * len(text):
        # Folding never crosses a line end, and most lines are ASCII.
        return " ".join(filter(None, map(fold, text.split("\n"))))
    else:
        if "\uff0c" in text:
            text = _FULL_WIDTH_GROUPS.sub("", text).replace("\uff0c", SEPARATOR)
        for char, narrow in _FULL_WIDTH:
            if char in text:
                text = text.replace(char, narrow)
        if _MAY_CHANGE.search(text):
            text = without_stacked_marks(text)
            if _MARKED.search(text):
                text = _ITEM_NUMBER.sub(_numbered, _FOOTNOTE.sub("", text))
            text = unicodedata.normalize("NFKC", text)
        text = simplified(text.casefold())
        if _ARABIC.search(text):
            text = arabic_letters(_ARABIC_GROUPS.sub("", _ARABIC_SIGNS.sub("", text)))
        if "\u2019" in text or "\u2018" in text:
            text = text.replace("\u2019", "'").replace("\u2018", "'")
        if not unicodedata.is_normalized("NFKC", text):
            text = unicodedata.normalize("NFKC", text)  # case folding decomposes some letters
        text = without_accents(text)
    # Printable ASCII has no white space except spaces; checking this takes a tenth of the time of splitting.
    is_plain = text.isascii() and text.isprintable() and "  " not in text
    text = text.strip(" ") if is_plain else " ".join(text.split())
    if "," in text:
        text = _DIGIT_GROUPS.sub("", text)
    if not text.isascii() and SEPARATOR in text:
        text = _SEPARATED.sub(", ", text).replace(SEPARATOR, ",")
    return text


def without_stacked_marks(text: str) -> str:
    """A text with at most 30 combining marks in a row: composing takes the square of their number (Unicode, UAX 15)."""
    # Of so many marks in a row, one is at a multiple of 30; to look there takes a thirtieth of the time.
    return _stacked().sub(r"\1", text) if any(map(unicodedata.combining, text[::30])) else text


@cache
def _stacked() -> re.Pattern[str]:
    marks = "".join(char for char in map(chr, range(0x300, 0x20000)) if unicodedata.combining(char))
    return re.compile(f"([{marks}]{{30}})[{marks}]+")


def without_accents(text: str) -> str:
    """A lower-case text in NFC without the accents of Latin letters; of its precomposed letters, none changes place."""
    if not _ACCENTED.search(text):
        return text
    return _LATIN_MARKS.sub("", text.translate(_latin_letters()))


@cache
def _latin_letters() -> dict[int, str]:
    """The letter without accents of each lower-case Latin letter that has any, by code point, except ñ."""
    bases = {
        point: unicodedata.normalize("NFD", chr(point))[0] for point in (*range(0xE0, 0x250), *range(0x1E00, 0x1F00))
    }
    plain = {point: base for point, base in bases.items() if "a" <= base <= "z"}
    del plain[ord("ñ")]
    return plain | {ord(one): other for one, other in zip("đħłøŧ", "dhlot", strict=True)}


def _numbered(match: re.Match[str]) -> str:
    return f"({unicodedata.normalize('NFKC', match[0]).strip('.')})"


def arabic_letters(text: str) -> str:
    """A text with one form of alef and ASCII digits; positions do not change."""
    return text.translate(_ARABIC_LETTERS)


def without_spaces(text: str) -> str:
    """The text without white space (what Python's \\s matches)."""
    return text.replace(" ", "") if text.isascii() and text.isprintable() else "".join(text.split())
