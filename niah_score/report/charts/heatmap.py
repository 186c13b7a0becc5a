"""Draws grids as one picture, PNG and SVG: depth down, length across, colours for scores, a line of means over them.

The same grids give the same bytes on one machine. Nothing global of matplotlib is used or stays changed.
"""

from __future__ import annotations

import logging
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from niah_score.errors import ResourceError, ScoreError
from niah_score.machine.files import write_atomically
from niah_score.machine.refusals import refusal
from niah_score.report.charts.grid import too_fine
from niah_score.report.charts.labels import FEW, Kind, cells_of_few, kind_of, note, subtitle, unanswered_label
from niah_score.report.charts.lettering import families, shortened, unknown_characters, width_of, wrapped
from niah_score.report.charts.palette import CONVENTIONAL, DARK, Palette, differences_up_to
from niah_score.report.charts.panel import FRAME, GREY, HATCH, HATCHED, PALE, SILENT, TICK, Panel
from niah_score.text.visible import one_line

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawing

    from niah_score.report.charts.grid import Grid

PICTURE_FORMATS = ("png", "svg")
_DPI = 144
# Inches.
_NARROWEST, _EDGE, _BAR = 6.0, 0.16, 0.16
_TITLE, _LINE, _NOTE = 12.0, 8.5, 7.5  # sizes of text, points
_MOST_ACROSS = 3
_LACKING = "characters without a font on this machine are boxes here; the SVG has them as text"


def draw(grids: Sequence[Grid], *paths: str | Path, palette: Palette = CONVENTIONAL, title: str | None = None) -> None:
    """One picture of all grids, a panel each with the same colours, to every path (.png or .svg).

    `title`: stands over all panels. Raises what `figure_of` does and ScoreError for another suffix, before anything is
    written, and OSError.
    """
    _check(paths)
    _save(figure_of(grids, palette=palette, title=title), grids, paths)


def figure_of(grids: Sequence[Grid], *, palette: Palette = CONVENTIONAL, title: str | None = None) -> Drawing:
    """One picture of all grids as a figure of matplotlib, which pyplot does not know; a notebook shows it.

    Scores and differences do not go into one picture. Raises ScoreError for that, for no grids, and for grids without a
    cell or with too many.
    """
    if not grids:
        raise ScoreError("nothing to draw: no grid was given")
    if len({grid.kind for grid in grids}) > 1:
        raise ScoreError("scores and differences have different scales; draw them one by one")
    for grid in grids:
        if not grid.cells:
            raise ScoreError(f"{grid.model}: no cell has a length and a depth; there is nothing to draw")
        if why := too_fine(grid):
            raise ScoreError(f"{grid.model}: {why}")
    if grids[0].kind == "difference":
        most = max(
            (abs(cell.mean) for grid in grids for cell in grid.cells.values() if cell.mean is not None), default=0
        )
        palette = differences_up_to(most)
    with _settings():
        drawing = _Picture(grids, palette, title).drawing
    # IPython asks for this; without it, it shows figures only where pyplot has been imported.
    drawing._repr_png_ = partial(png_of, drawing)  # type: ignore[attr-defined]
    return drawing


def save(drawing: Drawing, grids: Sequence[Grid], *paths: str | Path) -> None:
    """Write a figure of some grids to every path (.png or .svg), each whole or not at all.

    Raises ScoreError for another suffix, ResourceError where a path cannot be written.
    """
    _check(paths)
    try:
        _save(drawing, grids, paths)
    except OSError as error:
        raise ResourceError(refusal(error)) from None


def _save(drawing: Drawing, grids: Sequence[Grid], paths: Sequence[str | Path]) -> None:
    for path in map(Path, paths):
        # In memory first: matplotlib writes an SVG piece by piece.
        svg = path.suffix.lower() == ".svg"
        write_atomically(path, _svg_of(drawing, [grid.model for grid in grids]) if svg else png_of(drawing))


