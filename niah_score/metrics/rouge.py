"""Scores the longest common subsequence of the words of answer and accepted answer as F1: ROUGE-L.

Formula: C.-Y. Lin, ROUGE (2004), over whole texts, with beta 1.
"""

from __future__ import annotations

from collections.abc import Sequence

from niah_score.metrics.accepted import accepted_answers
from niah_score.metrics.base import Metric, Score
from niah_score.metrics.f1 import words_of
from niah_score.metrics.target import Target
from niah_score.text import fold


def judge_rouge_l(answer: str, target: Target) -> Score:
    """100 x 2 x common / (words of both), best of the accepted answers; common: the longest common subsequence.

    Words are those of `word_f1`. Raises ScoreError if jieba is needed and missing.
    """
    said = words_of(fold(answer), target.language)
    return Score(max(_f1(said, words_of(accepted, target.language)) for accepted in accepted_answers(target)))


def _f1(one: Sequence[str], other: Sequence[str]) -> float:
    from rapidfuzz.distance import LCSseq

    size = len(one) + len(other)
    return 200 * LCSseq.similarity(one, other) / size if size else 100.0


ROUGE_L = Metric("rouge_l", "strict", judge_rouge_l)
