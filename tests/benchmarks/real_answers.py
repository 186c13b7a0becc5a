"""Measures how well each metric agrees with a judge on 1,376 real answers of Claude 2.1: see docs/metrics.md.

make measure            needs ../shared/real_results/claude_2_1_judged.jsonl beside the project

An answer counts as right if the judge's verdict, from 1 to 10, is at least 7. AUC: how often a right answer scores
higher than a wrong one, ties counting half. Metric and judge are apart on answers that are right by only one of them.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from niah_gen.tasks.needle_library import needle_library
from niah_score.metrics import Target
from niah_score.scoring.score import ScoringOptions, score_chunk

ANSWERS = Path(__file__).parents[3] / "shared" / "real_results" / "claude_2_1_judged.jsonl"
NEEDLE = needle_library()["sf-dolores-park"]
RIGHT = 7  # and higher verdicts
# The thresholds for a metric's scores, unless a better one is looked for.
FULL, HALF = 100.0, 50.0
FULL_ONLY = ("keyword", "exact")
BOTH = tuple(group[0] for group in NEEDLE.keywords)
# Each metric with the keywords that it is measured with: formulas for one keyword are null with two.
MEASURED: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("keyword", BOTH), ("edit", BOTH), ("word_f1", BOTH), ("char_f1", BOTH), ("exact", BOTH),
    ("cdme", BOTH), ("cdme_trim", BOTH), ("cdme_multi", ("sandwich",)), ("cdme_multi", ("Dolores Park",)),
    ("needlebench_v1", ("Dolores Park",)), ("needlebench_v1_trim", ("Dolores Park",)),
    ("needlebench_v2", ("Dolores Park",)), ("ruler_all", BOTH), ("ruler_part", BOTH), ("nolima_contains", BOTH),
)  # fmt: skip
NO_KEYWORD = ("edit", "word_f1", "char_f1", "exact", "cdme", "cdme_trim", "ruler_part", "nolima_contains")


class Agreement(NamedTuple):
    """How well one metric agrees with the judge. `apart`, `best_apart`: on how many it does not, by threshold."""

    metric: str
    keywords: tuple[str, ...]
    auc: float
    spearman: float
    threshold: float
    apart: int
    best_threshold: float
    best_apart: int


def read_answers() -> list[dict[str, Any]]:
    """The answers with their verdicts."""
    with ANSWERS.open(encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def judged(answers: Sequence[dict[str, Any]], metrics: Sequence[str], keywords: Sequence[str]) -> pl.DataFrame:
    """Statuses, findings and scores of the answers, as the scorer computes them."""
    count = len(answers)
    none = pl.Series([None] * count, dtype=pl.String)
    frame = pl.DataFrame(
        {
            "sample": [0] * count, "text": [answer["model_response"] for answer in answers], "reasoning": none,
            "finish": none, "error": none, "metric": ["keyword"] * count, "needle_id": [NEEDLE.id] * count,
        }
    )  # fmt: skip
    target = Target(NEEDLE.answers, tuple((word,) for word in keywords), NEEDLE.needles, language=NEEDLE.language)
    codes = pl.repeat(0, count, dtype=pl.UInt32, eager=True)
    return score_chunk(frame, codes, [target], ScoringOptions(tuple(metrics)))


def agreement(metric: str, keywords: tuple[str, ...], scores: Sequence[float], verdicts: Sequence[int]) -> Agreement:
    """Area under the curve, rank correlation and disagreements of one metric's scores."""
    values, ratings = np.array(scores), np.array(verdicts)
    right = ratings >= RIGHT
    ranks = _ranks(values)
    count = int(right.sum())
    auc = (ranks[right].sum() - count * (count + 1) / 2) / (count * (len(right) - count))
    spread = values.std() > 0
    spearman = float(np.corrcoef(ranks, _ranks(ratings))[0, 1]) if spread else 0.0
    threshold = FULL if metric in FULL_ONLY else HALF
    # With a threshold above all scores, nothing counts as right.
    candidates = [*np.unique(values).tolist(), np.inf]
    best_apart, best = min((int(((values >= at) != right).sum()), at) for at in candidates)
    apart = int(((values >= threshold) != right).sum())
    return Agreement(metric, keywords, float(auc), spearman, threshold, apart, best, best_apart)


def _ranks(values: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Ranks from 1, ties sharing the mean of theirs."""
    _, places, counts = np.unique(values, return_inverse=True, return_counts=True)
    mean: np.ndarray[Any, Any] = (np.cumsum(counts) - (counts - 1) / 2)[places]
    return mean


def agreements(answers: Sequence[dict[str, Any]]) -> list[Agreement]:
    """The agreement of every metric in MEASURED."""
    verdicts = [answer["score"] for answer in answers]
    results = []
    for keywords in dict.fromkeys(keywords for _, keywords in MEASURED):
        metrics = [metric for metric, own in MEASURED if own == keywords]
        scores = judged(answers, metrics, keywords)
        results += [agreement(metric, keywords, scores[metric].to_list(), verdicts) for metric in metrics]
    return sorted(results, key=lambda one: MEASURED.index((one.metric, one.keywords)))


def agreement_table(results: Sequence[Agreement]) -> str:
    """The table of docs/metrics.md."""
    lines = [
        "| metric | keywords | AUC | Spearman | apart at its threshold | apart at the best |",
        "|---|---|---|---|---|---|",
    ]
    for one in results:
        keywords = "" if one.metric in NO_KEYWORD else ", ".join(one.keywords)
        best = "none" if one.best_threshold == np.inf else f"{one.best_threshold:.4g}"
        lines.append(
            f"| `{one.metric}` | {keywords} | {one.auc:.4f} | {one.spearman:.3f} | {one.apart} at {one.threshold:.0f} "
            f"| {one.best_apart} at {best} |"
        )
    return "\n".join(lines)


def main() -> None:
    if not ANSWERS.is_file():
        sys.exit(f"needs {ANSWERS}: real answers that are not part of the repository")
    answers = read_answers()
    print(agreement_table(agreements(answers)))


if __name__ == "__main__":
    main()
