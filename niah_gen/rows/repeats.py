"""Detects rows whose haystack repeats its corpus, and refuses them unless the recipe allows it.

Beyond one pass every line of the haystack but the needle occurs twice: a model can find what is not repeated without
understanding it.
"""

from __future__ import annotations

from niah_gen.errors import FitError
from niah_gen.recipe.recipe import Recipe
from niah_score.contract import Truth

# A corpus a few sentences short of a length does not count as repeated.
_REPEATED = 1.01
_CLEARLY_REPEATED = 1.1


def repeats(truth: Truth) -> bool:
    """Whether a row's haystack goes through its corpus clearly more than once."""
    return truth["haystack_passes"] >= _REPEATED


def repeated_note(truth: Truth) -> str:
    """A sentence for the user about a row that repeats its corpus."""
    return f"{truth['corpus']} is repeated to fill length {truth['length']}, {_times(truth)} times over"


def refuse_repeats(recipe: Recipe, truth: Truth) -> None:
    """Raise FitError for a row that repeats its corpus, unless the recipe allows it."""
    if recipe.allow_repeats or not repeats(truth):
        return
    length = truth["length"] or 0
    most = _most(length, truth["haystack_passes"])
    raise FitError(
        f"corpus {truth['corpus']!r}: to fill length {length:,} it would be repeated {_times(truth)} times over; then "
        "every line but the needle occurs more than once, and a model can find the needle unread; ask for lengths up "
        f"to about {most:,} tokens, take a larger corpus (`niah-gen corpora list`), or allow it: --allow-repeats"
    )


def _times(truth: Truth) -> str:
    passes = truth["haystack_passes"]
    return f"{passes:.1f}" if passes >= _CLEARLY_REPEATED else f"{passes:.2f}"


def _most(length: int, passes: float) -> int:
    """A round length that the corpus fills without repeating, in tokens."""
    most = int(length / passes)
    return most // 1000 * 1000 or most
