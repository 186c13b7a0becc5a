"""Computes the headline: the score of a run, and of each of its parts."""

from __future__ import annotations

from typing import Any

from niah_score.statistics.figures import figures
from niah_score.statistics.intervals import ends_of
from niah_score.statistics.scored import Scored

# The metric that is 100 only if everything is right and nothing false.
_F1 = "keyword_f1"


def headline_of(scored: Scored, metric: str = "score") -> dict[str, Any]:
    """The score of a run: mean and intervals (points), n, and its `parts` with their weights.

    `scored`: the rows that are not controls; `metric`: the one to use, by default each row's own score. The mean is the
    weighted mean of the parts' means. `weighed_by` names the weights: `manifest`, those that the dataset gives to the
    parts that have a score; or `rows`, each part's number of rows with a score, so that the headline is the mean of all
    rows. Weights add up to 1. Without the column `part`, all rows are one part with a null name. A part of weight 0 is
    listed but not in the mean. Parts are in the order of the manifest.

    `all_right` of a part judged only by `keyword_f1`: the percentage of its rows that name everything asked for and
    nothing false, with intervals and n; null for other parts.
    """
    counted = scored.counted
    (whole,) = figures(counted, metric, counted.together, 1)
    part = scored.factor("part")
    of_parts = figures(scored, metric, part.codes, len(part.values))
    weights = [scored.weight_of(name) * (figure.n > 0) for name, figure in zip(part.values, of_parts, strict=True)]
    if scored.weights is None:
        weights = [float(figure.n) for figure in of_parts]
    largest = max(weights, default=0.0) or 1.0
    total = sum(weight / largest for weight in weights) or 1.0
    all_right = _all_right(scored) if metric == "score" else [None] * len(part.values)
    parts = []
    order = [name for name in scored.weights or part.values if name in part.values]
    for number, name in ((part.values.index(name), name) for name in order):
        figure = of_parts[number]
        about: dict[str, Any] = {
            "mean": figure.mean, "n": figure.n, "name": name, "rows": figure.rows, "unanswered": figure.unanswered,
            "all_right": all_right[number], "weight": weights[number] / largest / total,
        }  # fmt: skip
        parts.append(dict(sorted({**ends_of(figure), **about}.items())))
    weighed_by = "rows" if scored.weights is None else "manifest"
    return dict(
        sorted({**ends_of(whole), "mean": whole.mean, "n": whole.n, "parts": parts, "weighed_by": weighed_by}.items())
    )


def _all_right(scored: Scored) -> list[dict[str, Any] | None]:
    """For each part judged only by F1, the percentage of rows with the full score; null for other parts."""
    import polars as pl

    part, metric = scored.factor("part"), scored.factor("metric")
    if _F1 not in metric.values:
        return [None] * len(part.values)
    judged: list[set[Any]] = [set() for _ in part.values]
    for name, of_part in scored.crossed("metric", "part")[0]:
        judged[part.values.index(of_part)].add(name)
    rows = scored.mapped("score", lambda scores: 100.0 * (scores.fill_nan(None) >= 100 - 1e-9).cast(pl.Float64))
    of_parts = figures(rows, "score", part.codes, len(part.values))
    return [
        dict(sorted({**ends_of(figure), "mean": figure.mean, "n": figure.n}.items())) if names == {_F1} else None
        for names, figure in zip(judged, of_parts, strict=True)
    ]
