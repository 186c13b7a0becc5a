"""Scores how much of the reference stands in the answer, best aligned, whatever stands before and after it."""

from __future__ import annotations

from typing import Any

from rapidfuzz import fuzz

from niah_score.metrics.accepted import reference_of
from niah_score.metrics.base import Metric, Score
from niah_score.metrics.chunk import Chunk, ScoreColumns
from niah_score.metrics.target import Target
from niah_score.text import fold, in_letters

# Aligning costs the answer's characters times the reference's squared: so much takes a quarter of a second.
_MOST_WORK = 5_000_000_000
# Longer references are of tasks whose answers are as long; those are compared whole.
_LONGEST_ALIGNED = 500


def judge_edit(answer: str, target: Target) -> Score:
    """How much of the reference stands in the answer, best aligned, both folded.

    100 x L / m: m the characters of the reference, L how many of them stand, in their order, in a stretch of the answer
    of m characters (a longest common subsequence); the best over all stretches, also those that reach over an end.
    References of more than 500 characters are compared with the whole answer (100 x 2L / the characters of both); of
    answers so long that aligning would take seconds, only the beginning is aligned.
    """
    text, reference = fold(answer), reference_of(target)
    size = len(reference)
    if not reference:
        return Score(0.0 if text else 100.0)
    if reference in text:
        return Score(100.0)
    if size > _LONGEST_ALIGNED:
        return Score(fuzz.ratio(text, reference))
    # Of stretches as long as the reference, rapidfuzz's ratio 2L / (m + m) is L / m.
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
    # With as much of what the reference does not hold at both ends, every stretch is as long as the reference; it also
    # spares rapidfuzz trying all the shorter stretches there.
    around = _absent(wanted) * size
    return [100.0 if wanted in text else fuzz.partial_ratio(wanted, around + text[:most] + around) for text in spelt]


def _absent(reference: Any) -> Any:
    """A character that a reference does not hold; of letters, that of all the others."""
    if isinstance(reference, bytes):
        return b"\0"
    return next(char for char in map(chr, range(_LONGEST_ALIGNED + 1)) if char not in reference)


EDIT = Metric("edit", "strict", judge_edit, default=True, many=_many_edit)
