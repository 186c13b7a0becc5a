"""Draws grids as one picture, PNG and SVG: depth down, length across, colours for scores, a line of means over them.

The same grids give the same bytes on the same machine. No global state of matplotlib is used, and none stays changed.
"""

from __future__ import annotations

import logging
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from niah_score.errors import ResourceError, ScoreError
from niah_score.machine.files import write_atomically
from niah_score.machine.refusals import refusal
from niah_score.report.charts.grid import too_fine
from niah_score.report.charts.labels import FEW, Kind, cells_of_few, kind_of, note, subtitle, unanswered_label
from niah_score.report.charts.lettering import families, shortened, unknown_characters, width_of, wrapped
from niah_score.report.charts.palette import CONVENTIONAL, DARK, Palette, differences_up_to
from niah_score.report.charts.panel import DOT, GREY, HATCH, HATCHED, PALE, SILENT, TICK, Panel, draw_frame
from niah_score.text.visible import one_line

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawing

    from niah_score.report.charts.grid import Grid

PICTURE_FORMATS = ("png", "svg")
_DPI = 144
# Inches.
_NARROWEST, _EDGE, _BAR, _GAP = 6.0, 0.16, 0.16, 0.14
_TITLE_LINE, _HEAD_LINE, _LEGEND_LINE, _NOTE_LINE = 0.28, 0.2, 0.22, 0.165  # from one line to the next
_TITLE, _LINE, _NOTE = 12.0, 8.5, 7.5  # sizes of text, points
_MOST_ACROSS = 3
_LACKING = "characters without a font on this machine are boxes here; the SVG has them as text"


def draw(grids: Sequence[Grid], *paths: str | Path, palette: Palette = CONVENTIONAL, title: str | None = None) -> None:
    """Draw all grids in one picture, a panel each with the same colours, and write it to every path (.png or .svg).

    `title`: goes above all panels. Before anything is written, raises what `figure_of` does, and ScoreError for any
    other suffix; then OSError.
    """
    _check(paths)
    _save(figure_of(grids, palette=palette, title=title), grids, paths)


def figure_of(grids: Sequence[Grid], *, palette: Palette = CONVENTIONAL, title: str | None = None) -> Drawing:
    """All grids in one picture: a matplotlib figure that pyplot does not know and a notebook shows.

    Raises ScoreError if there are no grids, a grid has no cells or too many, or scores and differences are mixed.
    """
    if not grids:
        raise ScoreError("nothing to draw: no grid was given")
    if len({grid.kind for grid in grids}) > 1:
        raise ScoreError("scores and differences have different scales; draw them separately")
    for grid in grids:
        if not grid.cells:
            raise ScoreError(f"{grid.model}: no row has a length and a depth; there is nothing to draw")
        if why := too_fine(grid):
            raise ScoreError(f"{grid.model}: {why}")
    if grids[0].kind == "difference":
        most = max(
            (abs(cell.mean) for grid in grids for cell in grid.cells.values() if cell.mean is not None), default=0
        )
        palette = differences_up_to(most)
    with _settings():
        panels = [Panel(grid, palette, alone=len(grids) == 1) for grid in grids]
        drawing = _drawn(_layout(panels, title), palette)
    # IPython calls this; without it, figures are shown only once pyplot has been imported.
    drawing._repr_png_ = partial(png_of, drawing)  # type: ignore[attr-defined]
    return drawing


def save(drawing: Drawing, grids: Sequence[Grid], *paths: str | Path) -> None:
    """Write a figure of some grids to every path (.png or .svg), each whole or not at all.

    Raises ScoreError for any other suffix, ResourceError if a path cannot be written.
    """
    _check(paths)
    try:
        _save(drawing, grids, paths)
    except OSError as error:
        raise ResourceError(refusal(error)) from None


def _save(drawing: Drawing, grids: Sequence[Grid], paths: Sequence[str | Path]) -> None:
    for path in map(Path, paths):
        # In memory first, because matplotlib writes an SVG in pieces.
        svg = path.suffix.lower() == ".svg"
        write_atomically(path, _svg_of(drawing, [grid.model for grid in grids]) if svg else png_of(drawing))


