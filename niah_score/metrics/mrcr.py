"""Scores how alike the raw answer and the reference are by difflib, as OpenAI's MRCR `grade` does, bug for bug."""

from __future__ import annotations

from difflib import SequenceMatcher

from niah_score.metrics.base import Metric, Score
from niah_score.metrics.target import Target


def judge_mrcr(answer: str, target: Target) -> Score:
    """100 x difflib's ratio of answer and reference after the random prefix that both must begin with; else 0.

    None without a prefix.
    """
    prefix = target.prefix
    if not prefix:
        return Score(None)
    if not answer.startswith(prefix):
        return Score(0.0)
    reference = target.answers[0].removeprefix(prefix)
    return Score(100 * SequenceMatcher(None, answer.removeprefix(prefix), reference).ratio())


MRCR = Metric("mrcr", "compat", judge_mrcr)
