"""Draws a heatmap as lines of text for a terminal, in colours, or in numbers if the terminal has none."""

from __future__ import annotations

import os
import textwrap
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Literal, TextIO

from niah_score.errors import ScoreError
from niah_score.report.charts.grid import too_fine
from niah_score.report.charts.labels import (
    Kind,
    depth_labels,
    kind_of,
    length_labels,
    note,
    points,
    subtitle,
    unanswered_label,
)
from niah_score.report.charts.palette import CONVENTIONAL, Palette, Rgb, differences_up_to, ink_on
from niah_score.text.visible import one_line

if TYPE_CHECKING:
    from niah_score.report.charts.grid import Grid
    from niah_score.statistics.figures import Figure

Colours = Literal["24bit", "256"] | None

_RESET = "\x1b[0m"
_SILENT: Rgb = (88, 88, 88)
_WIDTHS = (7, 6, 5, 4, 2, 1)
# A column of this width has room for a number.
_NUMBERS = 4


def colours_of(stream: TextIO, environment: Mapping[str, str] = os.environ) -> Colours:
    """The colours a stream can show; None if it is no terminal or a dumb one, or NO_COLOR is set (no-color.org)."""
    if not stream.isatty() or environment.get("NO_COLOR") or environment.get("TERM") == "dumb":
        return None
    return "24bit" if environment.get("COLORTERM") in ("truecolor", "24bit") else "256"


def heatmap_lines(grid: Grid, width: int = 80, colours: Colours = None, palette: Palette = CONVENTIONAL) -> list[str]:
    """The heatmap as lines of at most `width` characters, or more if one character per length takes more; no newlines.

    Nothing in them but our own colours acts on a terminal. Raises ScoreError for too many lengths or depths.
    """
    if why := too_fine(grid):
        raise ScoreError(f"{grid.model}: {why}")
    if grid.kind == "difference":
        palette = differences_up_to(max((abs(c.mean) for c in grid.cells.values() if c.mean is not None), default=0))
    depths = depth_labels(grid.depths)
    gutter = max(5, *(len(label) + 1 for label in depths))
    columns = len(grid.lengths)
    size = next((size for size in _WIDTHS if gutter + columns * size <= width), 1)
    if grid.kind == "difference" and size == _NUMBERS:
        size = 2  # no room for a sign, three digits and a mark
    paint = _painter(colours)

    def cell(figure: Figure | None, noise: bool = False) -> str:
        if figure is None:
            return " " * size
        kind = kind_of(figure)
        if kind is Kind.UNANSWERED:
            return paint("/" * (size - 1) + (" " if size >= _NUMBERS else "/"), _SILENT)
        if figure.mean is None:
            return f"{'-':>{max(size - 1, 1)}}" + " " * (size > 1)
        if size >= _NUMBERS:
            mark = "'" if kind is Kind.PARTLY else "~" if noise else " "
            text = f"{points(figure.mean, grid.kind).replace('−', '-'):>{size - 1}}{mark}"
        elif colours:
            text = " " * size
        else:
            text = _short(figure.mean, grid.kind) * size
        return paint(text, palette.rgb(figure.mean))

    lines = [one_line(grid.model), subtitle(grid).replace("−", "-"), ""]
    for row, label in enumerate(depths):
        cells = (cell(grid.cells.get((column, row)), (column, row) in grid.noise) for column in range(columns))
        lines.append(f"{label:>{gutter - 1}} " + "".join(cells))
    lines.append(" " * gutter + _axis(length_labels(grid.lengths), size))
    lines.append(f"{'mean':>{gutter - 1}} " + "".join(cell(figure) for figure in grid.means))
    about = f"down: depth, percent; across: length, tokens · {note(grid)}"
    lines += ["", *textwrap.wrap(about, max(width, 40)), *_marks(grid, size, colours)]
    return [line.rstrip() for line in lines]


def _short(value: float, kind: str) -> str:
    """One character: tens of points, # for 100; for a difference its sign."""
    if kind == "difference":
        return "+" if value > 0 else "-" if value < 0 else "0"
    return "#" if value >= 100 else str(int(value // 10))


def _axis(labels: list[str], size: int) -> str:
    """As many labels as fit below their columns, evenly spaced."""
    step = next(step for step in range(1, 1000) if max(map(len, labels)) + 1 <= size * step or step >= len(labels))
    line = ""
    for column in range(0, len(labels), step):
        # Right-aligned below numbers, left-aligned below single characters.
        label = f"{labels[column]:>{size - 1}} " if size >= _NUMBERS and step == 1 else labels[column]
        line = line.ljust(column * size) + label
    return line


def _marks(grid: Grid, size: int, colours: Colours) -> list[str]:
    """The meaning of the marks that occur."""
    kinds = {kind_of(cell) for cell in grid.cells.values()}
    notes = []
    if Kind.UNANSWERED in kinds:
        notes.append(f"/ {unanswered_label([grid])}")
    if Kind.UNSCORED in kinds:
        notes.append(f"- {Kind.UNSCORED.value}")
    if Kind.PARTLY in kinds and size >= _NUMBERS:
        notes.append(f"' {Kind.PARTLY.value}")
    if grid.noise and size >= _NUMBERS:
        notes.append("~ chance would explain it")
    if size < _NUMBERS and not colours:
        notes.append("+ better, - worse" if grid.kind == "difference" else "digits are tens of points, # is 100")
    return ["; ".join(notes)] if notes else []


def _painter(colours: Colours) -> Callable[[str, Rgb], str]:
    """A function that puts a text on a coloured background."""

    def painted(text: str, colour: Rgb) -> str:
        ink = 15 if ink_on(colour) == "#ffffff" else 16
        if colours == "24bit":
            return f"\x1b[38;5;{ink};48;2;{';'.join(map(str, colour))}m{text}{_RESET}"
        return f"\x1b[38;5;{ink};48;5;{_nearest(colour)}m{text}{_RESET}" if colours else text

    return painted


def _nearest(colour: Rgb) -> int:
    """The nearest of the 216 colours in the colour cube of 256-colour terminals."""
    levels = (0, 95, 135, 175, 215, 255)
    red, green, blue = (min(range(6), key=lambda at: abs(levels[at] - part)) for part in colour)
    return 16 + 36 * red + 6 * green + blue
