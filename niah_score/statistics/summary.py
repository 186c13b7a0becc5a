"""Summarises scored rows: every figure but the cells, as summary.json holds them.

Rows of controls count in `rows`, `statuses`, `findings`, the group `control` and `controls`, and nowhere else.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from niah_score.scoring.findings import FINDINGS
from niah_score.scoring.statuses import STATUSES
from niah_score.statistics.controls import controls_of
from niah_score.statistics.effective_length import NOLIMA_SHARE, as_record, effective_context_of, effective_length_of
from niah_score.statistics.figures import Figure, figures, figures_by_metric, groups_by_metric, overall_by_metric
from niah_score.statistics.needle_recall import needle_recall
from niah_score.statistics.scored import Scored, as_scored, coordinate_text

if TYPE_CHECKING:
    import polars as pl


def summary_of(scores: pl.DataFrame | Scored, metrics: Sequence[str] = ("score",)) -> dict[str, Any]:
    """Compute all figures but the cells, as a dict that gives the same JSON whatever the order of the rows.

    Null stands for a figure of no scores. rows = the sum over statuses = the sum over findings (`not_applicable`: rows
    without keywords).
    """
    scored = as_scored(scores)
    frame = scored.frame
    statuses, findings = (_counted(frame[name], known) for name, known in (("status", STATUSES), ("finding", FINDINGS)))
    assert sum(statuses.values()) == sum(findings.values()) == frame.height
    return {
        "controls": controls_of(scored),
        "findings": findings,
        "headline": headline_of(scored.asked),
        "metrics": _metric_summaries(scored, sorted(set(metrics))),
        "needle_recall": needle_recall(scored.asked).to_dicts(),
        "rows": frame.height,
        "statuses": statuses,
    }


def headline_of(scored: Scored) -> dict[str, Any]:
    """The score of a run: mean and intervals (points), n, and the `parts` that it is made of, with their weights.

    The mean is the weighted mean of the parts' means. A part weighs as much as it has rows with a score, so that the
    headline is the mean of all of them; weights add up to 1. Rows without the column `part` are one, with a null name.
    """

    (whole,) = figures(scored, "score", scored.together, 1)
    part = scored.factor("part")
    found = figures(scored, "score", part.codes, len(part.values))
    parts = [_part(name, figure, whole.n) for name, figure in zip(part.values, found, strict=True)]
    ends = {name: getattr(whole, name) for name in ("high", "high_these", "low", "low_these")}
    return dict(sorted({**ends, "mean": whole.mean, "n": whole.n, "parts": parts}.items()))


def _part(name: str | None, figure: Figure, n: int) -> dict[str, Any]:
    return {"mean": figure.mean, "n": figure.n, "name": name, "weight": figure.n / n if n else 0.0}


def _counted(column: pl.Series, known: Sequence[str]) -> dict[str, int]:
    counts = dict.fromkeys(known, 0)
    for value, count in column.value_counts().iter_rows():
        counts["not_applicable" if value is None else value] = count
    return dict(sorted(counts.items()))


def _metric_summaries(scored: Scored, metrics: Sequence[str]) -> dict[str, Any]:
    asked, control = scored.asked, scored.factor("control")
    wholes, by_group = overall_by_metric(asked, metrics), groups_by_metric(asked, metrics)
    named = {name: asked.factor(name).values for name in by_group}
    if asked is not scored:
        named["control"] = control.values
        by_group["control"] = figures_by_metric(scored, metrics, control.codes, len(control.values))
    length = asked.factor("length").values
    places, codes = asked.crossed("length", "depth_percent")
    cells = figures_by_metric(asked, metrics, codes, len(places))
    summaries = {}
    for place, (metric, whole) in enumerate(zip(metrics, wholes, strict=True)):
        # Where no row has a length, all are those of the null one.
        of_lengths = by_group["length"][place] if "length" in by_group else [whole.of_rows] * len(length)
        by_length = list(zip(length, of_lengths, strict=True))
        context = effective_context_of(list(zip(places, cells[place], strict=True)))
        summaries[metric] = {
            "effective_length": {
                "context": dict(sorted(as_record(context).items())),
                "nolima": dict(sorted(as_record(effective_length_of(by_length, share_of_base=NOLIMA_SHARE)).items())),
                "ruler": dict(sorted(as_record(effective_length_of(by_length)).items())),
            },
            "groups": {
                name: [
                    dict(sorted({"value": coordinate_text(value), **figure._asdict()}.items()))
                    for value, figure in zip(named[name], found[place], strict=True)
                ]
                for name, found in sorted(by_group.items())
            },
            "overall": dict(sorted(whole.of_rows._asdict().items())),
            "overall_of_lengths": dict(sorted(whole.of_lengths._asdict().items())),
        }
    return summaries
