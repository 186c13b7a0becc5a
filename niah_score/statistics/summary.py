"""Summarises scored rows: every figure except the cells, as in summary.json.

Rows of controls count only in `rows`, `statuses`, `findings`, the group `control` and `controls`. Rows of a part of
weight 0 count only in `rows`, `statuses`, `findings`, the group `part`, and that part's entry in the headline.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from niah_score.scoring.findings import FINDINGS, STATUSES
from niah_score.statistics.cluster_sums import wide
from niah_score.statistics.controls import controls_of
from niah_score.statistics.effective_length import NOLIMA_SHARE, as_record, effective_length_of
from niah_score.statistics.figures import Figure, Overall, figures_by_metric, groups_by_metric, overall_by_metric
from niah_score.statistics.headline import headline_of
from niah_score.statistics.length_averages import length_averages
from niah_score.statistics.needle_recall import needle_recall
from niah_score.statistics.scored import Scored, as_scored, coordinate_text

if TYPE_CHECKING:
    import polars as pl


def summary_of(scores: pl.DataFrame | Scored, metrics: Sequence[str] = ("score",)) -> dict[str, Any]:
    """Compute all figures except the cells, as a dict whose JSON does not depend on the order of the rows.

    Figures without scores are null. rows = sum over statuses = sum over findings (`not_applicable`: rows without
    keywords).
    """
    scored = as_scored(scores)
    statuses, findings = (
        _counted(scored, name, known) for name, known in (("status", STATUSES), ("finding", FINDINGS))
    )
    assert sum(statuses.values()) == sum(findings.values()) == scored.height
    return {
        "controls": controls_of(scored),
        "findings": findings,
        "guess_rates": _guess_rates(scored),
        "headline": headline_of(scored.asked),
        "metrics": _metric_summaries(scored, sorted(set(metrics))),
        "needle_recall": needle_recall(scored.counted).to_dicts(),
        "rows": scored.height,
        "statuses": statuses,
    }


def _guess_rates(scored: Scored) -> list[dict[str, Any]]:
    """What guessing would score, for each metric with a part `guess`: a mean for each kind of needle asked for."""
    import numpy as np

    rows = scored.counted
    kinds = rows.factor("needle_id")
    rates = []
    for name in sorted(rows.names):
        metric, _, part = name.rpartition(".")
        if part != "guess":
            continue
        guesses = rows.levels(name)
        of_kinds: dict[int, Counter[float]] = {}
        size = len(guesses.values)
        keys, counts = np.unique(wide(kinds.codes, max(size, 1), guesses.codes), return_counts=True)
        for key, count in zip(keys.tolist(), counts.tolist(), strict=True):
            code, place = divmod(key, size)
            if guesses.values[place] is not None:
                of_kinds.setdefault(code, Counter())[guesses.values[place]] += count
        for code, some in sorted(of_kinds.items()):
            n, needle = some.total(), coordinate_text(kinds.values[code])
            mean = math.fsum(some.elements()) / n
            rates.append({"mean": mean, "metric": metric, "needle": needle, "rows": n})
    return rates


def _counted(scored: Scored, name: str, known: Sequence[str]) -> dict[str, int]:
    counts = dict.fromkeys(known, 0)
    for value, count in scored.counts(name).items():
        counts["not_applicable" if value is None else value] = count
    return _sorted(counts)


def _metric_summaries(scored: Scored, metrics: Sequence[str]) -> dict[str, Any]:
    counted = scored.counted
    wholes = overall_by_metric(counted, metrics)
    by_group = _figures_of_groups(scored, metrics, wholes)
    length = counted.factor("length").values
    summaries = {}
    for place, (metric, whole) in enumerate(zip(metrics, wholes, strict=True)):
        # Without lengths, all rows are in the group of the null one.
        of_lengths = by_group["length"][1][place] if "length" in by_group else [whole.of_rows] * len(length)
        by_length = list(zip(length, of_lengths, strict=True))
        averages = length_averages([figure.mean for size, figure in by_length if size is not None])
        summaries[metric] = {
            "effective_length": {
                "nolima": _sorted(as_record(effective_length_of(by_length, share_of_base=NOLIMA_SHARE))),
                "ruler": _sorted(as_record(effective_length_of(by_length))),
            },
            "groups": {
                name: [
                    _sorted({"value": coordinate_text(value), **figure._asdict()})
                    for value, figure in zip(values, of_values[place], strict=True)
                ]
                for name, (values, of_values) in sorted(by_group.items())
            },
            "length_averages": _sorted(averages._asdict()),
            "overall": _sorted(whole.of_rows._asdict()),
            "overall_of_lengths": _sorted(whole.of_lengths._asdict()),
        }
    return summaries


def _figures_of_groups(
    scored: Scored, metrics: Sequence[str], wholes: Sequence[Overall]
) -> dict[str, tuple[list[Any], list[list[Figure]]]]:
    """As `groups_by_metric`, including the group `control`. `wholes`: the overall means of the metrics."""
    asked = scored.asked
    by_group = groups_by_metric(scored.counted, metrics, parts_of=asked)
    if asked is not scored:
        control = scored.factor("control")
        # Weights are for the headline; rows of controls all count the same.
        by_control = figures_by_metric(scored.unweighted, metrics, control.codes, len(control.values))
        if scored.weights is not None and control.values[-1] is None:
            by_control = [[*own[:-1], whole.of_rows] for own, whole in zip(by_control, wholes, strict=True)]
        by_group["control"] = control.values, by_control
    return by_group


def _sorted(record: Mapping[str, Any]) -> dict[str, Any]:
    return dict(sorted(record.items()))
