"""Folds many texts at once, removes their white space, counts their characters and encodes them in small alphabets.

The results equal those of `fold` and `without_spaces` for each text.

The texts are joined in one array with a byte or two per character, and worked on as columns, which is several times
faster than strings. A text with a character that folds differently next to others is left to `niah_score.text`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Any

from niah_score.text.fold import SEPARATOR, fold, simplified_characters, with_grouped_digits, without_spaces

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Units = NDArray[np.uint16]
    Flags = NDArray[np.bool_]

# A reference and texts, with a byte per character or as strings; only good for comparing characters for equality.
Letters = tuple[Any, list[Any]]

_UNUSUAL = 0xFFFF
# The number of texts joined at once, so that the data stays in the processor's cache.
_BLOCK = 512
# With fewer texts per reference, a table of letters is not worth making.
WORTH = 16
# Blocks of characters most of which fold to one character, whatever is next to it: Latin, Greek and Cyrillic letters,
# punctuation, kana, full-width forms. They contain no combining marks.
_LETTERS = ((0x00, 0x300), (0x370, 0x482), (0x48A, 0x530), (0x2010, 0x2028), (0x3000, 0x302A), (0x3041, 0x3097),
            (0x30A1, 0x30FF), (0xFF01, 0xFF61))  # fmt: skip
# Ideographs and Hangul syllables fold to themselves, except traditional characters.
_FIXED = ((0x4E00, 0xA000), (0xAC00, 0xD7A4))
_ASCII_SPACES = bytes(point for point in range(128) if chr(point).isspace())


def fold_all(texts: Sequence[str]) -> list[str]:
    """`niah_score.text.fold` of every text."""
    return _each_kind(texts, fold, _fold_bytes, _fold_units)


def without_spaces_all(texts: Sequence[str]) -> list[str]:
    """`niah_score.text.without_spaces` of every text."""
    return _each_kind(texts, without_spaces, _pack_bytes, _pack_units)


def in_letters(reference: str, texts: list[str]) -> Letters:
    """Encode a reference and texts with one byte per character: a number for each of the reference's, 0 for all others.

    Comparing them for equality gives the same results, several times faster if the reference is not in Latin letters.
    They are returned unchanged if this is impossible or not worth it.
    """
    if len(texts) < WORTH or not reference or max(reference) <= "\xff":
        return reference, texts
    letters = _numbered(reference)
    if letters is None:
        return reference, texts
    spelt = _spelt(letters, texts).tobytes()
    ends = list(accumulate(map(len, texts), initial=0))
    return bytes(letters[char] for char in reference), [spelt[start:end] for start, end in pairwise(ends)]


def counted(chars: str, texts: list[str]) -> NDArray[np.int64] | None:
    """How often each of some distinct characters occurs in each text, one row per text; None if they are too many."""
    import numpy as np

    letters = _numbered(chars)
    if letters is None:
        return None
    lengths = np.fromiter(map(len, texts), np.int64, len(texts))
    width = len(letters) + 1
    places = np.repeat(np.arange(0, len(texts) * width, width), lengths)
    places += _spelt(letters, texts)
    return np.bincount(places, minlength=len(texts) * width).reshape(len(texts), width)[:, 1:]


def _numbered(chars: str) -> dict[str, int] | None:
    """A number for each character, from 1; None if they are too many for a byte, or beyond the basic plane."""
    letters = {char: number for number, char in enumerate(dict.fromkeys(chars), 1)}
    return None if len(letters) > 255 or max(letters, default="") >= "\uffff" else letters


def _spelt(letters: dict[str, int], texts: list[str]) -> NDArray[np.uint8]:
    """The numbers of the characters of all texts; 0 for characters without one."""
    import numpy as np

    table = np.zeros(0x10000, np.uint8)
    for char, number in letters.items():
        table[ord(char)] = number
    points = np.frombuffer("".join(texts).encode("utf-32-le", "surrogatepass"), np.uint32)
    return np.take(table, np.minimum(points, 0xFFFF))


def _each_kind(
    texts: Sequence[str],
    one: Callable[[str], str],
    of_bytes: Callable[[str], tuple[str, Sequence[int]]],
    of_units: Callable[[str], tuple[str, Sequence[int]]],
) -> list[str]:
    """Convert ASCII texts and others separately, each kind joined with a NUL after each text.

    `one`: the function for texts that cannot be converted that way.
    """
    plain = [text.isascii() for text in texts]
    made = {}
    for is_plain, of in ((True, of_bytes), (False, of_units)):
        chosen = [text for text, kind in zip(texts, plain, strict=True) if kind is is_plain]
        made[is_plain] = iter(
            [
                text
                for first in range(0, len(chosen), _BLOCK)
                for text in _block(chosen[first : first + _BLOCK], one, of)
            ]
        )
    return [next(made[kind]) for kind in plain]


def _block(texts: list[str], one: Callable[[str], str], of: Callable[[str], tuple[str, Sequence[int]]]) -> list[str]:
    joined = "\0".join((*texts, ""))
    if joined.count("\0") != len(texts):
        return list(map(one, texts))
    changed, strange = of(joined)
    pieces = [text.strip(" ") for text in changed.split("\0")]
    pieces.pop()
    for number in strange:
        pieces[number] = one(texts[number])
    return pieces


def _fold_bytes(joined: str) -> tuple[str, Sequence[int]]:
    return _tidied(joined.encode().translate(_lower()).decode()), ()


def _fold_units(joined: str) -> tuple[str, Sequence[int]]:
    import numpy as np

    folded = np.take(_folded(), np.frombuffer(joined.encode("utf-16-le", "surrogatepass"), np.uint16))
    strange = _marked(folded, folded == _UNUSUAL)
    return _tidied(folded.tobytes().decode("utf-16-le", "surrogatepass")), strange


def _pack_bytes(joined: str) -> tuple[str, Sequence[int]]:
    return joined.encode().translate(None, _ASCII_SPACES).decode(), ()


def _pack_units(joined: str) -> tuple[str, Sequence[int]]:
    import numpy as np

    units = np.frombuffer(joined.encode("utf-16-le", "surrogatepass"), np.uint16)
    return units[~np.take(_is_space(), units)].tobytes().decode("utf-16-le", "surrogatepass"), ()


def _tidied(joined: str) -> str:
    """A text with single spaces, and without commas as in 1,024."""
    while "  " in joined:
        joined = joined.replace("  ", " ")
    return with_grouped_digits(joined)


def _marked(units: Units, marks: Flags) -> Sequence[int]:
    """The numbers of the texts that contain a mark."""
    import numpy as np

    places = np.flatnonzero(marks)
    if not len(places):
        return ()
    numbers: list[int] = np.unique(np.searchsorted(np.flatnonzero(units == 0), places)).tolist()
    return numbers


@cache
def _lower() -> bytes:
    """What each ASCII character folds to; white space folds to a space."""
    folded = [fold(chr(point)) or " " for point in range(1, 128)]
    return bytes([0, *map(ord, folded), *range(128, 256)])


@cache
def _folded() -> NDArray[np.uint16]:
    """What each character folds to; _UNUSUAL if that is not one character, or depends on the characters around it."""
    import numpy as np

    table = np.full(0x10000, _UNUSUAL, np.uint16)
    for first, end in _FIXED:
        table[first:end] = np.arange(first, end)
    for first, end in _LETTERS:
        for point in range(first, end):
            single = fold(chr(point)) or " "
            if len(single) == 1:
                table[point] = ord(single)
    for point, other in simplified_characters().items():
        if table[point] != _UNUSUAL:
            table[point] = ord(other) if other < "\uffff" else _UNUSUAL
    table[ord("\uff0c")] = ord(SEPARATOR)
    # After a word or number, these are marks of footnotes.
    table[[0xB2, 0xB3, 0xB9]] = _UNUSUAL
    # Between these, a full-width comma may group digits.
    table[0xFF10:0xFF1A] = _UNUSUAL
    table[0] = 0
    return table


@cache
def _is_space() -> Flags:
    import numpy as np

    table = np.zeros(0x10000, np.bool_)
    table[[point for point in range(0x10000) if chr(point).isspace()]] = True
    return table
