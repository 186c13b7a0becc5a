"""Computes from scored rows the grids of figures, by length and depth, that heatmaps show; their words and colours.

Everything that colours a cell (PNG, SVG, HTML, terminal) takes its colours from here, so a score has one colour.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median
from typing import Literal

from niah_score.errors import ScoreError, check_choice
from niah_score.statistics.figures import length_means, of_lengths
from niah_score.statistics.intervals import Figure
from niah_score.statistics.scored import Scored
from niah_score.text.visible import one_line

# Lengths or depths in a picture. With more, cells are smaller than a line is wide.
MOST = 120


@dataclass(frozen=True)
class Grid:
    """One run's scores (points, 0 to 100), or differences of two (-100 to 100), by depth (down) and length (across).

    `lengths`: tokens, rising. `depths`: percent, rising. `cells`: by (index of the length, index of the depth), without
    those that have no rows. `means`: of each length, None if it has no score. `overall`: the figure in the title.
    `noise`: the cells of a difference that chance would explain.
    """

    model: str
    dataset: str
    metric: str
    lengths: tuple[float, ...]
    depths: tuple[float, ...]
    cells: Mapping[tuple[int, int], Figure]
    means: tuple[Figure | None, ...]
    overall: Figure | None = None
    kind: Literal["scores", "difference"] = "scores"
    noise: frozenset[tuple[int, int]] = frozenset()

    @property
    def most(self) -> float:
        """The largest number in a cell, whatever its sign."""
        return max((abs(cell.mean) for cell in self.cells.values() if cell.mean is not None), default=0.0)


def too_fine(grid: Grid) -> str | None:
    """Why a grid cannot be drawn, if it has more lengths or depths than a reader can distinguish; else None."""
    for name, values in (("lengths", grid.lengths), ("depths", grid.depths)):
        if len(values) > MOST:
            return f"{len(values):,} {name}, and a heatmap shows at most {MOST}; round the {name} of the dataset's rows"
    return None


def has_grid(scores: Scored) -> bool:
    """Whether any row has both a length and a depth."""
    return any(None not in place for place in scores.groups("length", "depth_percent")[0])


def grid_of(
    scored: Scored, metric: str = "score", language: str | None = None, *, model: str = "model", dataset: str = ""
) -> Grid:
    """The figures of one metric by length and depth, over the rows that have both (only those of `language`, if given).

    `means`: for each length the mean of its depths' means, however many rows they have; `overall`: the mean of those.
    OpenCompass's plots and NeedleBench average like this. `model` and `dataset` name what is drawn.
    Raises ScoreError if no row has a length and a depth, no such row is in the language, or the metric is unknown.
    """
    if not has_grid(scored):
        raise ScoreError("no row has a length and a depth: there is nothing to draw")
    kept = scored.column("length").is_not_null() & scored.column("depth_percent").is_not_null()
    if language is not None:
        kept &= scored.column("language").eq_missing(language)
    if not kept.any():
        there = ", ".join(str(name) for name in scored.factor("language").values if name is not None)
        raise ScoreError(f"language: no row with a length and a depth is in {language!r}; the rows are in {there}")
    scored = scored.only(kept)
    lengths, depths = scored.factor("length").values, scored.factor("depth_percent").values
    figures = scored.figures(metric, "length", "depth_percent")
    means, whole = length_means(scored, metric), of_lengths(scored, metric)
    return Grid(
        model=model,
        dataset=", ".join(filter(None, (dataset, language))),
        metric=metric,
        lengths=tuple(lengths),
        depths=tuple(depths),
        cells={(lengths.index(length), depths.index(depth)): figure for (length, depth), figure in figures.items()},
        means=tuple(means.get(length) for length in lengths),
        overall=whole if whole.n else None,
    )


def is_silent(cell: Figure) -> bool:
    """Whether no row of a cell was answered: it is not shown as wrong, even if it counts as 0."""
    return cell.unanswered > 0 and (cell.mean is None or cell.unanswered >= cell.rows)


def marks(grids: Sequence[Grid], signs: Mapping[str, str]) -> list[str]:
    """What the signs that occur mean. `signs`: those used for silent, unscored, partly, noise, empty."""
    cells = [cell for grid in grids for cell in grid.cells.values()]
    counted = {cell.mean is not None for cell in cells if is_silent(cell)}
    how = {True: " (counted as 0)", False: " (not counted)"}[counted.pop()] if len(counted) == 1 else ""
    meanings = {
        "silent": (any(map(is_silent, cells)), f"no answer{how}"),
        "unscored": (any(c.mean is None and not is_silent(c) for c in cells), "no score (metric does not apply)"),
        "partly": (any(c.unanswered and not is_silent(c) for c in cells), "some rows without an answer"),
        "noise": (any(grid.noise for grid in grids), "chance would explain it"),
        "empty": (any(len(grid.cells) < len(grid.lengths) * len(grid.depths) for grid in grids), "no rows"),
    }
    return [f"{signs[name]} {text}" for name, (occurs, text) in meanings.items() if occurs and name in signs]


def length_labels(lengths: Sequence[float]) -> list[str]:
    """Numbers of tokens as people write them: 1k, 1.5k, 32k, 1M, 4,096."""
    return [_tokens(length) for length in lengths]


def _tokens(length: float) -> str:
    for size, letter in ((1_000_000, "M"), (1_000, "k")):
        short = float(f"{length / size:.3g}")
        if length >= size and abs(short * size - length) < 1e-6:
            return f"{short:g}{letter}"
    return f"{length:,.0f}" if float(length).is_integer() else f"{length:,g}"


def depth_labels(depths: Sequence[float]) -> list[str]:
    """Percent with up to two decimals, without trailing zeros."""
    return [f"{depth:.2f}".rstrip("0").rstrip(".") for depth in depths]


def points(value: float, kind: str = "scores") -> str:
    """A score for a small cell: whole points, differences with a sign. Only a full 100 reads 100."""
    if kind == "difference":
        return f"{value:+.0f}".replace("-", "−") if round(value) else "0"
    return "99" if 99 <= value < 100 else f"{value:.0f}"


def subtitle(grid: Grid) -> str:
    """The overall figure with its interval: overall 87.3 [84.1, 90.2]."""
    whole = grid.overall
    if whole is None or whole.mean is None:
        return "no score"
    sign = "+" if grid.kind == "difference" else ""
    mean, low, high = (None if end is None else f"{end:{sign}.1f}" for end in (whole.mean, whole.low, whole.high))
    text = f"overall {mean}" + ("" if low is None or high is None else f" [{low}, {high}]")
    return text.replace("-", "−").replace("+0.0", "0.0").replace("−0.0", "0.0")


def note(grid: Grid) -> str:
    """What was drawn, on one line: metric and dataset."""
    return " · ".join(
        [f"metric {one_line(grid.metric)}", *([f"dataset {one_line(grid.dataset)}"] if grid.dataset else [])]
    )


def counts(grid: Grid) -> str:
    """How many rows were drawn and had an answer, rows in a cell, and the typical reach of a cell's interval."""
    cells = grid.cells.values()
    rows, scored, silent = (sum(getattr(cell, name) for cell in cells) for name in ("rows", "n", "unanswered"))
    text = f"{rows:,} row{'s' * (rows != 1)}" + (f", {scored:,} scored" if scored < rows else "")
    text += f", {silent:,} without an answer" if silent else ""
    numbers = sorted({cell.n for cell in cells if cell.n})
    if not numbers:
        return f"{text} · no score in any cell"
    text += f" · n {numbers[0]}{f' to {numbers[-1]}' * (len(numbers) > 1)} a cell"
    halves = [(cell.high - cell.low) / 2 for cell in cells if cell.low is not None and cell.high is not None]
    return f"{text}, 95 % interval typically ±{median(halves):.0f} points" if halves else text


