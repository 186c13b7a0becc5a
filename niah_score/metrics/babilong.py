"""Scores answers as BABILong does, bug for bug, 0 to 100, on the raw answer.

Formula: BABILong's `compare_answers`: the target must be the only label named at the beginning of the answer.
"""

from __future__ import annotations

from niah_score.metrics.base import Metric, Score
from niah_score.metrics.target import Target

_ENDS = (".", "<context>", "<example>")
_SHORTEST_LIST = 3


def judge_babilong(answer: str, target: Target) -> Score:
    """100 if the target is the only label that the answer names before its first full stop, in any case; else 0.

    Labels are the accepted answer and the decoys (labels not named in the question). A target with a comma is a list:
    the answer must name all of its labels and no others.
    """
    said = answer.lower()
    for end in _ENDS:
        said = said.split(end)[0]
    wanted = target.answers[0].lower()
    is_list = "," in wanted and len(wanted) > _SHORTEST_LIST
    own = set(wanted.split(",")) if is_list else {wanted}
    labels = {label.lower() for decoy in target.decoys for label in decoy[:1]} | own
    return Score(100.0 if {label for label in labels if label in said} == own else 0.0)


BABILONG = Metric("babilong", "compat", judge_babilong)
