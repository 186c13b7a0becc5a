"""Scores answers as LongBench's passage retrieval and passage count do, bug for bug, 0 to 100, on the raw answer.

Formulas: LongBench's `retrieval_score`, `retrieval_zh_score` and `count_score`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from niah_score.metrics.base import Metric, Score
from niah_score.metrics.target import Target

_NUMBER = re.compile(r"\d+")
_GOLD_PARAGRAPH = re.compile(r"(?:Paragraph |段落)(\d+)")


def judge_longbench_retrieval(answer: str, target: Target) -> Score:
    """Share of the numbers in the answer that are the right paragraph's (LongBench passage retrieval).

    The accepted answers name the paragraph ("Paragraph 15", "段落15"); None if none does. Numbers are compared as text,
    so 015 and full-width digits do not match.
    """
    golds = [gold for accepted in target.answers for gold in _GOLD_PARAGRAPH.findall(accepted)[:1]]
    return Score(_number_share(answer, golds))


def judge_longbench_count(answer: str, target: Target) -> Score:
    """Share of the numbers in the answer that equal the accepted one (LongBench passage count)."""
    return Score(_number_share(answer, target.answers))


def _number_share(text: str, golds: Sequence[str]) -> float | None:
    numbers = _NUMBER.findall(text)
    return max((100 * numbers.count(gold) / (len(numbers) or 1) for gold in golds), default=None)


LONGBENCH_RETRIEVAL = Metric("longbench_retrieval", "compat", judge_longbench_retrieval)
LONGBENCH_COUNT = Metric("longbench_count", "compat", judge_longbench_count)