def png_of(drawing: Drawing) -> bytes:
    """A figure as a PNG file, without times or versions in it."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    target = BytesIO()
    with _settings():
        FigureCanvasAgg(drawing).print_figure(target, format="png", dpi=_DPI, metadata={"Software": None})
    return target.getvalue()


def _check(paths: Sequence[str | Path]) -> None:
    for path in paths:
        if Path(path).suffix.lower().lstrip(".") not in PICTURE_FORMATS:
            raise ScoreError(f"{path}: pictures are written as .png or .svg; choose one of these names")


@contextmanager
def _settings() -> Iterator[None]:
    """Set up matplotlib as our pictures need it, within this block only.

    Warnings about missing glyphs and the first run's font cache are silenced: the picture itself says what it lacks.
    """
    log = logging.getLogger("matplotlib")
    level = log.level
    log.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            import matplotlib

            with matplotlib.rc_context():
                matplotlib.rcdefaults()
                matplotlib.rcParams.update(
                    {
                        # For browsers without these fonts.
                        "font.family": [*families(), "sans-serif"],
                        "font.sans-serif": families(),
                        "text.parse_math": False,
                        "text.usetex": False,
                        "svg.fonttype": "none",
                        "svg.hashsalt": "niah",
                        "hatch.linewidth": 0.8,
                        "path.simplify": False,
                    }
                )
                yield
    finally:
        log.setLevel(level)


def _svg_of(drawing: Drawing, models: Sequence[str]) -> bytes:
    """A figure as an SVG file, without the remark about characters that are missing only from a PNG."""
    from matplotlib.backends.backend_svg import FigureCanvasSVG

    named = one_line(", ".join(models))
    lacking = [text for text in drawing.texts if text.get_gid() == "lacking"]
    for text in lacking:
        text.set_visible(False)
    target = BytesIO()
    try:
        with _settings():
            FigureCanvasSVG(drawing).print_figure(
                target, format="svg", dpi=72, metadata={"Date": None, "Creator": None, "Title": named}
            )
    finally:
        for text in lacking:
            text.set_visible(True)
    return target.getvalue()


class _PlacedPanel(NamedTuple):
    """A panel, the lower left corner of its cells, and the lines of text above them."""

    panel: Panel
    left: float
    bottom: float
    heading: list[str]


class _Layout(NamedTuple):
    """Where everything in a picture is, in inches from its lower left corner.

    `start`: the left end of all lines of text. `title`, `legend`, `notes`: each line with the height of its middle.
    `rows`: panels side by side, with left, bottom and height of the colour bar that follows them.
    """

    size: tuple[float, float]
    start: float
    title: list[tuple[float, str]]
    rows: list[tuple[list[_PlacedPanel], tuple[float, float, float]]]
    legend: list[tuple[float, list[tuple[str, str]]]]
    notes: list[tuple[float, str]]


def _layout(panels: Sequence[Panel], title: str | None) -> _Layout:
    # By hand: here cells have a size and the picture grows with them, while matplotlib's constrained layout squeezes
    # axes into a picture of a given size, and knows nothing of text that breaks into lines.
    across = 2 if len(panels) == 4 else min(len(panels), _MOST_ACROSS)
    rows = [panels[first : first + across] for first in range(0, len(panels), across)]
    columns = [max(panel.left + panel.width for panel in panels[at::across]) + 0.22 for at in range(across)]
    bar = 0.22 + _BAR + 0.62
    width = max(sum(columns) + bar + _EDGE, _NARROWEST)
    left = max(0.0, (width - sum(columns) - bar) / 2)
    start = left + panels[0].left
    room = width - start - _EDGE

    rooms = [column - panel.left - 0.1 for row in rows for panel, column in zip(row, columns, strict=False)]
    if len(panels) == 1:
        rooms = [room]
    headings = [_heading(panel.grid, room) for panel, room in zip(panels, rooms, strict=True)]
    heads = [_HEAD_LINE * max(map(len, headings[at : at + across])) + _GAP for at in range(0, len(panels), across)]
    bodies = [max(panel.height + panel.below for panel in row) for row in rows]
    titles = wrapped(one_line(title), _TITLE + 1, room, 2, "bold") if title else []
    legend, notes = _legend_lines(panels, room), _note_lines([panel.grid for panel in panels], title, room)
    foot = _LEGEND_LINE * len(legend) + _NOTE_LINE * len(notes) + 0.1
    height = _GAP + _TITLE_LINE * len(titles) + sum(heads) + sum(bodies) + _GAP * len(rows) + foot

    # From the top down: y is the lower edge of what has been placed.
    layout = _Layout((width, height), start, [], [], [], [])
    y = height - _GAP
    for text in titles:
        layout.title.append((y - 0.13, text))
        y -= _TITLE_LINE
    for number, (row, head, body) in enumerate(zip(rows, heads, bodies, strict=True)):
        x, placed = left, []
        for panel, column, heading in zip(row, columns, headings[number * across :], strict=False):
            placed.append(_PlacedPanel(panel, x + panel.left, y - head - panel.height, heading))
            x += column
        layout.rows.append((placed, (x, y - head - row[-1].height, row[-1].height)))
        y -= head + body + _GAP
    for marks in legend:
        layout.legend.append((y - 0.06, marks))
        y -= _LEGEND_LINE
    for text in notes:
        layout.notes.append((y - 0.06, text))
        y -= _NOTE_LINE
    return layout


def _heading(grid: Grid, room: float) -> list[str]:
    """The model's name in up to three lines, and the overall figure."""
    return [*wrapped(one_line(grid.model), _TITLE, room, 3, "bold"), shortened(subtitle(grid), _LINE, room)]


