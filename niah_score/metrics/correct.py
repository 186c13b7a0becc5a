"""Scores whether an answer is right: it commits to exactly what is asked for."""

from __future__ import annotations

from niah_score.metrics.base import Metric, Score
from niah_score.metrics.commitment import commitment_of
from niah_score.metrics.target import Target


def judge_correct(answer: str, target: Target) -> Score:
    """100 if the answer commits to all facts asked for and to no rival, else 0. None without keywords."""
    if not target.keywords:
        return Score(None)
    given = commitment_of(answer, target)
    return Score(100.0 if all(given.found) and not given.false else 0.0)


CORRECT = Metric("correct", "strict", judge_correct)
