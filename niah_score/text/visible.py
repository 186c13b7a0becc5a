"""Escapes characters of hostile texts that would act on a terminal or a picture, or turn the direction of writing."""

from __future__ import annotations

import os
import re
import unicodedata

# Controls, formats, surrogates, private use, and separators that end a line.
_ACTING = {"Cc", "Cf", "Cs", "Co", "Zl", "Zp"}
_SURROGATE = re.compile("[\ud800-\udfff]")


def visible(text: str) -> str:
    """A text for a terminal: what would act on it, or turn its direction, is written out; newlines and tabs stay."""
    return "".join(
        char if char in "\n\t" or unicodedata.category(char) not in _ACTING else _escaped(char) for char in text
    )


def visible_path(path: str | os.PathLike[str]) -> str:
    """A path for standard output: as `visible`, but bytes of a name that are no UTF-8 stay, so that a script finds it.

    What they are written as is left to the stream (niah_score.machine.standard_streams).
    """
    return "".join(char if "\udc80" <= char <= "\udcff" else visible(char) for char in os.fspath(path))


def one_line(text: str) -> str:
    """A text for a title: as `visible`, white space is single spaces, and what no XML file may hold is written out."""
    return "".join(
        _escaped(char) if unicodedata.category(char) == "Cn" else char for char in " ".join(visible(text).split())
    )


def _escaped(char: str) -> str:
    code = ord(char)
    return f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}"


def without_surrogates(text: str) -> str:
    """A text with U+FFFD for each half of a surrogate pair, which no UTF-8 can spell."""
    return _SURROGATE.sub("\ufffd", text)
