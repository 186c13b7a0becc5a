"""Defines every error that the scorer's input or machine can cause, with the exit code of each.

ScoreError               2   a file, a field or a flag is invalid
├── IntegrityError       4   bytes differ from their sha256, or answers belong to another dataset
├── ResourceError        5   disk, memory or a documented limit
├── AddressError         2   an address is invalid, or names nothing that can be read or written
├── StoreError           5   the store at an address cannot be reached or is faulty
├── LanguageError        2   a language has no file, or its file is invalid
└── LockedError         11   another process is writing into the same folder

Any other exception is a bug of ours: exit code 1 and a traceback.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import ClassVar

SHOWN_PROBLEMS = 20


class KnownError(Exception):
    """A problem to tell the user about, in either package: what, where, what was expected, what to do."""

    exit_code: ClassVar[int] = 2


class ScoreError(KnownError):
    """A problem with what the scorer was given."""


class IntegrityError(ScoreError):
    """Bytes differ from their recorded sha256, or answers are to another dataset."""

    exit_code = 4


class ResourceError(ScoreError):
    """A disk, memory or documented limit was reached."""

    exit_code = 5


class AddressError(ScoreError):
    """An address is invalid, names nothing that can be read or written, or needs a library that is missing."""


class StoreError(ScoreError):
    """The store at an address cannot be reached or is faulty."""

    exit_code = 5


class LanguageError(ScoreError):
    """A language has no file, or its file is invalid."""


class LockedError(ScoreError):
    """Another process is writing into the same folder."""

    exit_code = 11


def listed(head: str, problems: Sequence[object]) -> str:
    """A message that lists the first 20 problems, one per line, and the number of others."""
    shown = [str(problem) for problem in problems[:SHOWN_PROBLEMS]]
    if len(problems) > len(shown):
        shown.append(f"and {len(problems) - len(shown):,} more")
    return "\n  ".join([head, *shown])


def suggestion(name: str, known: Iterable[str]) -> str:
    """`did you mean 'x'?` with the nearest known name, or a list of all of them."""
    from difflib import get_close_matches

    names = list(known)
    near = get_close_matches(name, names, n=1)
    return f"did you mean {near[0]!r}?" if near else f"expected one of {', '.join(names)}"


def check_choice(name: str, value: str, allowed: Sequence[str]) -> None:
    """Raise ScoreError unless the value of an argument is one of those allowed."""
    if value not in allowed:
        raise ScoreError(f"{name}: {value!r} is unknown; {suggestion(value, allowed)}")
