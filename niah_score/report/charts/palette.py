"""Maps scores to colours: the conventional palette, one for colour-blind readers, one for differences.

Everything that colours a cell (PNG, SVG, HTML, terminal) takes its colours from here, so a score has one colour.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from niah_score.errors import ScoreError, suggestion

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

    def colour(self, points: float) -> str:
        """The colour as #rrggbb."""
        return "#{:02x}{:02x}{:02x}".format(*self.rgb(points))

    def ink(self, points: float) -> str:
        """The colour of text on that colour: nearly black or white, whichever stands out more."""
        return ink_on(self.rgb(points))


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
    if name not in PALETTES:
        raise ScoreError(f"palette: {name!r} is unknown; {suggestion(name, PALETTES)}")
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


def contrast(one: Rgb, other: Rgb) -> float:
    """How well text of one colour stands out on the other, 1 to 21; 4.5 is easy to read (WCAG 2.2)."""
    dim, bright = sorted((luminance(one), luminance(other)))
    return (bright + 0.05) / (dim + 0.05)


def ink_on(colour: Rgb) -> str:
    """Nearly black or white, whichever stands out more."""
    return max((DARK, LIGHT), key=lambda ink: contrast(_rgb(ink), colour))


def _rgb(colour: str) -> Rgb:
    return int(colour[1:3], 16), int(colour[3:5], 16), int(colour[5:7], 16)
