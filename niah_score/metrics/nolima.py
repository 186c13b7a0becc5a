"""Scores whether the raw answer contains an accepted one literally, as NoLiMa's `contains` does, bug for bug."""

from __future__ import annotations

from niah_score.metrics.base import Metric, Score
from niah_score.metrics.target import Target


def judge_nolima_contains(answer: str, target: Target) -> Score:
    """100 if the answer contains any accepted answer literally, including white space (NoLiMa's `contains`); else 0."""
    return Score(100.0 if any(accepted in answer for accepted in target.answers) else 0.0)


NOLIMA_CONTAINS = Metric("nolima_contains", "compat", judge_nolima_contains)
