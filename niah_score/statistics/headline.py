"""Computes the headline: the score of a run, and the parts that it is made of."""

from __future__ import annotations

from typing import Any

from niah_score.statistics.figures import Figure, figures
from niah_score.statistics.scored import Scored

# The metric that reaches 100 only where everything is right and nothing false.
_SHARED_OUT = "keyword_f1"
_ENDS = ("high", "high_these", "low", "low_these")


def headline_of(scored: Scored, metric: str = "score") -> dict[str, Any]:
    """The score of a run: mean and intervals (points), n, and the `parts` that it is made of, with their weights.

    `scored`: the rows of no control; `metric`: by which they are scored, if not each by its own. The mean is the
    weighted mean of the parts' means. `weighed_by` says with which weights: `manifest`, those that the dataset gives
    its parts, of the parts that have a score; or `rows`, as many as a part has with a score, so that the headline is
    the mean of all rows. Weights add up to 1. Rows without the column `part` are one, with a null name. A part of
    weight 0 is listed, and not in the mean. Parts stand in the order of the manifest.

    `all_right` of a part that is judged by `keyword_f1` alone: how many percent of its rows name everything asked for
    and nothing false, with intervals and n; null for others.
    """
    counted = scored.counted
    (whole,) = figures(counted, metric, counted.together, 1)
    part = scored.factor("part")
    found = figures(scored, metric, part.codes, len(part.values))
    weights = [scored.weight_of(name) * (figure.n > 0) for name, figure in zip(part.values, found, strict=True)]
    if scored.weights is None:
        weights = [float(figure.n) for figure in found]
    largest = max(weights, default=0.0) or 1.0
    total = sum(weight / largest for weight in weights) or 1.0
    all_right = _all_right(scored) if metric == "score" else [None] * len(part.values)
    parts = []
    order = [name for name in scored.weights or part.values if name in part.values]
    for place, name in ((part.values.index(name), name) for name in order):
        figure = found[place]
        about = {"mean": figure.mean, "n": figure.n, "name": name, "rows": figure.rows, "unanswered": figure.unanswered}
        weight = weights[place] / largest / total
        parts.append(dict(sorted({**_ends(figure), **about, "all_right": all_right[place], "weight": weight}.items())))
    weighed_by = "rows" if scored.weights is None else "manifest"
    return dict(
        sorted({**_ends(whole), "mean": whole.mean, "n": whole.n, "parts": parts, "weighed_by": weighed_by}.items())
    )


def _ends(figure: Figure) -> dict[str, float | None]:
    return {name: getattr(figure, name) for name in _ENDS}


def _all_right(scored: Scored) -> list[dict[str, Any] | None]:
    """For each part judged by F1 alone, the percent of rows with the full score; nothing else reaches it."""
    import polars as pl

    part, metric = scored.factor("part"), scored.factor("metric")
    if _SHARED_OUT not in metric.values:
        return [None] * len(part.values)
    judged: list[set[Any]] = [set() for _ in part.values]
    for name, of_part in scored.crossed("metric", "part")[0]:
        judged[part.values.index(of_part)].add(name)
    rows = scored.mapped("score", lambda scores: 100.0 * (scores.fill_nan(None) >= 100 - 1e-9).cast(pl.Float64))
    found = figures(rows, "score", part.codes, len(part.values))
    return [
        dict(sorted({**_ends(figure), "mean": figure.mean, "n": figure.n}.items())) if names == {_SHARED_OUT} else None
        for names, figure in zip(judged, found, strict=True)
    ]
