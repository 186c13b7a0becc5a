"""Draws one grid on matplotlib's axes, a panel of a picture: its cells, marks and line of means."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from niah_score.report.charts.labels import Kind, cells_of_few, depth_labels, kind_of, length_labels, points
from niah_score.report.charts.lettering import width_of
from niah_score.report.charts.palette import DARK, Palette

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from niah_score.report.charts.grid import Grid

TICK = 8.5  # size of text, points
GREY, PALE, SILENT, FRAME, HATCH = "#555555", "#eeeeee", "#d4d4d4", "#bbbbbb", "#8a8a8a"
HATCHED = "//////"
_NUMBER = 7.5


class Panel:
    """One grid and its measures in inches: `width` and `height` of the cells, room `left` of and `below` them."""

    def __init__(self, grid: Grid, palette: Palette, *, alone: bool) -> None:
        self.grid = grid
        self.palette = palette
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
        # Numbers where the line leaves room beside it.
        size = min(_NUMBER, self.cell_height * 72 * 0.66)
        least = 0.6 if grid.kind == "difference" else 0.5
        self.number = size if size >= 6 and self.cell_width >= least else None

    def draw(self, axes: Axes) -> None:
        """The cells, the line over them, ticks and labels."""
        grid = self.grid
        axes.set_xlim(0, len(grid.lengths))
        axes.set_ylim(len(grid.depths), 0)
        axes.set_facecolor("white")
        for side in axes.spines.values():
            side.set_color(FRAME)
            side.set_linewidth(0.6)
        self._cells(axes)
        self._means(axes)
        places = range(0, len(grid.lengths), self.across)
        turn: dict[str, Any] = {"rotation": 45, "ha": "right", "rotation_mode": "anchor"} if self.turned else {}
        axes.set_xticks([at + 0.5 for at in places], [self.lengths[at] for at in places], fontsize=TICK, **turn)
        places = range(0, len(grid.depths), self.down)
        axes.set_yticks([at + 0.5 for at in places], [self.depths[at] for at in places], fontsize=TICK)
        axes.tick_params(length=0, pad=3)
        axes.set_xlabel("Token Limit", fontsize=TICK + 0.5, labelpad=3)
        axes.set_ylabel("Depth Percent", fontsize=TICK + 0.5, labelpad=3)

    def _cells(self, axes: Axes) -> None:
        from matplotlib.collections import PatchCollection
        from matplotlib.patches import Polygon, Rectangle
        from matplotlib.patheffects import Stroke

        grid, gap = self.grid, 0.7 if min(self.cell_width, self.cell_height) > 0.12 else 0.2
        drawn: dict[Kind, list[Rectangle]] = {kind: [] for kind in Kind}
        colours: dict[Kind, list[str]] = {kind: [] for kind in Kind}
        corners, few, noise, scarce = [], [], [], cells_of_few(grid)
        corner = min(0.075, self.cell_width / 3, self.cell_height / 2.5)
        for (column, row), cell in sorted(grid.cells.items()):
            kind = kind_of(cell)
            drawn[kind].append(Rectangle((column, row), 1, 1))
            colours[kind].append(self._fill(kind, cell.mean))
            if kind is Kind.PARTLY:
                x, y = corner / self.cell_width, corner / self.cell_height
                corners.append(Polygon([(column + 1 - x, row), (column + 1, row), (column + 1, row + y)]))
            if kind is Kind.UNANSWERED or cell.mean is None:
                continue
            if (column, row) in scarce:
                few.append((column + 1 - 0.06 / self.cell_width, row + 1 - 0.055 / self.cell_height))
            if (column, row) in grid.noise and self.number is None:
                noise.append((column + 0.5, row + 0.5))
            if self.number is not None:
                text = points(cell.mean, grid.kind)
                text = f"({text})" if (column, row) in grid.noise else text
                place, size = self._beside(column, row), self.number
                if place != 0.5:
                    size *= min(1.0, 0.42 * self.cell_width / width_of(text, size))
                said: dict[str, Any] = {"fontsize": size, "ha": "center", "va": "center_baseline"}
                colour = self.palette.colour(cell.mean)
                if self._crossed(column, row):  # the line makes way
                    halo = [Stroke(linewidth=1.8, foreground=colour)]
                    axes.text(column + place, row + 0.53, text, color=colour, path_effects=halo, zorder=5.9, **said)
                axes.text(column + place, row + 0.53, text, color=self.palette.ink(cell.mean), zorder=6, **said)
        for kind, cells in drawn.items():
            if not cells:
                continue
            silent = kind is Kind.UNANSWERED
            axes.add_collection(
                PatchCollection(
                    cells,
                    facecolor=colours[kind],
                    edgecolor=HATCH if silent else "white",
                    linewidth=0 if silent else gap,
                    hatch=HATCHED if silent else None,
                )
            )
        axes.add_collection(PatchCollection(corners, facecolor=DARK, edgecolor="white", linewidth=0.5, zorder=5))
        for places, colour in ((few, DARK), (noise, GREY)):
            if places:
                axes.plot(
                    *zip(*places, strict=True), linestyle="", marker="o", markersize=2.6, markeredgewidth=0.7,
                    markerfacecolor="white", markeredgecolor=colour, zorder=5,
                )  # fmt: skip

    def _fill(self, kind: Kind, mean: float | None) -> str:
        if kind is Kind.UNANSWERED:
            return SILENT
        return PALE if mean is None else self.palette.colour(mean)

    def _place(self, value: float) -> float:
        """How far down, in rows, the line shows a value: on the colour bar's scale, its high end at the top."""
        share = (value - self.palette.low) / (self.palette.high - self.palette.low)
        return len(self.grid.depths) * (1 - min(1.0, max(0.0, share)))

    def _beside(self, column: int, row: int) -> float:
        """Where in a cell its number stands: in the middle, or on the side from which the line is farther."""
        mean = self.grid.means[column]
        if mean is None or mean.mean is None:
            return 0.5
        ends = [self._place(value) for value in (mean.low, mean.mean, mean.high) if value is not None]
        room = 0.13 / self.cell_height
        if not min(ends) - room < row + 0.5 < max(ends) + room:
            return 0.5
        here = self._place(mean.mean)
        away = {}
        for side, other in ((0.24, column - 1), (0.76, column + 1)):
            near = self.grid.means[other] if 0 <= other < len(self.grid.means) else None
            there = here if near is None or near.mean is None else self._place(near.mean)
            away[side] = abs(here + (there - here) * 0.26 - row - 0.5)
        return 0.24 if away[0.24] >= away[0.76] else 0.76

    def _crossed(self, column: int, row: int) -> bool:
        """Whether the line may pass a cell."""
        near = [mean for mean in self.grid.means[max(column - 1, 0) : column + 2] if mean is not None]
        ends = [self._place(mean.mean) for mean in near if mean.mean is not None]
        return bool(ends) and min(ends) - 0.6 < row + 0.5 < max(ends) + 0.6

    def _means(self, axes: Axes) -> None:
        """The line, each mean with its interval."""
        from matplotlib.patheffects import Normal, Stroke

        grid, height = self.grid, len(self.grid.depths)
        place = self._place
        if grid.kind == "difference":
            axes.axhline(height / 2, color=GREY, linewidth=0.7, linestyle=(0, (4, 3)), zorder=3)
        shown = [(at + 0.5, mean) for at, mean in enumerate(grid.means) if mean is not None and mean.mean is not None]
        if not shown:
            return
        outline = [Stroke(linewidth=3.6, foreground=DARK), Normal()]
        for x, mean in shown:
            if mean.low is not None and mean.high is not None:
                axes.plot(
                    [x, x], [place(mean.low), place(mean.high)], color="white", linewidth=1.2, zorder=4,
                    solid_capstyle="butt", path_effects=[Stroke(linewidth=2.6, foreground=DARK), Normal()],
                )  # fmt: skip
        # A length without a mean is a gap in the line.
        ys = [place(mean.mean) if mean is not None and mean.mean is not None else float("nan") for mean in grid.means]
        axes.plot(
            [at + 0.5 for at in range(len(ys))], ys, color="white", linewidth=2, zorder=4.2, path_effects=outline,
            clip_on=False,
        )  # fmt: skip
        axes.plot(
            [x for x, _ in shown], [place(mean.mean) for _, mean in shown if mean.mean is not None], linestyle="",
            marker="o", markersize=5.5 if self.cell_width > 0.25 else 3.5, markerfacecolor="white",
            markeredgecolor=DARK, markeredgewidth=0.9, zorder=4.4, clip_on=False,
        )  # fmt: skip
