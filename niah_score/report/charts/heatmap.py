"""Draws grids as one picture: depth down, length across, colours for scores, a line of means above the cells.

The same grids give the same bytes on the same machine. No global state of matplotlib is used, and none stays changed.
"""

from __future__ import annotations

import logging
import math
import textwrap
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache, partial
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from niah_score.errors import ResourceError, ScoreError
from niah_score.machine.files import refusal, write_atomically
from niah_score.report.charts.grid import (
    CONVENTIONAL,
    DARK,
    Grid,
    Palette,
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
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawing

PICTURE_FORMATS = ("png", "svg")
_DPI = 144
# Inches: left of the cells, right of them, for the colour bar, for the means, below the cells, for a line of small
# text, for one of a title; of a digit, of the narrowest picture.
_LEFT, _RIGHT, _BAR, _MEANS, _BELOW, _LINE, _TITLE = 0.85, 0.2, 0.75, 0.7, 0.5, 0.16, 0.25
_DIGIT, _NARROWEST = 0.075, 6.0
_SMALL, _TICK, _LARGE = 7.5, 8.5, 12.0  # sizes of text, points
_GREY, _SILENT, _FRAME, _HATCH, _PALE = "#555555", "#d4d4d4", "#bbbbbb", "#8a8a8a", (238, 238, 238)
_SIGNS = {
    "silent": "strokes:",
    "unscored": "plain grey:",
    "partly": "black dot:",
    "empty": "white:",
    "noise": "number in brackets, or ring:",
}
# Fonts for Chinese, the preferred ones first; the first that is installed follows the bundled font.
_BUNDLED = "DejaVu Sans"
_CHINESE = (
    "Noto Sans CJK SC", "Noto Sans SC", "Source Han Sans SC", "Source Han Sans CN", "PingFang SC", "Hiragino Sans GB",
    "Microsoft YaHei", "WenQuanYi Micro Hei", "WenQuanYi Zen Hei", "SimHei", "Droid Sans Fallback", "Arial Unicode MS",
)  # fmt: skip


def draw(grids: Sequence[Grid], *paths: str | Path, palette: Palette = CONVENTIONAL, title: str | None = None) -> None:
    """Draw all grids in one picture, as `figure_of` does, and write it to every path. Raises as both do."""
    save(figure_of(grids, palette=palette, title=title), *paths)


def save(drawing: Drawing, *paths: str | Path) -> None:
    """Write a figure to every path (.png or .svg), each whole or not at all.

    Raises ScoreError for any other suffix, before anything is written, and ResourceError if a path cannot be written.
    """
    forms = {Path(path): Path(path).suffix.lower().lstrip(".") for path in paths}
    for path, form in forms.items():
        if form not in PICTURE_FORMATS:
            raise ScoreError(f"{path}: pictures are written as .png or .svg; choose one of these names")
    for path, form in forms.items():
        data = picture_of(drawing, form)
        try:
            write_atomically(path, data)
        except OSError as error:
            raise ResourceError(refusal(error)) from None


def picture_of(drawing: Drawing, form: str = "png") -> bytes:
    """A figure as a PNG or SVG file, without times or versions in it."""
    target = BytesIO()
    left_out = ("Date", "Creator") if form == "svg" else ("Software",)
    with _settings():
        drawing.savefig(target, format=form, metadata=dict.fromkeys(left_out))
    return target.getvalue()


def figure_of(grids: Sequence[Grid], *, palette: Palette = CONVENTIONAL, title: str | None = None) -> Drawing:
    """All grids in one picture: a matplotlib figure that pyplot does not know and a notebook shows.

    `title`: goes above all panels. All grids are of scores, or all of differences. Raises ScoreError if there are no
    grids, or a grid has no cells or too many.
    """
    if not grids:
        raise ScoreError("nothing to draw: no grid was given")
    for grid in grids:
        if why := "no row has a length and a depth; there is nothing to draw" if not grid.cells else too_fine(grid):
            raise ScoreError(f"{grid.model}: {why}")
    if grids[0].kind == "difference":
        palette = differences_up_to(max(grid.most for grid in grids))
    with _settings():
        drawing = _drawn(grids, palette, one_line(title or ""))
    # IPython calls this; without it, figures are shown only once pyplot has been imported.
    drawing._repr_png_ = partial(picture_of, drawing)  # type: ignore[attr-defined]
    return drawing


@contextmanager
def _settings() -> Iterator[None]:
    """Set up matplotlib as our pictures need it, within this block only.

    Warnings about missing glyphs, which are boxes in a picture, and about the first run's font cache are silenced.
    """
    log = logging.getLogger("matplotlib")
    level = log.level
    log.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            import matplotlib

            ours: dict[Any, Any] = {
                "font.family": "sans-serif", "font.sans-serif": _families(), "font.size": _TICK, "text.color": DARK,
                "text.parse_math": False, "svg.fonttype": "none", "svg.hashsalt": "niah", "hatch.linewidth": 0.8,
            }  # fmt: skip
            with matplotlib.rc_context():
                matplotlib.rcdefaults()
                matplotlib.rcParams.update(ours)
                yield
    finally:
        log.setLevel(level)


@lru_cache(maxsize=1)
def _families() -> list[str]:
    """The font families of all texts, in the order in which they are searched for a character."""
    from matplotlib.font_manager import fontManager

    there = {font.name for font in fontManager.ttflist}
    return [_BUNDLED, *[name for name in _CHINESE if name in there][:1]]


def _wrapped(text: str, size: float, room: float, most: int, weight: str = "normal") -> list[str]:
    """At most `most` lines of some `room` inches, by the mean width of its characters; the last may be cut."""
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import text_to_path

    font, start = FontProperties(family=_families(), size=size, weight=weight), text[:500]
    width = text_to_path.get_text_width_height_descent(start, font, ismath=False)[0] / 72 if start else 1.0
    characters = int(0.97 * room * len(start) / width) if width else 80
    return textwrap.wrap(text, max(characters, 1), max_lines=most, placeholder="…")


def _drawn(grids: Sequence[Grid], palette: Palette, title: str) -> Drawing:
    """The picture: everything by hand, in inches from the lower left corner.

    Cells have a size and the picture grows with them, while matplotlib's layouts squeeze axes into a picture of a given
    size, know nothing of text that breaks into lines, and take several times as long.
    """
    from matplotlib.figure import Figure as Drawing

    alone, across = len(grids) == 1, 2 if len(grids) == 4 else min(len(grids), 3)
    wide = min(max(0.66 * max(len(grid.lengths) for grid in grids), 3.4), 13.5 if alone else 7.0)
    high = min(max(0.27 * max(len(grid.depths) for grid in grids), 0.6), 8.2 if alone else 6.0)
    width = max(across * (_LEFT + wide + _RIGHT) + _BAR, _NARROWEST)
    room = width - _LEFT - _RIGHT
    of_panel = room if alone else wide
    names = [_wrapped(one_line(grid.model), _LARGE, of_panel, 3, "bold") for grid in grids]
    about = [
        [line for text in (subtitle(grid), counts(grid)) for line in _wrapped(text, _SMALL, of_panel, 2)]
        for grid in grids
    ]
    titles = _wrapped(title, _LARGE + 1, room, 2, "bold")
    notes = [line for text in _notes(grids) for line in _wrapped(text, _SMALL, room, 3)]
    head = max(_TITLE * len(name) + _LINE * len(lines) for name, lines in zip(names, about, strict=True)) + 0.1
    slot = head + _MEANS + high + _BELOW
    height = _TITLE * len(titles) + math.ceil(len(grids) / across) * slot + _LINE * len(notes) + 0.3
    drawing = Drawing(figsize=(width, height), dpi=_DPI, facecolor="white")
    axes = drawing.add_axes((0, 0, 1, 1), xlim=(0, width), ylim=(0, height), autoscale_on=False)
    axes.set_axis_off()

    def write(lines: Sequence[str], x: float, y: float, size: float, **style: Any) -> None:
        # Names may need the other fonts; the last family is for browsers without ours.
        style |= {"family": [*_families(), "sans-serif"], "va": "bottom", "linespacing": 1.3}
        _write(axes, "\n".join(lines), x, y, fontsize=size, **style)

    write(titles, _LEFT, height - 0.05 - _TITLE * len(titles), _LARGE + 1, fontweight="bold")
    write(notes, _LEFT, 0.12, _SMALL, color=_GREY)
    for place, grid in enumerate(grids):
        row, column = divmod(place, across)
        left, top = _LEFT + column * (_LEFT + wide + _RIGHT), height - 0.1 - _TITLE * len(titles) - row * slot - head
        write(names[place], left, top + _LINE * len(about[place]) + 0.06, _LARGE, fontweight="bold")
        write(about[place], left, top + 0.06, _SMALL, color=_GREY)
        _draw_means(axes, grid, palette, left, top, wide)
        _draw_cells(axes, grid, palette, left, top - _MEANS, wide, high)
        _draw_labels(axes, grid, left, top - _MEANS, wide, high)
        if column == across - 1 or grid is grids[-1]:
            _draw_bar(axes, palette, grid.kind, left + wide + 0.2, top - _MEANS - high, high)
    return drawing


def _write(axes: Axes, text: str, x: float, y: float, **style: Any) -> None:
    """Write a text; the figure does it in less time than the axes, which clip theirs."""
    axes.figure.text(x, y, text, transform=axes.transData, **style)


def _notes(grids: Sequence[Grid]) -> Iterator[str]:
    """What all panels share, what the marks mean, what the line shows."""
    yield from dict.fromkeys(map(note, grids))
    if meanings := marks(grids, _SIGNS):
        yield " · ".join(meanings)
    if means := [mean for grid in grids for mean in grid.means if mean]:
        interval = ", with its 95 % interval" if any(mean.low is not None for mean in means) else ""
        averaged = "rows" if grids[0].kind == "difference" else "depths"
        yield f"line: mean of the {averaged} at each length{interval} · overall: mean of lengths, each of its depths"


def _draw_means(axes: Axes, grid: Grid, palette: Palette, left: float, top: float, wide: float) -> None:
    """The line of means in a strip of its own, whose scale is that of the colours."""
    foot, full, step = top - _MEANS + 0.1, _MEANS - 0.2, wide / len(grid.lengths)

    def height(value: float) -> float:
        return foot + full * (value - palette.low) / (palette.high - palette.low)

    levels = (palette.low, (palette.low + palette.high) / 2, palette.high)
    axes.hlines([*map(height, levels)], left, left + wide, color=_FRAME, linewidth=0.5)
    for end in (palette.low, palette.high):
        text = f"{end:g}".replace("-", "−")
        _write(axes, text, left - 0.05, height(end), ha="right", va="center", color=_GREY)
    places = [left + step * (at + 0.5) for at in range(len(grid.means))]
    reach = [(x, mean.low, mean.high) for x, mean in zip(places, grid.means, strict=True) if mean is not None]
    for x, low, high in reach:
        if low is not None and high is not None:
            axes.vlines(x, height(low), height(high), color=_GREY, linewidth=1.2)
    line = [math.nan if mean is None or mean.mean is None else height(mean.mean) for mean in grid.means]
    axes.plot(places, line, "o-", color=DARK, linewidth=1.2, markersize=3 if step > 0.25 else 1.5)


def _draw_cells(axes: Axes, grid: Grid, palette: Palette, left: float, top: float, wide: float, high: float) -> None:
    """The cells of one grid, `wide` and `high` inches in all, with their numbers and marks."""
    import numpy as np
    from matplotlib.collections import PatchCollection
    from matplotlib.patches import Rectangle

    columns, rows = len(grid.lengths), len(grid.depths)
    across, down = wide / columns, high / rows
    silent = [place for place, cell in grid.cells.items() if is_silent(cell)]
    shown = {place: cell.mean for place, cell in grid.cells.items() if cell.mean is not None and not is_silent(cell)}
    colours = np.full((rows, columns, 3), 255)
    for column, row in grid.cells:
        colours[row, column] = palette.rgb(shown[column, row]) if (column, row) in shown else _PALE
    edges = left + across * np.arange(columns + 1), top - down * np.arange(rows + 1)
    gap = 0.5 if min(across, down) > 0.12 else 0.2
    axes.pcolormesh(*edges, colours / 255, edgecolors="white", linewidth=gap, antialiased=True)
    hatched = [Rectangle((edges[0][column], edges[1][row + 1]), across, down) for column, row in silent]
    axes.add_collection(PatchCollection(hatched, facecolor=_SILENT, edgecolor=_HATCH, linewidth=0, hatch="//////"))
    axes.add_patch(Rectangle((left, top - high), wide, high, fill=False, edgecolor=_FRAME, linewidth=0.6))

    def middle(column: int, row: int) -> tuple[float, float]:
        return left + across * (column + 0.5), top - down * (row + 0.5)

    size = min(_SMALL, down * 72 * 0.66)
    numbers = size >= 6 and across >= (0.6 if grid.kind == "difference" else 0.5)
    for place, mean in shown.items() if numbers else ():
        text = f"({points(mean, grid.kind)})" if place in grid.noise else points(mean, grid.kind)
        x, y = middle(*place)
        _write(axes, text, x, y, fontsize=size, ha="center", va="center_baseline", color=ink_on(palette.rgb(mean)))
    for place in () if numbers else grid.noise:
        axes.plot(*middle(*place), "o", markersize=2.5, fillstyle="none", color=DARK)
    right, up = across / 2 - 0.07, down / 2 - 0.06
    for place, cell in grid.cells.items():
        if cell.unanswered and place not in silent:
            x, y = middle(*place)
            axes.plot(x + right, y + up, "o", markersize=3.5, color=DARK)


def _draw_labels(axes: Axes, grid: Grid, left: float, top: float, wide: float, high: float) -> None:
    """The lengths below the cells and the depths beside them: all, or as many as there is room for."""
    across, down = wide / len(grid.lengths), high / len(grid.depths)
    lengths, depths = length_labels(grid.lengths), depth_labels(grid.depths)
    for column in range(0, len(lengths), math.ceil((_DIGIT * max(map(len, lengths)) + 0.1) / across)):
        _write(axes, lengths[column], left + across * (column + 0.5), top - high - 0.06, ha="center", va="top")
    for row in range(0, len(depths), math.ceil(0.14 / down)):
        _write(axes, depths[row], left - 0.05, top - down * (row + 0.5), ha="right", va="center")
    _write(axes, "Token Limit", left + wide / 2, top - high - 0.25, ha="center", va="top")
    beside = left - 0.12 - _DIGIT * max(map(len, depths))
    _write(axes, "Depth Percent", beside, top - high / 2, rotation=90, ha="right", va="center")


def _draw_bar(axes: Axes, palette: Palette, kind: str, left: float, foot: float, high: float) -> None:
    """The colour bar."""
    import numpy as np

    steps = np.linspace(palette.low, palette.high, 65)
    colours = [[palette.rgb(points)] for points in (steps[:-1] + steps[1:]) / 2]
    axes.pcolormesh([left, left + 0.16], np.linspace(foot, foot + high, 65), np.array(colours) / 255)
    for part in range(5):
        tick = palette.low + (palette.high - palette.low) * part / 4
        text = f"{tick:+g}".replace("+0", "0").replace("-", "−") if kind == "difference" else f"{tick:g}"
        _write(axes, text, left + 0.21, foot + high * part / 4, ha="left", va="center")
    name = "Difference in points" if kind == "difference" else "Score"
    _write(axes, name, left + 0.55, foot + high / 2, rotation=90, ha="left", va="center")
