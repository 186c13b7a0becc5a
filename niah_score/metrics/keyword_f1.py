"""Scores facts that are asked for together: as `correct`, with credit for a part of them."""

from __future__ import annotations

from niah_score.metrics.base import Metric, Score
from niah_score.metrics.correct import judge_correct
from niah_score.metrics.target import Target


def judge_keyword_f1(answer: str, target: Target) -> Score:
    """F1 of the facts given: 100 x 2 found / (found + false + keyword groups). None without keywords.

    The parts are those of `correct`.
    """
    parts = judge_correct(answer, target).parts
    if not target.keywords:
        return Score(None, parts)
    return Score(200 * parts["found"] / (parts["found"] + parts["false"] + parts["groups"]), parts)


KEYWORD_F1 = Metric("keyword_f1", "strict", judge_keyword_f1, parts={"found": int, "false": int, "groups": int})
