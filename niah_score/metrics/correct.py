"""Scores whether an answer is right: it commits to exactly what is asked for."""

from __future__ import annotations

from niah_score.metrics.base import Metric, Score
from niah_score.metrics.commitment import commitment_of
from niah_score.metrics.target import Target


def judge_correct(answer: str, target: Target) -> Score:
    """100 if the answer commits to all facts asked for and to nothing false, else 0. None without keywords.

    Parts: `found` of the `groups` of keywords, and `false` facts; see `niah_score.metrics.commitment`.
    """
    if not target.keywords:
        return Score(None, {"found": None, "false": None, "groups": None})
    given = commitment_of(answer, target)
    found, groups = sum(given.found), len(given.found)
    is_right = found == groups and not given.false
    return Score(100.0 * is_right, {"found": found, "false": given.false, "groups": groups})


CORRECT = Metric("correct", "strict", judge_correct, parts={"found": int, "false": int, "groups": int})
