"""Escapes characters of hostile texts that would control a terminal or a picture, or reverse the writing direction."""

from __future__ import annotations

import os
import re
import unicodedata

# Control and format characters, surrogates, private use, and separators that end a line.
_ACTING = {"Cc", "Cf", "Cs", "Co", "Zl", "Zp"}
_SURROGATE = re.compile("[\ud800-\udfff]")


def visible(text: str) -> str:
    """A text for a terminal: characters that would control it are escaped, except newlines and tabs."""
    return "".join(
        char if char in "\n\t" or unicodedata.category(char) not in _ACTING else _escaped(char) for char in text
    )


def visible_path(path: str | os.PathLike[str]) -> str:
    """A path for standard output: as `visible`, but bytes that are not UTF-8 stay, so that scripts can use the path.

    The stream decides how they are written (niah_score.machine.standard_streams).
    """
    return "".join(char if "\udc80" <= char <= "\udcff" else visible(char) for char in os.fspath(path))


def one_line(text: str) -> str:
    """A text for a title: as `visible`, with white space as single spaces, and characters invalid in XML escaped."""
    return "".join(
        _escaped(char) if unicodedata.category(char) == "Cn" else char for char in " ".join(visible(text).split())
    )


def _escaped(char: str) -> str:
    code = ord(char)
    return f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}"


def without_surrogates(text: str) -> str:
    """A text with U+FFFD for each half of a surrogate pair, which UTF-8 cannot encode."""
    return _SURROGATE.sub("\ufffd", text)
