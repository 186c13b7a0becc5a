"""Scores answers as OpenCompass's NeedleBench v1 and v2 do, bug for bug, 0 to 100, on the raw answer.

Formulas: `NeedleBenchOriginEvaluator` of opencompass/datasets/needlebench/origin.py (v1, also with `use_trim`) and of
needlebench_v2/origin.py; `NeedleBenchMultiEvaluator` of needlebench/multi.py; `NeedleBenchParallelEvaluator`, which is
the same in needlebench/parallel.py and needlebench_v2/parallel.py.
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
    """As cdme_multi, but the keyword is looked for in the unchanged answer."""
    reference, keyword = unpacked(target)
    return keyword_or_edit_score(keyword, answer, edit_score(without_spaces(answer), reference))


def judge_needlebench_v1_trim(answer: str, target: Target) -> Score:
    """needlebench_v1 with the edit score of the answer cut near the reference's length."""
    reference, keyword = unpacked(target)
    cut = trimmed(without_spaces(answer), reference)
    return keyword_or_edit_score(keyword, answer, edit_score(cut, reference))


def judge_needlebench_v2(answer: str, target: Target) -> Score:
    """100 if the answer holds the keyword, else 0. None unless there is one keyword."""
    keyword = unpacked(target).keyword
    return Score(None if keyword is None else 100.0 * (keyword in answer))


def judge_needlebench_multi(answer: str, target: Target) -> Score:
    """The share of the keyword's words that the answer holds, both in lower case. None unless there is one keyword.

    Words are separated by white space, so a Chinese keyword is one word; they also match inside other words, and count
    as often as they occur in the keyword. `reference*keyword` is unpacked in two, which fails (None here) if either
    contains an asterisk.
    """
    keyword = target.keywords[0][0] if len(target.keywords) == 1 else None
    if keyword is None or "*" in target.answers[0] + keyword:
        return Score(None, {"found": None, "words": None})
    words = keyword.lower().split()
    said = answer.lower()
    found = sum(word in said for word in words)
    # Eleven elevenths exceed 100 in the last digit.
    return Score(min(found * (100 / len(words)), 100.0) if words else 0.0, {"found": found, "words": len(words)})


def judge_needlebench_parallel(answer: str, target: Target) -> Score:
    """The share of the depths whose keyword the answer holds. None without keywords. `found`: one for each depth.

    The mean of rows with equally many depths is the published average of the depths' means. Keywords are passed as
    `keyword*keyword#depth*depth`: an asterisk in one moves the following ones to the next depth, and the last is lost.
    A # in one gives None here: the published code takes what follows for depths, and usually crashes. A target does not
    say what the depths are; they are assumed to differ, as NeedleBench's do: the published code adds up equal ones.
    """
    words = [group[0] for group in target.keywords]
    if not words or any("#" in word for word in words):
        return Score(None, {"found": None})
    found = [word in answer for word in "*".join(words).split("*")[: len(words)]]
    return Score(100 * sum(found) / len(words), {"found": found})


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
NEEDLEBENCH_MULTI = Metric("needlebench_multi", "compat", judge_needlebench_multi, parts={"found": int, "words": int})
NEEDLEBENCH_PARALLEL = Metric("needlebench_parallel", "compat", judge_needlebench_parallel, parts={"found": list[bool]})
