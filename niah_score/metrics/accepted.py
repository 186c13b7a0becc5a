"""Prepares a target's accepted answers for the strict metrics: folded, without prefix or outer punctuation.

Extracted answers do not include the answer prefix, so accepted answers that begin with it (as MRCR's do) also count
without it.
"""

from __future__ import annotations

import re
import unicodedata

from niah_score.metrics.target import Target
from niah_score.text import fold

_SIGNED = re.compile(r"-\d")


def accepted_answers(target: Target) -> list[str]:
    """The accepted answers, folded; those that begin with the prefix also without it."""
    prefix = target.prefix or ""
    return [fold(text) for answer in target.answers for text in dict.fromkeys((answer, answer.removeprefix(prefix)))]


def reference_of(target: Target) -> str:
    """The first accepted answer, folded, without the prefix and the punctuation around it."""
    return without_outer_punctuation(fold(target.answers[0].removeprefix(target.prefix or "")))


def without_outer_punctuation(folded: str) -> str:
    """A folded text without the punctuation around it; unchanged if nothing would be left."""
    start, end = 0, len(folded)
    while start < end and _is_around(folded[start]) and not _SIGNED.match(folded, start):
        start += 1
    while end > start and _is_around(folded[end - 1]):
        end -= 1
    return folded[start:end] or folded


def _is_around(char: str) -> bool:
    return char in " `" or (char not in "%‰" and unicodedata.category(char).startswith("P"))
