"""Defines every error that a scorer's input or machine can cause, and the exit code each one ends a command with.

ScoreError               2   a file, a field or a flag is not what it should be
├── IntegrityError       4   bytes are not what their sha256 says or what they were at first, or answers belong to
│                            another dataset
├── ResourceError        5   disk, memory or a documented limit
├── AddressError         2   an address names nothing, or nothing that may be read or written
├── StoreError           5   the store at an address cannot be reached, or does not do what it says
├── LanguageError        2   a language has no file, or its file is not what it should be
└── LockedError         11   another process writes into the same folder

Anything else that escapes is a bug of ours and ends with exit code 1 and its traceback.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import ClassVar

SHOWN_PROBLEMS = 20


class ScoreError(Exception):
    """A problem to tell the user about: what, where, what was expected, what to do."""

    exit_code: ClassVar[int] = 2


class IntegrityError(ScoreError):
    """Bytes differ from their recorded sha256, a file changed while it was read, or answers are to another dataset."""

    exit_code = 4


class ResourceError(ScoreError):
    """A disk, memory or documented limit was reached."""

    exit_code = 5


class AddressError(ScoreError):
    """An address is no address, names nothing, or nothing that may be read or written; or its library is missing."""


class StoreError(ScoreError):
    """The store at an address cannot be reached, or does not do what it says."""

    exit_code = 5


class LanguageError(ScoreError):
    """A language has no file, or its file is not what it should be."""


class LockedError(ScoreError):
    """Another process writes into the same folder."""

    exit_code = 11


def listed(head: str, problems: Sequence[object]) -> str:
    """A message with the first 20 problems, a line each, and how many more there are."""
    shown = [str(problem) for problem in problems[:SHOWN_PROBLEMS]]
    if len(problems) > len(shown):
        shown.append(f"and {len(problems) - len(shown):,} more")
    return "\n  ".join([head, *shown])


def suggestion(name: str, known: Iterable[str]) -> str:
    """`did you mean 'x'?` for the nearest known name, else all of them."""
    from difflib import get_close_matches

    names = list(known)
    near = get_close_matches(name, names, n=1)
    return f"did you mean {near[0]!r}?" if near else f"expected one of {', '.join(names)}"
