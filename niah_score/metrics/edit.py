"""Scores how much of the reference is in the answer, best aligned, ignoring text before and after it."""

from __future__ import annotations

from typing import Any

from rapidfuzz import fuzz

from niah_score.metrics.accepted import reference_of
from niah_score.metrics.base import Metric, Score
from niah_score.metrics.chunk import Chunk, ScoreColumns
from niah_score.metrics.target import Target
from niah_score.text import fold, in_letters

# The cost of aligning is the answer's length times the square of the reference's: this takes a quarter of a second.
_MOST_WORK = 5_000_000_000
# Longer references belong to tasks with answers as long, which are compared as a whole.
_LONGEST_ALIGNED = 500


def judge_edit(answer: str, target: Target) -> Score:
    """How much of the reference is in the answer, best aligned, both folded.

    100 x L / m, where m is the length of the reference and L that of its longest common subsequence with a stretch of m
    characters of the answer; the best of all stretches, including those that extend beyond an end. References of more
    than 500 characters are compared with the whole answer (100 x 2L / the characters of both). Only the beginning is
    aligned of answers so long that aligning would take seconds.
    """
    text, reference = fold(answer), reference_of(target)
    size = len(reference)
    if not reference:
        return Score(0.0 if text else 100.0)
    if reference in text:
        return Score(100.0)
    if size > _LONGEST_ALIGNED:
        return Score(fuzz.ratio(text, reference))
    # For stretches as long as the reference, rapidfuzz's ratio 2L / (m + m) is L / m.
    around = _absent(reference) * size
    padded = around + text[: _MOST_WORK // size**2] + around
    return Score(max(fuzz.ratio(padded[start : start + size], reference) for start in range(len(padded) - size + 1)))


def _many_edit(chunk: Chunk) -> ScoreColumns:
    return ScoreColumns(chunk.of_runs(reference_of, _aligned, chunk.folded), {})


def _aligned(reference: str, texts: list[str]) -> list[float | None]:
    if not reference:
        return [0.0 if text else 100.0 for text in texts]
    if len(reference) > _LONGEST_ALIGNED:
        return [100.0 if reference in text else fuzz.ratio(text, reference) for text in texts]
    wanted, spelt = in_letters(reference, texts)
    size = len(reference)
    most = _MOST_WORK // size**2
    # Padding both ends with a character that the reference lacks makes every stretch as long as the reference; it also
    # spares rapidfuzz trying all the shorter stretches there.
    around = _absent(wanted) * size
    return [100.0 if wanted in text else fuzz.partial_ratio(wanted, around + text[:most] + around) for text in spelt]


def _absent(reference: Any) -> Any:
    """A character that a reference does not contain; for encoded ones, the 0 of all other characters."""
    if isinstance(reference, bytes):
        return b"\0"
    return next(char for char in map(chr, range(_LONGEST_ALIGNED + 1)) if char not in reference)


EDIT = Metric("edit", "strict", judge_edit, default=True, many=_many_edit)