# Colours ------------------------------------------------------------------------------------------------------------

Rgb = tuple[int, int, int]


@dataclass(frozen=True)
class Palette:
    """Colours between `low` and `high` points, linear in sRGB between evenly spaced `stops` (#rrggbb)."""

    name: str
    stops: tuple[str, ...]
    low: float = 0.0
    high: float = 100.0

    def rgb(self, points: float) -> Rgb:
        """Red, green and blue, 0 to 255; points beyond an end have the end's colour."""
        share = min(1.0, max(0.0, (points - self.low) / (self.high - self.low)))
        place = share * (len(self.stops) - 1)
        first = min(int(place), len(self.stops) - 2)
        below, above = _rgb(self.stops[first]), _rgb(self.stops[first + 1])
        red, green, blue = (round(a + (b - a) * (place - first)) for a, b in zip(below, above, strict=True))
        return red, green, blue


# The colours of the published heatmaps: OpenCompass, and the needle-in-a-haystack test that they follow.
CONVENTIONAL = Palette("conventional", ("#F0496E", "#EBB839", "#0CD79F"))
# Dark is wrong, light is right, in any kind of colour vision and in grey: five stops of matplotlib's viridis (CC0).
COLOURBLIND = Palette("colourblind", ("#440154", "#3B528B", "#21918C", "#5EC962", "#FDE725"))
# Worse is orange, better is blue, equal is nearly white: distinct in any kind of colour vision.
DIFFERENCES = Palette("differences", ("#B35806", "#F1A340", "#F7F7F7", "#559FCC", "#2166AC"), -100.0, 100.0)

PALETTES = {palette.name: palette for palette in (CONVENTIONAL, COLOURBLIND)}
DARK, LIGHT = "#1a1a1a", "#ffffff"


def find_palette(name: str) -> Palette:
    """A palette of scores by its name. Raises ScoreError for an unknown one."""
    check_choice("palette", name, tuple(PALETTES))
    return PALETTES[name]


def differences_up_to(points: float) -> Palette:
    """The palette of differences, reaching to the next of 10, 20, 50 and 100 points, so that small ones show."""
    reach = next((end for end in (10.0, 20.0, 50.0) if points <= end), 100.0)
    return replace(DIFFERENCES, low=-reach, high=reach)


def luminance(colour: Rgb) -> float:
    """Relative luminance, 0 to 1 (WCAG 2.2)."""
    parts = [part / 255 for part in colour]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def ink_on(colour: Rgb) -> str:
    """Nearly black or white, whichever stands out more: both do equally at this luminance, by WCAG's contrast."""
    return DARK if luminance(colour) >= 0.2017 else LIGHT


def _rgb(colour: str) -> Rgb:
    return int(colour[1:3], 16), int(colour[3:5], 16), int(colour[5:7], 16)
