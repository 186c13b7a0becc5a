"""Figures by length and depth, whatever they were read from: what heatmaps and tables for people are drawn of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from niah_score.aggregate import Figure


@dataclass(frozen=True)
class Grid:
    """One run's scores (points, 0 to 100), or the differences of two (-100 to 100), by depth (down) and length (across).

    `lengths`: tokens, rising. `depths`: percent, rising. `cells`: by (index of the length, index of the depth); where no
    row stands there is none. `means`: of each length, None where none has a score. `overall`: what the title states.
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
