"""Scores whether the answer equals an accepted one, ignoring case, width, spaces and the punctuation around it."""

from __future__ import annotations

from niah_score.metrics.accepted import accepted_answers, without_outer_punctuation
from niah_score.metrics.base import Metric, Score
from niah_score.metrics.chunk import Chunk, ScoreColumns
from niah_score.metrics.target import Target
from niah_score.text import fold


def judge_exact(answer: str, target: Target) -> Score:
    """100 if the answer equals an accepted one, both folded, without the punctuation around them; else 0."""
    return Score(100.0 if without_outer_punctuation(fold(answer)) in _accepted(target) else 0.0)


def _accepted(target: Target) -> frozenset[str]:
    return frozenset(map(without_outer_punctuation, accepted_answers(target)))


def _many_exact(chunk: Chunk) -> ScoreColumns:
    def equal(wanted: frozenset[str], texts: list[str]) -> list[float | None]:
        begins = tuple(wanted)
        # A text that begins with a letter, as most do, must begin with an accepted answer.
        return [
            100.0
            if (text.startswith(begins) or not text[:1].isalnum()) and without_outer_punctuation(text) in wanted
            else 0.0
            for text in texts
        ]

    return ScoreColumns(chunk.of_runs(_accepted, equal, chunk.folded), {})


EXACT = Metric("exact", "strict", judge_exact, default=True, many=_many_exact)
