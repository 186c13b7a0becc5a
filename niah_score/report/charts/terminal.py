"""Draws a heatmap as lines of text for a terminal, in colours, or in numbers if the terminal has none."""

from __future__ import annotations

import os
import textwrap
import unicodedata
from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal, TextIO

from niah_score.errors import ScoreError
from niah_score.report.charts.grid import (
    CONVENTIONAL,
    LIGHT,
    Grid,
    Palette,
    Rgb,
    counts,
    depth_labels,
    differences_up_to,
    ink_on,
    is_silent,
    length_labels,
    marks,
    note,
    points,
    subtitle,
    too_fine,
)
from niah_score.text.visible import one_line

if TYPE_CHECKING:
    from niah_score.statistics.intervals import Figure

Colours = Literal["24bit", "256"] | None

_SILENT: Rgb = (88, 88, 88)
# Of a column: the widest that fit are taken. The last has no room for a number.
_WIDTHS = (7, 6, 5, 1)


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
    palette = differences_up_to(grid.most) if grid.kind == "difference" else palette
    depths, lengths = depth_labels(grid.depths), length_labels(grid.lengths)
    gutter = max(5, *(len(label) + 1 for label in depths))
    columns = range(len(lengths))
    size = next((size for size in _WIDTHS if gutter + len(columns) * size <= width), 1)
    numbers = size > 1

    def cell(figure: Figure | None, noise: bool = False) -> str:
        if figure is None:
            return " " * size
        if is_silent(figure):
            return _painted(("/" * max(size - 1, 1)).ljust(size), _SILENT, colours)
        if figure.mean is None:
            return "-".rjust(max(size - 1, 1)).ljust(size)
        if numbers:
            mark = "'" if figure.unanswered else "~" if noise else " "
            text = f"{points(figure.mean, grid.kind).replace('−', '-'):>{size - 1}}{mark}"
        else:
            text = " " if colours else _short(figure.mean, grid.kind)
        return _painted(text, palette.rgb(figure.mean), colours)

    def wrapped(text: str) -> list[str]:
        is_wide = any(unicodedata.east_asian_width(char) in "WF" for char in text)
        return textwrap.wrap(text, max(width, 40) // (1 + is_wide))

    lines = [*wrapped(one_line(grid.model)), subtitle(grid).replace("−", "-"), ""]
    for row, label in enumerate(depths):
        cells = (cell(grid.cells.get((column, row)), (column, row) in grid.noise) for column in columns)
        lines.append(f"{label:>{gutter - 1}} " + "".join(cells))
    lines.append(" " * gutter + _axis(lengths, size))
    lines.append(f"{'mean':>{gutter - 1}} " + "".join(map(cell, grid.means)))
    about = f"down: depth, percent; across: length, tokens · {note(grid)} · {counts(grid)}"
    signs = {"silent": "/", "unscored": "-", **({"partly": "'", "noise": "~"} if numbers else {})}
    meanings = marks([grid], signs)
    if not numbers and not colours:
        meanings.append("+ better, - worse" if grid.kind == "difference" else "digits are tens of points, # is 100")
    lines += ["", *wrapped(about), *wrapped("; ".join(meanings))]
    return [line.rstrip() for line in lines]


def _short(value: float, kind: str) -> str:
    """One character: tens of points, # for 100; for a difference its sign."""
    if kind == "difference":
        return "+" if value > 0 else "-" if value < 0 else "0"
    return "#" if value >= 100 else str(int(value // 10))


def _axis(labels: list[str], size: int) -> str:
    """As many labels as fit below their columns, evenly spaced."""
    step = min(-(-(max(map(len, labels)) + 1) // size), len(labels))
    line = ""
    for column in range(0, len(labels), step):
        # Right-aligned below numbers, left-aligned below single characters.
        label = f"{labels[column]:>{size - 1}} " if step == 1 else labels[column]
        line = line.ljust(column * size) + label
    return line


def _painted(text: str, colour: Rgb, colours: Colours) -> str:
    """A text on a coloured background; with 256 colours the nearest of the 216 in a terminal's colour cube."""
    if colours is None:
        return text
    ink = 15 if ink_on(colour) == LIGHT else 16
    if colours == "24bit":
        ground = f"2;{';'.join(map(str, colour))}"
    else:
        levels = (0, 95, 135, 175, 215, 255)
        red, green, blue = (min(range(6), key=lambda at: abs(levels[at] - part)) for part in colour)
        ground = f"5;{16 + 36 * red + 6 * green + blue}"
    return f"\x1b[38;5;{ink};48;{ground}m{text}\x1b[0m"
