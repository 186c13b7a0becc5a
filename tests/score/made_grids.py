"""Makes grids by hand, for tests of how they are drawn."""

from __future__ import annotations

from collections.abc import Mapping

from niah_score.report.charts.grid import Grid
from niah_score.statistics.intervals import Figure

NOTHING: Mapping[tuple[int, int], Figure | None] = {}


def figure(mean: float | None, n: int = 6, unanswered: int = 0, half: float = 10.0) -> Figure:
    """A figure of n scores and some rows without an answer."""
    if mean is None:
        return Figure(n + unanswered, 0, unanswered, None, None, None, "none")
    return Figure(n + unanswered, n, unanswered, mean, mean - half, mean + half, "wilson")


def grid(
    columns: int = 4,
    rows: int = 5,
    *,
    model: str = "gpt",
    changed: Mapping[tuple[int, int], Figure | None] = NOTHING,
    kind: str = "scores",
    noise: frozenset[tuple[int, int]] = frozenset(),
) -> Grid:
    """Scores that fall with the length; `changed` replaces cells, or removes those it maps to None."""
    cells = {
        (column, row): figure(100.0 - 90.0 * column / columns - row % 2)
        for column in range(columns)
        for row in range(rows)
    }
    for place, cell in changed.items():
        if cell is None:
            del cells[place]
        else:
            cells[place] = cell
    means: list[Figure | None] = []
    for column in range(columns):
        known = [cell.mean for (at, _), cell in cells.items() if at == column and cell.mean is not None]
        means.append(figure(sum(known) / len(known), 30) if known else None)
    shown = [mean.mean for mean in means if mean is not None and mean.mean is not None]
    return Grid(
        model=model,
        dataset="made 01234567",
        metric="score",
        lengths=tuple(1000 * (column + 1) for column in range(columns)),
        depths=tuple(100 * row / max(rows - 1, 1) for row in range(rows)),
        cells=cells,
        means=tuple(means),
        overall=figure(sum(shown) / len(shown), 100) if shown else None,
        kind=kind,  # type: ignore[arg-type]
        noise=noise,
    )