def _legend_lines(panels: Sequence[Panel], room: float) -> list[list[tuple[str, str]]]:
    """(mark, meaning) of every mark that occurs, in lines that fit."""
    grids = [panel.grid for panel in panels]
    kinds = {kind_of(cell) for grid in grids for cell in grid.cells.values()}
    names = {kind: kind.value for kind in Kind} | {Kind.UNANSWERED: unanswered_label(grids)}
    marks = [(kind.name, names[kind]) for kind in (Kind.UNANSWERED, Kind.PARTLY, Kind.UNSCORED) if kind in kinds]
    if any(cells_of_few(grid) for grid in grids):
        marks.append(("FEW", f"fewer than {FEW} rows"))
    if any(grid.noise for grid in grids):
        has_numbers = all(panel.number is not None for panel in panels)
        marks.append(("BRACKETS" if has_numbers else "NOISE", "chance would explain it"))
    if any(len(grid.cells) < len(grid.lengths) * len(grid.depths) for grid in grids):
        marks.append(("EMPTY", "no rows"))
    lines: list[list[tuple[str, str]]] = []
    left = 0.0
    for mark, text in marks:
        left -= _mark_width(text)
        if left < 0:
            lines.append([])
            left = room + 0.22 - _mark_width(text)
        lines[-1].append((mark, text))
    return lines


def _note_lines(grids: Sequence[Grid], title: str | None, room: float) -> list[str]:
    """What all panels share once, the rest for each; then what the line shows, and that characters lack a font."""
    notes = list(dict.fromkeys(note(grid) for grid in grids))
    if len(notes) > 1:
        notes = [f"{one_line(grid.model)}: {note(grid)}" for grid in grids]
    means = [mean for grid in grids for mean in grid.means if mean]
    if means:
        interval = ", with its 95 % interval" if any(mean.low is not None for mean in means) else ""
        notes.append(f"line: mean of the depths at each length{interval} · overall: the mean of these means")
    lines = [line for text in notes for line in wrapped(text, _NOTE, room, 3, separator=" · ")]
    shown = "".join(one_line(grid.model + grid.dataset) for grid in grids) + one_line(title or "")
    return [*lines, _LACKING] if unknown_characters(shown) else lines


