"""Draws one grid on matplotlib's axes, as a panel of a picture: its cells, marks and line of means."""

from __future__ import annotations

from math import nan
from typing import TYPE_CHECKING, Any

from niah_score.report.charts.labels import Kind, cells_of_few, depth_labels, kind_of, length_labels, points
from niah_score.report.charts.lettering import width_of
from niah_score.report.charts.palette import DARK, Palette

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from niah_score.report.charts.grid import Grid
    from niah_score.statistics.figures import Figure

TICK = 8.5  # size of text, points
GREY, PALE, SILENT, FRAME, HATCH = "#555555", "#eeeeee", "#d4d4d4", "#bbbbbb", "#8a8a8a"
HATCHED = "//////"
DOT: dict[str, Any] = {"marker": "o", "markersize": 2.6, "markeredgewidth": 0.7, "markerfacecolor": "white"}
_NUMBER = 7.5


def draw_frame(axes: Axes) -> None:
    """Thin grey lines around axes."""
    for side in axes.spines.values():
        side.set_linewidth(0.6)
        side.set_color(FRAME)


class Panel:
    """One grid and its measures in inches: `width` and `height` of all cells, the room `left` of and `below` them.

    `cells`: in drawing order. `shown`: the means of those with a score to show. `line`: how far down the line is at
    each length, None in a gap. `across`, `down`: columns and rows to a label. `number`: size of numbers in cells, in
    points; None if they do not fit.
    """

    def __init__(self, grid: Grid, palette: Palette, *, alone: bool) -> None:
        self.grid = grid
        self.palette = palette
        self.cells = sorted(grid.cells.items())
        self.shown = {
            place: cell.mean
            for place, cell in self.cells
            if cell.mean is not None and kind_of(cell) is not Kind.UNANSWERED
        }
        self.line = [None if mean is None or mean.mean is None else self._down(mean.mean) for mean in grid.means]
        columns, rows = len(grid.lengths), len(grid.depths)
        self.width = min(max(columns * 0.66, 3.4), 13.5 if alone else 7.0)
        self.height = min(max(rows * 0.27, 1.8), 8.2 if alone else 6.0)
        self.cell_width, self.cell_height = self.width / columns, self.height / rows
        self.lengths, self.depths = length_labels(grid.lengths), depth_labels(grid.depths)
        self.across = max(1, round(0.18 / self.cell_width + 0.49))
        self.down = max(1, round(0.135 / self.cell_height + 0.49))
        widest = max(width_of(label, TICK) for label in self.lengths[:: self.across])
        self.turned = widest > 0.88 * self.cell_width * self.across
        self.left = max(width_of(label, TICK) for label in self.depths) + 0.42
        self.below = (0.72 * widest + 0.18 if self.turned else 0.22) + 0.2
        # Numbers only where the line leaves room beside it.
        size = min(_NUMBER, self.cell_height * 72 * 0.66)
        least = 0.6 if grid.kind == "difference" else 0.5
        self.number = size if size >= 6 and self.cell_width >= least else None

    def draw(self, axes: Axes) -> None:
        """The cells with their numbers and marks, the line over them, ticks and labels."""
        grid = self.grid
        axes.set_xlim(0, len(grid.lengths))
        axes.set_ylim(len(grid.depths), 0)
        axes.set_facecolor("white")
        draw_frame(axes)
        self._draw_cells(axes)
        self._draw_numbers(axes)
        self._draw_marks(axes)
        self._draw_means(axes)
        places = range(0, len(grid.lengths), self.across)
        turn: dict[str, Any] = {"rotation": 45, "ha": "right", "rotation_mode": "anchor"} if self.turned else {}
        axes.set_xticks([at + 0.5 for at in places], [self.lengths[at] for at in places], fontsize=TICK, **turn)
        places = range(0, len(grid.depths), self.down)
        axes.set_yticks([at + 0.5 for at in places], [self.depths[at] for at in places], fontsize=TICK)
        axes.tick_params(length=0, pad=3)
        axes.set_xlabel("Token Limit", fontsize=TICK + 0.5, labelpad=3)
        axes.set_ylabel("Depth Percent", fontsize=TICK + 0.5, labelpad=3)

    def _draw_cells(self, axes: Axes) -> None:
        from matplotlib.collections import PatchCollection
        from matplotlib.patches import Rectangle

        gap = 0.7 if min(self.cell_width, self.cell_height) > 0.12 else 0.2
        by_kind: dict[Kind, list[tuple[tuple[int, int], Figure]]] = {kind: [] for kind in Kind}
        for place, cell in self.cells:
            by_kind[kind_of(cell)].append((place, cell))
        for kind, cells in by_kind.items():
            if not cells:
                continue
            silent = kind is Kind.UNANSWERED
            colours = [PALE if cell.mean is None else self.palette.colour(cell.mean) for _, cell in cells]
            axes.add_collection(
                PatchCollection(
                    [Rectangle(place, 1, 1) for place, _ in cells],
                    facecolor=[SILENT] * len(cells) if silent else colours,
                    edgecolor=HATCH if silent else "white",
                    linewidth=0 if silent else gap,
                    hatch=HATCHED if silent else None,
                )
            )

    def _draw_numbers(self, axes: Axes) -> None:
        from matplotlib.patheffects import Stroke

        if self.number is None:
            return
        for (column, row), mean in self.shown.items():
            text = points(mean, self.grid.kind)
            text = f"({text})" if (column, row) in self.grid.noise else text
            side, size = self._side_of_number(column, row), self.number
            if side != 0.5:
                size *= min(1.0, 0.42 * self.cell_width / width_of(text, size))
            style: dict[str, Any] = {"fontsize": size, "ha": "center", "va": "center_baseline"}
            x, y = column + side, row + 0.53
            if self._may_be_crossed(column, row):
                colour = self.palette.colour(mean)
                halo = [Stroke(linewidth=1.8, foreground=colour)]
                axes.text(x, y, text, color=colour, path_effects=halo, zorder=5.9, **style)
            axes.text(x, y, text, color=self.palette.ink(mean), zorder=6, **style)

    def _draw_marks(self, axes: Axes) -> None:
        """Corners on cells with unanswered rows; dots on cells of few rows and, without numbers, on noise."""
        from matplotlib.collections import PatchCollection
        from matplotlib.patches import Polygon

        size = min(0.075, self.cell_width / 3, self.cell_height / 2.5)
        x, y = size / self.cell_width, size / self.cell_height
        corners = [
            Polygon([(column + 1 - x, row), (column + 1, row), (column + 1, row + y)])
            for (column, row), cell in self.cells
            if kind_of(cell) is Kind.PARTLY
        ]
        axes.add_collection(PatchCollection(corners, facecolor=DARK, edgecolor="white", linewidth=0.5, zorder=5))
        right, down = 1 - 0.06 / self.cell_width, 1 - 0.055 / self.cell_height
        few, noise = cells_of_few(self.grid), self.grid.noise if self.number is None else ()
        dots = (
            ([(column + right, row + down) for column, row in self.shown if (column, row) in few], DARK),
            ([(column + 0.5, row + 0.5) for column, row in self.shown if (column, row) in noise], GREY),
        )
        for places, colour in dots:
            if places:
                axes.plot(*zip(*places, strict=True), linestyle="", markeredgecolor=colour, zorder=5, **DOT)

    def _down(self, value: float) -> float:
        """How far down, in rows, the line shows a value: on the colour bar's scale, its high end at the top."""
        share = (value - self.palette.low) / (self.palette.high - self.palette.low)
        return len(self.grid.depths) * (1 - min(1.0, max(0.0, share)))

    def _side_of_number(self, column: int, row: int) -> float:
        """Where across a cell its number goes: in the middle, or on the side that the line is farther from."""
        mean, here = self.grid.means[column], self.line[column]
        if mean is None or here is None:
            return 0.5
        ends = [here, *(self._down(end) for end in (mean.low, mean.high) if end is not None)]
        room = 0.13 / self.cell_height
        if not min(ends) - room < row + 0.5 < max(ends) + room:
            return 0.5
        away = {}
        for side, other in ((0.24, column - 1), (0.76, column + 1)):
            near = self.line[other] if 0 <= other < len(self.line) else None
            there = here if near is None else near
            away[side] = abs(here + (there - here) * 0.26 - row - 0.5)
        return 0.24 if away[0.24] >= away[0.76] else 0.76

    def _may_be_crossed(self, column: int, row: int) -> bool:
        """Whether the line may pass a cell."""
        near = [down for down in self.line[max(column - 1, 0) : column + 2] if down is not None]
        return bool(near) and min(near) - 0.6 < row + 0.5 < max(near) + 0.6

    def _draw_means(self, axes: Axes) -> None:
        """The line, and the interval of each mean."""
        from matplotlib.patheffects import Normal, Stroke

        if self.grid.kind == "difference":
            zero = len(self.grid.depths) / 2
            axes.axhline(zero, color=GREY, linewidth=0.7, linestyle=(0, (4, 3)), zorder=3)
        dots = [(at + 0.5, down) for at, down in enumerate(self.line) if down is not None]
        if not dots:
            return
        for at, mean in enumerate(self.grid.means):
            if mean is not None and mean.low is not None and mean.high is not None:
                axes.plot(
                    [at + 0.5] * 2, [self._down(mean.low), self._down(mean.high)], color="white", linewidth=1.2,
                    zorder=4, solid_capstyle="butt", path_effects=[Stroke(linewidth=2.6, foreground=DARK), Normal()],
                )  # fmt: skip
        outline = [Stroke(linewidth=3.6, foreground=DARK), Normal()]
        axes.plot(
            [at + 0.5 for at in range(len(self.line))], [nan if down is None else down for down in self.line],
            color="white", linewidth=2, zorder=4.2, path_effects=outline, clip_on=False,
        )  # fmt: skip
        axes.plot(
            *zip(*dots, strict=True), linestyle="", marker="o", markersize=5.5 if self.cell_width > 0.25 else 3.5,
            markerfacecolor="white", markeredgecolor=DARK, markeredgewidth=0.9, zorder=4.4, clip_on=False,
        )  # fmt: skip
