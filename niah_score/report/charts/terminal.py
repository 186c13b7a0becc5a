"""Draws a heatmap as lines of text for a terminal, in colours, or in numbers if the terminal has none."""

from __future__ import annotations

import os
import textwrap
import unicodedata
from collections.abc import Mapping
from typing import TYPE_CHECKING, TextIO

from niah_score.errors import ScoreError
from niah_score.report.charts.grid import (
    CONVENTIONAL,
    LIGHT,
    Grid,
    Palette,
    Rgb,
    counts,
    depth_labels,
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

_SILENT: Rgb = (88, 88, 88)
# Of a column: the widest that fit are taken, and the last one if none does.
_WIDTHS = (7, 6, 5, 4)


def has_colours(stream: TextIO, environment: Mapping[str, str] = os.environ) -> bool:
    """Whether a stream shows colours: not if it is no terminal or a dumb one, or NO_COLOR is set (no-color.org)."""
    return stream.isatty() and not environment.get("NO_COLOR") and environment.get("TERM") != "dumb"


def heatmap_lines(grid: Grid, width: int = 80, *, colours: bool = False, palette: Palette = CONVENTIONAL) -> list[str]:
    """The heatmap of scores as lines of at most `width` characters, or more if four for each length take more.

    Nothing in them but our own colours acts on a terminal. Raises ScoreError for too many lengths or depths.
    """
    if why := too_fine(grid):
        raise ScoreError(f"{grid.model}: {why}")
    depths, lengths = depth_labels(grid.depths), length_labels(grid.lengths)
    gutter = max(5, *(len(label) + 1 for label in depths))
    columns = range(len(lengths))
    size = next((size for size in _WIDTHS if gutter + len(columns) * size <= width), _WIDTHS[-1])

    def cell(figure: Figure | None) -> str:
        if figure is None:
            return " " * size
        if is_silent(figure):
            text, colour = "/" * (size - 1) + " ", _SILENT
        elif figure.mean is None:
            return f"{'-':>{size - 1}} "
        else:
            mark = "'" if figure.unanswered else " "
            text, colour = f"{points(figure.mean):>{size - 1}}{mark}", palette.rgb(figure.mean)
        return _painted(text, colour) if colours else text

    def wrapped(text: str) -> list[str]:
        is_wide = any(unicodedata.east_asian_width(char) in "WF" for char in text)
        return textwrap.wrap(text, max(width, 40) // (1 + is_wide))

    lines = [*wrapped(one_line(grid.model)), subtitle(grid), ""]
    for row, label in enumerate(depths):
        lines.append(f"{label:>{gutter - 1}} " + "".join(cell(grid.cells.get((column, row))) for column in columns))
    lines.append(" " * gutter + _axis(lengths, size))
    lines.append(f"{'mean':>{gutter - 1}} " + "".join(map(cell, grid.means)))
    about = f"down: depth, percent; across: length, tokens · {note(grid)} · {counts(grid)}"
    meanings = marks([grid], {"silent": "/", "unscored": "-", "partly": "'"})
    lines += ["", *wrapped(about), *wrapped("; ".join(meanings))]
    return [line.rstrip() for line in lines]


def _axis(labels: list[str], size: int) -> str:
    """As many labels as fit below their columns, evenly spaced."""
    step = min(-(-(max(map(len, labels)) + 1) // size), len(labels))
    line = ""
    for column in range(0, len(labels), step):
        line = line.ljust(column * size) + f"{labels[column]:>{size - 1}} "
    return line


def _painted(text: str, colour: Rgb) -> str:
    """A text on a coloured background, the nearest of the 216 in a terminal's colour cube."""
    ink = 15 if ink_on(colour) == LIGHT else 16
    levels = (0, 95, 135, 175, 215, 255)
    red, green, blue = (min(range(6), key=lambda at: abs(levels[at] - part)) for part in colour)
    return f"\x1b[38;5;{ink};48;5;{16 + 36 * red + 6 * green + blue}m{text}\x1b[0m"
