"""Scores answers as RULER does, bug for bug, 0 to 100, on the raw answer.

Formulas: RULER's `string_match_all` and `string_match_part`. Control characters count as line ends.
"""

from __future__ import annotations

import re

from niah_score.metrics.base import Metric, Score
from niah_score.metrics.target import Target

_CONTROL = re.compile(r"[\x00-\x1f]")


def judge_ruler_all(answer: str, target: Target) -> Score:
    """Share of the values asked for that the answer contains, ignoring case (RULER's string_match_all).

    The values are the first keyword of every group; without keywords, all answers.
    """
    text = _prepared(answer)
    values = [group[0] for group in target.keywords] or target.answers
    return Score(100 * sum(value.lower() in text for value in values) / len(values))


def judge_ruler_part(answer: str, target: Target) -> Score:
    """100 if the answer contains any accepted answer, ignoring case (RULER's string_match_part); else 0."""
    text = _prepared(answer)
    return Score(100.0 if any(accepted.lower() in text for accepted in target.answers) else 0.0)


def _prepared(answer: str) -> str:
    return _CONTROL.sub("\n", answer.strip()).strip().lower()


RULER_ALL = Metric("ruler_all", "compat", judge_ruler_all)
RULER_PART = Metric("ruler_part", "compat", judge_ruler_part)