def png_of(drawing: Drawing) -> bytes:
    """A figure as the bytes of a PNG file, without times or versions in it."""
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
    """Our settings of matplotlib, for this block alone.

    Neither missing glyphs nor the first run's font cache are worth a warning; the picture says what it lacks.
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
                        # Browsers without these fonts take any without serifs.
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
    """As `png_of`, an SVG; without the remark on characters that only a PNG lacks."""
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


class _Picture:
    """All panels laid out and drawn: `drawing` is matplotlib's figure."""

    def __init__(self, grids: Sequence[Grid], palette: Palette, title: str | None) -> None:
        from matplotlib.figure import Figure as Drawing

        self.palette = palette
        self.panels = [Panel(grid, palette, alone=len(grids) == 1) for grid in grids]
        across = 2 if len(grids) == 4 else min(len(grids), _MOST_ACROSS)
        lines = [self.panels[first : first + across] for first in range(0, len(grids), across)]
        bar = 0.22 + _BAR + 0.62
        widths = [max(panel.left + panel.width for panel in self.panels[at::across]) + 0.22 for at in range(across)]
        width = max(sum(widths) + bar + _EDGE, _NARROWEST)
        start = max(0.0, (width - sum(widths) - bar) / 2)
        self.start = start + self.panels[0].left
        rooms = [room - panel.left - 0.1 for line in lines for panel, room in zip(line, widths, strict=False)]
        if len(grids) == 1:
            rooms = [width - self.start - _EDGE]
        texts = [self._titles(panel, room) for panel, room in zip(self.panels, rooms, strict=True)]
        heads = [0.2 * max(map(len, texts[at : at + across])) + 0.14 for at in range(0, len(grids), across)]
        bodies = [max(panel.height + panel.below for panel in line) for line in lines]
        top = wrapped(one_line(title), _TITLE + 1, width - self.start - _EDGE, 2, "bold") if title else []
        marks = self._marks(width - self.start - _EDGE)
        notes = self._notes(width - self.start - _EDGE)
        shown = "".join(one_line(grid.model + grid.dataset) for grid in grids) + one_line(title or "")
        if unknown_characters(shown):
            notes.append(_LACKING)
        foot = 0.22 * len(marks) + 0.165 * len(notes) + 0.1
        height = 0.14 + 0.28 * len(top) + sum(heads) + sum(bodies) + 0.14 * len(lines) + foot
        self.size = (width, height)
        self.drawing = Drawing(figsize=self.size, dpi=_DPI, facecolor="white")
        y = height - 0.14
        for text in top:
            self._text(self.start, y - 0.13, text, _TITLE + 1, weight="bold")
            y -= 0.28
        for number, (line, head, body) in enumerate(zip(lines, heads, bodies, strict=True)):
            x = start
            for panel, room, own in zip(line, widths, texts[number * across :], strict=False):
                left, bottom = x + panel.left, y - head - panel.height
                self._head(left, y - head, own)
                panel.draw(self._axes(left, bottom, panel.width, panel.height))
                x += room
            self._bar(x, y - head - line[-1].height, line[-1].height)
            y -= head + body + 0.14
        for together in marks:
            self._legend(together, y - 0.06)
            y -= 0.22
        for text in notes:
            self._text(self.start, y - 0.06, text, _NOTE, colour=GREY, gid="lacking" if text == _LACKING else None)
            y -= 0.165

    def _titles(self, panel: Panel, room: float) -> list[str]:
        """The model's name in up to three lines, and the overall figure."""
        return [
            *wrapped(one_line(panel.grid.model), _TITLE, room, 3, "bold"),
            shortened(subtitle(panel.grid), _LINE, room),
        ]

    def _head(self, left: float, bottom: float, texts: Sequence[str]) -> None:
        """Lines above a panel, the last of them nearest to it and small."""
        for above, text in enumerate(reversed(texts)):
            size, weight, colour = (_TITLE, "bold", DARK) if above else (_LINE, "normal", GREY)
            self._text(left, bottom + 0.13 + 0.2 * above, text, size, weight=weight, colour=colour)

    def _notes(self, room: float) -> list[str]:
        """What is common to all panels once, the rest for each."""
        grids = [panel.grid for panel in self.panels]
        notes = list(dict.fromkeys(note(grid) for grid in grids))
        if len(notes) > 1:
            notes = [f"{one_line(grid.model)}: {note(grid)}" for grid in grids]
        if not any(mean for grid in grids for mean in grid.means):
            return [part for text in notes for part in wrapped(text, _NOTE, room, 3, separator=" · ")]
        line = "line: mean of the depths at each length"
        if any(mean and mean.low is not None for grid in grids for mean in grid.means):
            line += ", with its 95 % interval"
        line += " · overall: the mean of these means"
        return [part for text in [*notes, line] for part in wrapped(text, _NOTE, room, 3, separator=" · ")]

    def _text(
        self, x: float, y: float, text: str, size: float, *, weight: str = "normal", colour: str = DARK,
        ha: str = "left", gid: str | None = None,
    ) -> None:  # fmt: skip
        found = self.drawing.text(
            x / self.size[0], y / self.size[1], text, fontsize=size, fontweight=weight, color=colour, ha=ha,
            va="center", gid=gid,
        )  # fmt: skip
        found.set_in_layout(False)

    def _axes(self, left: float, bottom: float, width: float, height: float) -> Axes:
        across, up = self.size
        return self.drawing.add_axes((left / across, bottom / up, width / across, height / up))

    def _bar(self, left: float, bottom: float, height: float) -> None:
        """The colours, which are the axis of the line as well."""
        axes = self._axes(left, bottom, _BAR, height)
        low, high = self.palette.low, self.palette.high
        steps = 256
        colours = [[self.palette.rgb(low + (high - low) * (step + 0.5) / steps)] for step in range(steps)]
        axes.imshow(colours, extent=(0, 1, low, high), origin="lower", aspect="auto", interpolation="nearest")
        axes.set_xticks([])
        difference = self.panels[0].grid.kind == "difference"
        ticks = [low + (high - low) * part / 4 for part in range(5)] if difference else [0, 20, 40, 60, 80, 100]
        axes.set_yticks(
            ticks,
            [(f"{tick:+g}" if difference and tick else f"{tick:g}").replace("-", "−") for tick in ticks],
            fontsize=TICK,
        )
        axes.yaxis.tick_right()
        axes.yaxis.set_label_position("right")
        axes.tick_params(length=2, width=0.6, pad=2)
        name = "Difference in points" if difference else "Score"
        axes.set_ylabel(f"{name} (colour and line)", fontsize=TICK + 0.5, labelpad=4)
        for side in axes.spines.values():
            side.set_linewidth(0.6)
            side.set_color(FRAME)

    def _marks(self, room: float) -> list[list[tuple[str, str]]]:
        """(mark, what it says) of all that occur, in lines that fit."""
        grids = [panel.grid for panel in self.panels]
        kinds = {kind_of(cell) for grid in grids for cell in grid.cells.values()}
        names = {kind: kind.value for kind in Kind} | {Kind.UNANSWERED: unanswered_label(grids)}
        found = [(kind.name, names[kind]) for kind in (Kind.UNANSWERED, Kind.PARTLY, Kind.UNSCORED) if kind in kinds]
        if any(cells_of_few(grid) for grid in grids):
            found.append(("FEW", f"fewer than {FEW} rows"))
        if any(grid.noise for grid in grids):
            numbers = all(panel.number is not None for panel in self.panels)
            found.append(("NOISE" if not numbers else "BRACKETS", "chance would explain it"))
        if any(len(grid.cells) < len(grid.lengths) * len(grid.depths) for grid in grids):
            found.append(("EMPTY", "no rows"))
        lines: list[list[tuple[str, str]]] = []
        left = 0.0
        for mark, text in found:
            left -= _mark_width(text)
            if left < 0:
                lines.append([])
                left = room + 0.22 - _mark_width(text)
            lines[-1].append((mark, text))
        return lines

    def _legend(self, marks: list[tuple[str, str]], y: float) -> None:
        from matplotlib.lines import Line2D
        from matplotlib.patches import Polygon, Rectangle

        x = self.start
        whole = self.drawing.dpi_scale_trans
        for mark, text in marks:
            fill = {"UNANSWERED": SILENT, "UNSCORED": PALE, "EMPTY": "white"}.get(mark, "#b9c9d6")
            box: dict[str, Any] = {"transform": whole, "linewidth": 0.5, "edgecolor": HATCH, "facecolor": fill}
            if mark == "UNANSWERED":
                box["hatch"] = HATCHED
            if mark == "BRACKETS":
                self._text(x + 0.1, y, "(…)", 8, ha="center")
            else:
                self.drawing.add_artist(Rectangle((x, y - 0.065), 0.2, 0.13, **box))
            if mark == "PARTLY":
                corner = [(x + 0.125, y + 0.065), (x + 0.2, y + 0.065), (x + 0.2, y - 0.01)]
                self.drawing.add_artist(
                    Polygon(corner, transform=whole, facecolor=DARK, edgecolor="white", linewidth=0.5)
                )
            if mark in ("FEW", "NOISE"):
                self.drawing.add_artist(
                    Line2D(
                        [x + (0.15 if mark == "FEW" else 0.1)], [y - (0.02 if mark == "FEW" else 0)], transform=whole,
                        marker="o", markersize=2.6, markeredgewidth=0.7, markerfacecolor="white", markeredgecolor=DARK,
                    )
                )  # fmt: skip
            self._text(x + 0.27, y, text, 8, colour=GREY)
            x += _mark_width(text)


def _mark_width(text: str) -> float:
    """Inches that a mark takes in the legend, with its text and the space after it."""
    return 0.27 + width_of(text, 8) + 0.22
