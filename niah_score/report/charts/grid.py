"""Computes from scored rows the grids of figures, by length and depth, that heatmaps show."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from niah_score.errors import ScoreError
from niah_score.statistics.figures import Figure, by_length_and_depth, overall
from niah_score.statistics.scored import Scored, as_scored

if TYPE_CHECKING:
    import polars as pl

# Lengths or depths in a picture. With more, cells are smaller than a line is wide.
MOST = 120


@dataclass(frozen=True)
class Grid:
    """One run's scores (points, 0 to 100), or differences of two (-100 to 100), by depth (down) and length (across).

    `lengths`: tokens, rising. `depths`: percent, rising. `cells`: by (index of the length, index of the depth), without
    those that have no rows. `means`: of each length, None if it has no score. `overall`: the figure in the title.
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
    """Why a grid cannot be drawn, if it has more lengths or depths than a reader can distinguish; else None."""
    for name, values in (("lengths", grid.lengths), ("depths", grid.depths)):
        if len(values) > MOST:
            return f"{len(values):,} {name}, and a heatmap shows at most {MOST}; round the {name} of the dataset's rows"
    return None


def has_grid(scores: Scored) -> bool:
    """Whether any row has both a length and a depth."""
    return any(None not in place for place in scores.crossed("length", "depth_percent")[0])


def grid_of(
    scores: Scored | pl.DataFrame,
    metric: str = "score",
    language: str | None = None,
    *,
    model: str = "model",
    dataset: str = "",
) -> Grid:
    """The figures of one metric by length and depth, over the rows that have both (only those of `language`, if given).

    `means`: for each length the mean of its depths' means, however many rows they have; `overall`: the mean of those.
    OpenCompass's plots and NeedleBench average like this. `model` and `dataset` name what is drawn.
    Raises ScoreError if no row has a length and a depth, no such row is in the language, or the metric is unknown.
    """
    import polars as pl

    scored = as_scored(scores)
    if not has_grid(scored):
        raise ScoreError("no row has a length and a depth: there is nothing to draw")
    wanted = ~(scored.where("length", None) | scored.where("depth_percent", None))
    kept = pl.Series(wanted if language is None else wanted & scored.where("language", language))
    if not kept.any():
        there = ", ".join(str(name) for name in scored.factor("language").values if name is not None)
        raise ScoreError(f"language: no row with a length and a depth is in {language!r}; the rows are in {there}")
    if not kept.all():
        scored = scored.cut_to(kept)
    cells, means = by_length_and_depth(scored, metric)
    whole = overall(scored, metric).of_lengths
    return Grid(
        model=model,
        dataset=dataset if language is None else f"{dataset}, {language}" if dataset else language,
        metric=metric,
        lengths=tuple(scored.factor("length").values),
        depths=tuple(scored.factor("depth_percent").values),
        cells=cells,
        means=tuple(means),
        overall=whole if whole.n else None,
    )
