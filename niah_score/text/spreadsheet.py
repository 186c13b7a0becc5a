"""Escapes text that a spreadsheet would take for a formula, and reads it back."""

from __future__ import annotations

# What a formula begins with.
FORMULA_MARKS = ("=", "+", "-", "@", "\t", "\r")


def as_plain_cell(text: str) -> str:
    """A text for a CSV cell, with an apostrophe before anything that a spreadsheet would take for a formula."""
    return f"'{text}" if text.startswith(FORMULA_MARKS) else text


def from_plain_cell(text: str) -> str:
    """Undo `as_plain_cell`."""
    return text[1:] if text.startswith("'") and text[1:].startswith(FORMULA_MARKS) else text
