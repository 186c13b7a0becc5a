"""Escapes text for Markdown, so that nothing in it is markup, a link, a tag or a formula."""

from __future__ import annotations

import re

from niah_score.text.visible import one_line

# Words that renderers with GitHub's extensions turn into links without markup, some even if escaped, so that they are
# set as code: addresses, names that begin with www., and possible e-mail addresses.
_LINKED = re.compile(r"[^\s|`]*(?:://|www\.|@|(?:mailto|xmpp):)[^\s|`]*", re.IGNORECASE)
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
        pieces += [_escaped(flat[at : word.start()]), f"`{word[0]}`"]
        at = word.end()
    return "".join([*pieces, _escaped(flat[at:])])


def paragraph_in_markdown(text: str) -> str:
    """Escape a text that begins a line."""
    return _LINE_MARK.sub(r"\1\\\2", in_markdown(text))


def _escaped(text: str) -> str:
    return _MARKS.sub(lambda mark: _ENTITIES.get(mark[0], f"\\{mark[0]}"), text)
