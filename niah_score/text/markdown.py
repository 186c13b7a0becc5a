"""Escapes texts for Markdown, so that nothing in them is markup, a link, a tag or a formula."""

from __future__ import annotations

import re

from niah_score.text.visible import one_line

# What a reader with GitHub's extensions makes a link of without any markup, some of them even where it is escaped, so
# that such a word is set as code: addresses, names that begin with www., and what may be an e-mail address.
_LINKED = re.compile(r"[^\s|`]*(?:://|www\.|@|(?:mailto|xmpp):)[^\s|`]*", re.IGNORECASE)
# Entities for what HTML acts on: some readers of Markdown know no backslash before it.
_ENTITIES = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}
# An underscore inside a word is none to any reader.
_MARKS = re.compile(r"[\\`*{}\[\]#|~$!^&<>]|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])")
# A hyphen, a number and the like begin a list or a rule where they begin a line; a colon, a definition.
_LINE_MARK = re.compile(r"^(\d*)([-+=.):])")


def in_markdown(text: str) -> str:
    """Escape a text for a cell of a Markdown table, or within a line; it is one line, and read as it is."""
    flat = one_line(text)
    found = []
    at = 0
    for word in _LINKED.finditer(flat):
        found += [_escaped(flat[at : word.start()]), f"`{word[0]}`"]
        at = word.end()
    return "".join([*found, _escaped(flat[at:])])


def paragraph_in_markdown(text: str) -> str:
    """Escape a text that begins a line."""
    return _LINE_MARK.sub(r"\1\\\2", in_markdown(text))


def _escaped(text: str) -> str:
    return _MARKS.sub(lambda mark: _ENTITIES.get(mark[0], f"\\{mark[0]}"), text)
