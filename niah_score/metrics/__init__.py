"""Scores answers: lists every metric by name. Each has a function that judges one answer, and a record.

    METRICS["edit"].judge("It is blue.", Target(("blue",)))

docs/metrics.md has the formulas, sources and quirks. May import contract, text, machine, formats and join.
"""

from __future__ import annotations

from collections.abc import Iterable

from niah_score.contract import unknown_metric
from niah_score.errors import ScoreError
from niah_score.metrics import (
    babilong,
    cdme,
    choice,
    correct,
    edit,
    exact,
    f1,
    keyword,
    keyword_f1,
    longbench,
    longbench_answers,
    mrcr,
    needlebench,
    needlebench_boxed,
    needlehaystack2,
    nolima,
    rouge,
    ruler,
)
from niah_score.metrics.base import Metric, PartType, Score, judge_all
from niah_score.metrics.chunk import Chunk, ScoreColumns
from niah_score.metrics.target import Target, target_of

__all__ = [
    "METRICS", "Chunk", "Metric", "PartType", "Score", "ScoreColumns", "Target", "check_metrics", "default_metrics",
    "judge_all", "target_of",
]  # fmt: skip

# The same names, in the same order, as in niah_score/contract/metrics.py.
METRICS: dict[str, Metric] = {
    "correct": correct.CORRECT,
    "keyword": keyword.KEYWORD,
    "keyword_all": keyword.KEYWORD_ALL,
    "keyword_f1": keyword_f1.KEYWORD_F1,
    "keyword_regex": keyword.KEYWORD_REGEX,
    "exact": exact.EXACT,
    "edit": edit.EDIT,
    "char_f1": f1.CHAR_F1,
    "word_f1": f1.WORD_F1,
    "rouge_l": rouge.ROUGE_L,
    "choice": choice.CHOICE,
    "cdme": cdme.CDME,
    "cdme_trim": cdme.CDME_TRIM,
    "cdme_multi": cdme.CDME_MULTI,
    "needlebench_v1": needlebench.NEEDLEBENCH_V1,
    "needlebench_v1_trim": needlebench.NEEDLEBENCH_V1_TRIM,
    "needlebench_v2": needlebench.NEEDLEBENCH_V2,
    "needlebench_multi": needlebench.NEEDLEBENCH_MULTI,
    "needlebench_parallel": needlebench.NEEDLEBENCH_PARALLEL,
    "needlebench_boxed": needlebench_boxed.NEEDLEBENCH_BOXED,
    "nh2_match": needlehaystack2.NH2_MATCH,
    "nh2_chain": needlehaystack2.NH2_CHAIN,
    "ruler_all": ruler.RULER_ALL,
    "ruler_part": ruler.RULER_PART,
    "longbench_retrieval": longbench.LONGBENCH_RETRIEVAL,
    "longbench_count": longbench.LONGBENCH_COUNT,
    "longbench_qa_f1": longbench_answers.LONGBENCH_QA_F1,
    "longbench_qa_f1_line": longbench_answers.LONGBENCH_QA_F1_LINE,
    "longbench_qa_f1_zh": longbench_answers.LONGBENCH_QA_F1_ZH,
    "longbench_rouge": longbench_answers.LONGBENCH_ROUGE,
    "longbench_rouge_line": longbench_answers.LONGBENCH_ROUGE_LINE,
    "longbench_rouge_zh": longbench_answers.LONGBENCH_ROUGE_ZH,
    "longbench_classification": longbench_answers.LONGBENCH_CLASSIFICATION,
    "longbench_code_sim": longbench_answers.LONGBENCH_CODE_SIM,
    "babilong": babilong.BABILONG,
    "nolima_contains": nolima.NOLIMA_CONTAINS,
    "mrcr": mrcr.MRCR,
    "mrcr_v2": mrcr.MRCR_V2,
}


def default_metrics() -> list[str]:
    """The metrics computed in addition to the row's own if none are asked for."""
    return [name for name, metric in METRICS.items() if metric.default]


def check_metrics(names: Iterable[str]) -> None:
    """Raise ScoreError for a name that is no metric's."""
    for name in names:
        if name not in METRICS:
            raise ScoreError(unknown_metric(name))