def _drawn(layout: _Layout, palette: Palette) -> Drawing:
    from matplotlib.figure import Figure as Drawing

    drawing = Drawing(figsize=layout.size, dpi=_DPI, facecolor="white")
    for y, text in layout.title:
        _write(drawing, layout.start, y, text, _TITLE + 1, weight="bold")
    for row, (right, foot, height) in layout.rows:
        for panel, left, bottom, heading in row:
            # The last line of a heading is nearest to the panel, and small.
            for above, text in enumerate(reversed(heading)):
                size, weight, colour = (_TITLE, "bold", DARK) if above else (_LINE, "normal", GREY)
                y = bottom + panel.height + 0.13 + _HEAD_LINE * above
                _write(drawing, left, y, text, size, weight=weight, colour=colour)
            panel.draw(_axes(drawing, left, bottom, panel.width, panel.height))
        _draw_bar(_axes(drawing, right, foot, _BAR, height), palette, row[0].panel.grid.kind)
    for y, marks in layout.legend:
        _draw_legend(drawing, marks, layout.start, y)
    for y, text in layout.notes:
        gid = "lacking" if text == _LACKING else None
        _write(drawing, layout.start, y, text, _NOTE, colour=GREY, gid=gid)
    return drawing


def _write(
    drawing: Drawing, x: float, y: float, text: str, size: float, *, weight: str = "normal", colour: str = DARK,
    ha: str = "left", gid: str | None = None,
) -> None:  # fmt: skip
    width, height = drawing.get_size_inches()
    written = drawing.text(
        x / width, y / height, text, fontsize=size, fontweight=weight, color=colour, ha=ha, va="center", gid=gid
    )
    written.set_in_layout(False)


def _axes(drawing: Drawing, left: float, bottom: float, width: float, height: float) -> Axes:
    across, up = drawing.get_size_inches()
    return drawing.add_axes((left / across, bottom / up, width / across, height / up))


def _draw_bar(axes: Axes, palette: Palette, kind: str) -> None:
    """The colour bar, which is also the axis of the line."""
    low, high = palette.low, palette.high
    steps = 256
    colours = [[palette.rgb(low + (high - low) * (step + 0.5) / steps)] for step in range(steps)]
    axes.imshow(colours, extent=(0, 1, low, high), origin="lower", aspect="auto", interpolation="nearest")
    axes.set_xticks([])
    if kind == "difference":
        ticks = [low + (high - low) * part / 4 for part in range(5)]
        labels = [(f"{tick:+g}" if tick else "0").replace("-", "−") for tick in ticks]
    else:
        ticks = [0.0, 20.0, 40.0, 60.0, 80.0, 100.0]
        labels = [f"{tick:g}" for tick in ticks]
    axes.set_yticks(ticks, labels, fontsize=TICK)
    axes.yaxis.tick_right()
    axes.yaxis.set_label_position("right")
    axes.tick_params(length=2, width=0.6, pad=2)
    name = "Difference in points" if kind == "difference" else "Score"
    axes.set_ylabel(f"{name} (colour and line)", fontsize=TICK + 0.5, labelpad=4)
    draw_frame(axes)


def _draw_legend(drawing: Drawing, marks: list[tuple[str, str]], x: float, y: float) -> None:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Polygon, Rectangle

    inches = drawing.dpi_scale_trans
    for mark, text in marks:
        fill = {"UNANSWERED": SILENT, "UNSCORED": PALE, "EMPTY": "white"}.get(mark, "#b9c9d6")
        box: dict[str, Any] = {"transform": inches, "linewidth": 0.5, "edgecolor": HATCH, "facecolor": fill}
        if mark == "UNANSWERED":
            box["hatch"] = HATCHED
        if mark == "BRACKETS":
            _write(drawing, x + 0.1, y, "(…)", 8, ha="center")
        else:
            drawing.add_artist(Rectangle((x, y - 0.065), 0.2, 0.13, **box))
        if mark == "PARTLY":
            corner = [(x + 0.125, y + 0.065), (x + 0.2, y + 0.065), (x + 0.2, y - 0.01)]
            drawing.add_artist(Polygon(corner, transform=inches, facecolor=DARK, edgecolor="white", linewidth=0.5))
        if mark in ("FEW", "NOISE"):
            right, down = (0.15, 0.02) if mark == "FEW" else (0.1, 0)
            drawing.add_artist(Line2D([x + right], [y - down], transform=inches, markeredgecolor=DARK, **DOT))
        _write(drawing, x + 0.27, y, text, 8, colour=GREY)
        x += _mark_width(text)


def _mark_width(text: str) -> float:
    """Inches that a mark takes in the legend, with its text and the space after it."""
    return 0.27 + width_of(text, 8) + 0.22
