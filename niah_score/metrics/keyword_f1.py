"""Scores facts that are asked for together, or among distractors: as `correct`, with credit for a part of them."""

from __future__ import annotations

from niah_score.metrics.base import Metric, Score
from niah_score.metrics.commitment import commitment_of
from niah_score.metrics.target import Target


def judge_keyword_f1(answer: str, target: Target) -> Score:
    """F1 of the facts given: 100 x 2 found / (found + false + keyword groups). None without keywords.

    False are the decoys that the answer gives, and the items of its lists that were not asked for; see
    `niah_score.metrics.commitment`. Parts: `found`, `false` and `groups` are these numbers.
    """
    if not target.keywords:
        return Score(None, {"found": None, "false": None, "groups": None})
    given = commitment_of(answer, target)
    found, groups = sum(given.found), len(given.found)
    return Score(200 * found / (found + given.false + groups), {"found": found, "false": given.false, "groups": groups})


KEYWORD_F1 = Metric("keyword_f1", "strict", judge_keyword_f1, parts={"found": int, "false": int, "groups": int})
