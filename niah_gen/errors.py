"""Defines the errors that a user's input or machine can cause, and the exit code of each.

NiahError                2
├── RecipeError          2   the recipe asks for something that does not exist or does not fit together
├── FitError             2   a length cannot hold what must go into it
├── CorpusError          2   a corpus cannot be found or read
├── TokenizerError       2   a tokenizer cannot be found or read
├── IntegrityError       4   bytes are not what their sha256 says
├── ResourceError        5   disk, memory, a documented limit, or what rows are built from is not here
└── LockedError         11   another process is building the same target

Anything else that escapes is a bug in niah, and ends with exit code 1 and a traceback.
"""

from __future__ import annotations

import reprlib
from collections.abc import Iterable, Sequence
from typing import Any

from niah_score.errors import KnownError


class NiahError(KnownError):
    """A problem to tell the user about: what, where, what was expected, what to do."""


class RecipeError(NiahError):
    """All problems of a recipe; `problems` holds one sentence for each."""

    def __init__(self, problems: Sequence[str], source: str = "recipe") -> None:
        self.problems = tuple(problems)
        self.source = source
        head = f"{source}: {len(problems)} problem{'s' if len(problems) > 1 else ''}"
        super().__init__("\n  ".join([head, *problems]))

    def __reduce__(self) -> tuple[Any, ...]:
        # Workers pickle errors; by default, unpickling calls __init__ with the message alone.
        return RecipeError, (self.problems, self.source), {"__notes__": getattr(self, "__notes__", [])}


class FitError(NiahError):
    """A length cannot hold what must go into it."""


class CorpusError(NiahError):
    """A corpus is unknown, unreadable or empty."""


class TokenizerError(NiahError):
    """A tokenizer is unknown, or not on this machine."""


class IntegrityError(NiahError):
    """Bytes differ from their recorded sha256."""

    exit_code = 4


class ResourceError(NiahError):
    """A disk, memory or documented limit was reached, or what rows were built from is not on this machine."""

    exit_code = 5


class LockedError(NiahError):
    """Another process is working on the same target."""

    exit_code = 11


def shown(value: object) -> str:
    """A value as problems quote it: on one line, with the middle left out if it is long."""
    return _SHORT.repr(value)


_SHORT = reprlib.Repr()
_SHORT.maxstring = _SHORT.maxother = 80

SHOWN_PROBLEMS = 20


def listed(head: str, problems: Sequence[str]) -> str:
    """A message: `head`, the first 20 problems on a line each, and how many more there are."""
    shown = list(problems[:SHOWN_PROBLEMS])
    if len(problems) > len(shown):
        shown.append(f"and {len(problems) - len(shown)} more")
    return "\n  ".join([head, *shown])


def suggestion(name: str, known: Iterable[str]) -> str:
    """`; did you mean 'x'?` for the nearest known name, else the known names (the first 20)."""
    import difflib

    names = sorted(set(known))
    near = difflib.get_close_matches(name, names, n=1)
    if near:
        return f"; did you mean {near[0]!r}?"
    shown = ", ".join(names[:20]) + (", ..." if len(names) > 20 else "")
    return f"; known: {shown}" if names else ""
