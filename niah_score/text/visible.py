"""Writes text that nobody trusts, so that nothing in it acts: in a terminal, Markdown, a spreadsheet or a file name."""

from __future__ import annotations

import os
import re
import unicodedata

# What a formula begins with.
FORMULA_MARKS = ("=", "+", "-", "@", "\t", "\r")


def as_plain_cell(text: str) -> str:
    """A text for a CSV cell, with an apostrophe before anything that a spreadsheet would take for a formula."""
    return f"'{text}" if text.startswith(FORMULA_MARKS) else text


# Characters, and bytes in UTF-8. File systems allow 255 bytes, and callers append to the name.
_MOST_CHARACTERS, _MOST_BYTES = 100, 200


def plain_name(text: str) -> str:
    """A text as the name of a file or folder: letters and digits of any script, `-`, `_` and `.`; the rest becomes `-`.

    It neither begins nor ends with a dot, so that it is no path and not hidden. At most 100 characters and 200 bytes;
    may be empty.
    """
    plain = "".join(char if char.isalnum() or char in "-_." else "-" for char in text).strip(".")[:_MOST_CHARACTERS]
    return plain.encode()[:_MOST_BYTES].decode(errors="ignore").rstrip(".")


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

    The stream decides how they are written (niah_score.machine.run).
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


# Words that renderers with GitHub's extensions turn into links without markup, some even if escaped, so that they are
# set as code: addresses, names that begin with www., and possible e-mail addresses.
# A search begins at the start of a word only, else long ones would take quadratic time.
_LINKED = re.compile(r"(?<![^\s|`])[^\s|`]*(?:://|www\.|@|(?:mailto|xmpp):)[^\s|`]*", re.IGNORECASE)
# Entities for HTML's special characters, as some Markdown renderers do not support a backslash before them.
_ENTITIES = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}
# No renderer treats an underscore inside a word as markup.
_MARKS = re.compile(r"[\\`*{}\[\]#|~$!^&<>]|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])")
# At the start of a line, a hyphen, a number and the like begin a list or a rule, and a colon a definition.
_LINE_MARK = re.compile(r"^(\d*)([-+=.):])")


def in_markdown(text: str) -> str:
    """Escape a text for a Markdown table cell or the middle of a line: it becomes one line that renders literally."""
    flat = one_line(text)
    pieces = []
    at = 0
    for word in _LINKED.finditer(flat):
        pieces += [_without_marks(flat[at : word.start()]), f"`{word[0]}`"]
        at = word.end()
    return "".join([*pieces, _without_marks(flat[at:])])


def paragraph_in_markdown(text: str) -> str:
    """Escape a text that begins a line."""
    return _LINE_MARK.sub(r"\1\\\2", in_markdown(text))


def _without_marks(text: str) -> str:
    return _MARKS.sub(lambda mark: _ENTITIES.get(mark[0], f"\\{mark[0]}"), text)
