"""Scores answers as OpenCompass's NeedleBench v1 and v2 do, bug for bug, 0 to 100, on the raw answer.

Formulas: opencompass/datasets/needlebench (v1, also with `use_trim`) and needlebench_v2.
"""

from __future__ import annotations

from niah_score.metrics.base import Metric, Score
from niah_score.metrics.cdme import (
    KEYWORD_PARTS,
    edit_score,
    keyword_or_edit_score,
    many_edit_scores,
    many_keyword_or_edit_scores,
    many_unpacked_edit_scores,
    trimmed,
    unpacked,
)
from niah_score.metrics.chunk import Chunk, ScoreColumns
from niah_score.metrics.target import Target
from niah_score.text import without_spaces


def judge_needlebench_v1(answer: str, target: Target) -> Score:
    """As cdme_multi, but the keyword is looked for in the answer as it is."""
    reference, keyword = unpacked(target)
    return keyword_or_edit_score(keyword, answer, edit_score(without_spaces(answer), reference))


def judge_needlebench_v1_trim(answer: str, target: Target) -> Score:
    """needlebench_v1 whose edit score is that of the answer cut near the reference's length."""
    reference, keyword = unpacked(target)
    cut = trimmed(without_spaces(answer), reference)
    return keyword_or_edit_score(keyword, answer, edit_score(cut, reference))


def judge_needlebench_v2(answer: str, target: Target) -> Score:
    """100 if the answer holds the keyword, else 0. None without one keyword."""
    keyword = unpacked(target).keyword
    return Score(None if keyword is None else 100.0 * (keyword in answer))


def _many_needlebench_v1(chunk: Chunk) -> ScoreColumns:
    return many_keyword_or_edit_scores(chunk, many_unpacked_edit_scores(chunk), chunk.texts)


def _many_needlebench_v1_trim(chunk: Chunk) -> ScoreColumns:
    edit = many_edit_scores(chunk, lambda target: unpacked(target).reference, trim=True)
    return many_keyword_or_edit_scores(chunk, edit, chunk.texts)


NEEDLEBENCH_V1 = Metric(
    "needlebench_v1", "compat", judge_needlebench_v1, parts=KEYWORD_PARTS, many=_many_needlebench_v1
)
NEEDLEBENCH_V1_TRIM = Metric(
    "needlebench_v1_trim", "compat", judge_needlebench_v1_trim, parts=KEYWORD_PARTS, many=_many_needlebench_v1_trim
)
NEEDLEBENCH_V2 = Metric("needlebench_v2", "compat", judge_needlebench_v2)
