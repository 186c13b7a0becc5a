"""Words the text around a heatmap: tick labels, kinds of cells, subtitle and note.

A figure whose `method` is `table` is a mean from somebody else's table; how many rows it comes from is unknown.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from statistics import median
from typing import TYPE_CHECKING

from niah_score.text.visible import one_line

if TYPE_CHECKING:
    from niah_score.report.charts.grid import Grid
    from niah_score.statistics.figures import Figure

TABLE = "table"
# A cell with fewer rows says next to nothing on its own.
FEW = 5
_EXACT_LABELS = 12


class Kind(Enum):
    """What a cell shows, and how the legend names it."""

    SCORED = "scored"
    PARTLY = "some rows without an answer"
    UNANSWERED = "no answer"
    UNSCORED = "no score (metric does not apply)"


def kind_of(cell: Figure) -> Kind:
    """What a cell shows. One without any answer is not shown as wrong, even if it counts as 0."""
    if cell.unanswered and (cell.mean is None or cell.unanswered >= cell.rows):
        return Kind.UNANSWERED
    if cell.mean is None:
        return Kind.UNSCORED
    return Kind.PARTLY if cell.unanswered else Kind.SCORED


def unanswered_label(grids: Sequence[Grid]) -> str:
    """The legend's name for cells without any answer, which says whether they count in the means."""
    counted = {
        cell.mean is not None for grid in grids for cell in grid.cells.values() if kind_of(cell) is Kind.UNANSWERED
    }
    more = " (counted as 0)" if counted == {True} else " (not counted)" if counted == {False} else ""
    return f"{Kind.UNANSWERED.value}{more}"


def cells_of_few(grid: Grid) -> frozenset[tuple[int, int]]:
    """The cells with too few rows to say anything, in a grid whose cells mostly have enough."""
    if not grid.cells or median(cell.n for cell in grid.cells.values()) < FEW:
        return frozenset()
    return frozenset(place for place, cell in grid.cells.items() if 0 < cell.n < FEW and cell.method != TABLE)


def length_labels(lengths: Sequence[float]) -> list[str]:
    """Numbers of tokens as people write them: 1k, 1.5k, 32k, 1M, 4,096; rounded (24.4k) if there are many."""
    rounded = [_tokens(length, 3) for length in lengths]
    exact = [_tokens(length, None) for length in lengths]
    return rounded if len(lengths) > _EXACT_LABELS and len(set(rounded)) == len(lengths) else exact


def _tokens(length: float, digits: int | None) -> str:
    """Rounded if `digits` is given, else exact."""
    for size, letter in ((1_000_000, "M"), (1_000, "k")):
        if length >= size:
            short = f"{length / size:.3g}"
            if digits is not None or abs(float(short) * size - length) < 1e-6:
                return f"{float(short):g}{letter}"
    return f"{length:,.0f}" if float(length).is_integer() else f"{length:,g}"


def depth_labels(depths: Sequence[float]) -> list[str]:
    """Percent with one decimal, or with up to three if that is needed to tell them apart; no trailing zeros."""
    labels: list[str] = []
    for decimals in (1, 2, 3):
        labels = [f"{depth:.{decimals}f}".rstrip("0").rstrip(".") for depth in depths]
        if len(set(labels)) == len(labels):
            break
    return labels


def points(value: float, kind: str = "scores") -> str:
    """A score for a small cell: whole points, differences with a sign. Only a full 100 reads 100."""
    if kind == "difference":
        return f"{value:+.0f}".replace("-", "−") if round(value) else "0"
    return "99" if 99 <= value < 100 else f"{value:.0f}"


def interval_text(figure: Figure, kind: str = "scores") -> str:
    """A mean with its interval: 87.3 [84.1, 90.2]."""
    if figure.mean is None:
        return "none"

    def signed(value: float) -> str:
        value = round(value, 1)
        return (f"{value:+.1f}" if kind == "difference" and value else f"{abs(value):.1f}").replace("-", "−")

    ends = "" if figure.low is None or figure.high is None else f" [{signed(figure.low)}, {signed(figure.high)}]"
    return f"{signed(figure.mean)}{ends}"


def subtitle(grid: Grid) -> str:
    """The line below the model's name: the overall figure."""
    if grid.overall is None or grid.overall.mean is None:
        return "no score"
    return f"overall {interval_text(grid.overall, grid.kind)}"


def note(grid: Grid, *, with_dataset: bool = True) -> str:
    """What the picture shows, on one line: metric, dataset, rows, rows per cell and the width of its interval."""
    cells = list(grid.cells.values())
    parts = [f"metric {one_line(grid.metric)}"]
    if with_dataset and grid.dataset:
        parts.append(f"dataset {one_line(grid.dataset)}")
    counted = [cell for cell in cells if cell.method != TABLE]
    if len(counted) < len(cells):
        parts.append("means as the table gives them, numbers of rows unknown")
    elif counted:
        rows, scored = sum(cell.rows for cell in counted), sum(cell.n for cell in counted)
        silent = sum(cell.unanswered for cell in counted)
        text = f"{rows:,} row{'s' * (rows != 1)}"
        text += f", {scored:,} scored" if scored < rows else ""
        parts.append(text + (f", {silent:,} without an answer" if silent else ""))
        parts.append(_of_cells(counted))
    return " · ".join(parts)


def _of_cells(cells: Sequence[Figure]) -> str:
    numbers = sorted({cell.n for cell in cells if cell.n})
    if not numbers:
        return "no score in any cell"
    text = f"n {numbers[0]} a cell" if len(numbers) == 1 else f"n {numbers[0]} to {numbers[-1]} a cell"
    halves = [(cell.high - cell.low) / 2 for cell in cells if cell.low is not None and cell.high is not None]
    if halves:
        text += f", 95 % interval typically ±{median(halves):.0f} points"
    return text
