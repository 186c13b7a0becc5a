"""Figures by length and depth, whatever they were read from: what heatmaps and tables for people are drawn of."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from niah_score.errors import ScoreError

if TYPE_CHECKING:
    import polars as pl

    from niah_score.report.results import Report
    from niah_score.statistics.aggregate import Figure, Scored

# Lengths or depths of a picture. Cells of more are smaller than a line is wide.
MOST = 120


@dataclass(frozen=True)
class Grid:
    """One run's scores (points, 0 to 100), or differences of two (-100 to 100), by depth (down) and length (across).

    `lengths`: tokens, rising. `depths`: percent, rising. `cells`: by (index of the length, index of the depth); none
    where no row stands. `means`: of each length, None where none has a score. `overall`: what the title states.
    `noise`: the cells of a difference that chance would explain.
    """

    model: str
    dataset: str
    metric: str
    lengths: tuple[float, ...]
    depths: tuple[float, ...]
    cells: Mapping[tuple[int, int], Figure]
    means: tuple[Figure | None, ...]
    overall: Figure | None = None
    kind: Literal["scores", "difference"] = "scores"
    noise: frozenset[tuple[int, int]] = frozenset()


def too_fine(grid: Grid) -> str | None:
    """Why a grid cannot be drawn, if it has more lengths or depths than can be told apart; hand-made rows may."""
    for name, values in (("lengths", grid.lengths), ("depths", grid.depths)):
        if len(values) > MOST:
            return f"{len(values):,} {name}, and a heatmap shows at most {MOST}; round the {name} of the dataset's rows"
    return None


def has_grid(scores: pl.DataFrame) -> bool:
    """Whether any row has both a length and a depth."""
    found = {"length", "depth_percent"} <= set(scores.columns)
    return found and bool((scores["length"].is_not_null() & scores["depth_percent"].is_not_null()).any())


def grid_of(
    scores: Report | Scored | pl.DataFrame,
    metric: str = "score",
    language: str | None = None,
    *,
    model: str | None = None,
    dataset: str | None = None,
) -> Grid:
    """The figures of one metric by length and depth, of the rows that have both (of one language, if one is named).

    `means`: of each length the mean of its depths' means, whatever number of rows they have; `overall`: the mean of
    those. So do OpenCompass's plots and NeedleBench. `model` and `dataset` name what is drawn; a Report knows them.
    Raises ScoreError where no row has length and depth, or none is in the language, or the metric is unknown.
    """
    import numpy as np
    import polars as pl

    from niah_score.statistics.aggregate import Scored, figures, overall

    if not isinstance(scores, Scored | pl.DataFrame):  # a Report: importing it here would be a circle
        model = scores.model if model is None else model
        dataset = f"{scores.dataset} {scores.digest8}" if dataset is None else dataset
        scores = scores._scored
    scored = scores if isinstance(scores, Scored) else Scored(scores)
    if not has_grid(scored.frame):
        raise ScoreError("no row has a length and a depth: there is nothing to draw a heatmap of")
    wanted = pl.col("length").is_not_null() & pl.col("depth_percent").is_not_null()
    kept = scored.frame.filter(wanted if language is None else wanted & (pl.col("language") == language))
    if not kept.height:
        there = ", ".join(str(name) for name in scored.factor("language").values if name is not None)
        raise ScoreError(f"language: no row with a length and a depth is in {language!r}; the rows are in {there}")
    if kept.height < scored.frame.height:
        scored = Scored(kept)
    length, depth = scored.factor("length"), scored.factor("depth_percent")
    found, codes = np.unique(length.codes * len(depth.values) + depth.codes, return_inverse=True)
    places = [divmod(key, len(depth.values)) for key in found.tolist()]
    cells = dict(zip(places, figures(scored, metric, codes, len(places)), strict=True))
    # What a row counts, so that every depth of a length counts the same, and all together as many as there are.
    rows, depths = [0] * len(length.values), [0] * len(length.values)
    for (at, _), cell in cells.items():
        rows[at] += cell.n
        depths[at] += cell.n > 0
    shares = [rows[at] / (depths[at] * cell.n) if cell.n else 0.0 for (at, _), cell in cells.items()]
    drawn = figures(scored, metric, length.codes, len(length.values), np.array(shares)[codes])
    means = []
    for index, figure in enumerate(drawn):
        values = [cell.mean for (at, _), cell in cells.items() if at == index and cell.mean is not None]
        means.append(_around(figure, math.fsum(values) / len(values)) if values else None)
    whole = overall(scored, metric).of_lengths
    named = dataset or ""
    return Grid(
        model=model or "model",
        dataset=named if language is None else f"{named}, {language}" if named else language,
        metric=metric,
        lengths=tuple(length.values),
        depths=tuple(depth.values),
        cells=cells,
        means=tuple(means),
        overall=whole if whole.n else None,
    )


def _around(figure: Figure, mean: float) -> Figure:
    """A figure whose mean is summed another way; the interval holds it."""
    low = mean if figure.low is None else min(figure.low, mean)
    high = mean if figure.high is None else max(figure.high, mean)
    return figure._replace(mean=mean, low=low, high=high)
