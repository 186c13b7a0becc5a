"""Colours: the published palette, and one that every kind of colour vision can tell apart."""

from __future__ import annotations

import itertools
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from properties import examples

from niah_score.errors import ScoreError
from niah_score.report.charts.grid import (
    COLOURBLIND,
    CONVENTIONAL,
    DIFFERENCES,
    Rgb,
    differences_up_to,
    find_palette,
    ink_on,
    luminance,
)

# Full protanopia and deuteranopia on linear RGB: Machado, Oliveira and Fernandes, IEEE TVCG 15 (2009).
VISION = {
    "full": ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
    "protanopia": ((0.152286, 1.052583, -0.204868), (0.114503, 0.786281, 0.099216), (-0.003882, -0.048116, 1.051998)),
    "deuteranopia": ((0.367322, 0.860646, -0.227968), (0.280085, 0.672501, 0.047413), (-0.011820, 0.042940, 0.968881)),
}


def lab(colour: Rgb, vision: str) -> tuple[float, float, float]:
    """CIE L*a*b* (D65) of a colour as a kind of vision sees it."""
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in (part / 255 for part in colour)]
    seen = [min(1.0, max(0.0, sum(a * b for a, b in zip(line, linear, strict=True)))) for line in VISION[vision]]
    # Of each of X, Y and Z: the weights of the three colours, and white.
    sums = [
        ((0.4124564, 0.3575761, 0.1804375), 0.95047), ((0.2126729, 0.7151522, 0.0721750), 1.0),
        ((0.0193339, 0.1191920, 0.9503041), 1.08883),
    ]  # fmt: skip
    shares = [sum(map(math.prod, zip(seen, weights, strict=True))) / white for weights, white in sums]
    x, y, z = (t ** (1 / 3) if t > 216 / 24389 else (24389 / 27 * t + 16) / 116 for t in shares)
    return 116 * y - 16, 500 * (x - y), 200 * (y - z)


def test_the_conventional_palette_is_the_published_one_and_lightness_does_not_order_it() -> None:
    assert [CONVENTIONAL.colour(points) for points in (0, 50, 100)] == ["#f0496e", "#ebb839", "#0cd79f"]
    # Halfway between the first two, as in matplotlib's LinearSegmentedColormap.
    assert CONVENTIONAL.rgb(25) == (238, 128, 84)
    # This is why there is a second palette: the same in grey, and to some readers.
    middle, best = (lab(CONVENTIONAL.rgb(points), "full")[0] for points in (50, 100))
    assert abs(middle - best) < 2
    assert math.dist(*(lab(CONVENTIONAL.rgb(points), "deuteranopia") for points in (35, 60))) < 4


def test_every_vision_tells_scores_of_the_colourblind_palette_apart_by_lightness_and_colour() -> None:
    for vision in VISION:
        values = [lab(COLOURBLIND.rgb(points), vision)[0] for points in range(0, 101, 10)]
        assert all(after - before > 3 for before, after in itertools.pairwise(values)), values
        seen = [lab(COLOURBLIND.rgb(points), vision) for points in range(0, 101, 5)]
        for low, high in itertools.combinations(range(len(seen)), 2):
            assert high - low < 4 or math.dist(seen[low], seen[high]) > 12, (vision, 5 * low, 5 * high)


def test_better_worse_and_equal_have_clearly_different_colours_for_every_vision() -> None:
    for vision, points in itertools.product(VISION, (25, 50, 100)):
        worse, equal, better = (lab(DIFFERENCES.rgb(value), vision) for value in (-points, 0, points))
        assert min(math.dist(worse, better), math.dist(worse, equal), math.dist(better, equal)) > 20, (vision, points)
    assert max(DIFFERENCES.rgb(0)) - min(DIFFERENCES.rgb(0)) < 3
    for most, reach in ((0, 10), (10, 10), (10.1, 20), (33, 50), (51, 100), (100, 100)):
        palette = differences_up_to(most)
        assert (palette.low, palette.high) == (-reach, reach), most
        assert palette.rgb(reach) == DIFFERENCES.rgb(100)


@examples(60)
@given(st.floats(-200, 300))
def test_the_ink_is_legible_on_the_colour_of_any_score(points: float) -> None:
    for palette in (CONVENTIONAL, COLOURBLIND, DIFFERENCES):
        ink = ink_on(palette.rgb(points))
        rgb = (int(ink[1:3], 16), int(ink[3:5], 16), int(ink[5:], 16))
        dim, bright = sorted((luminance(rgb), luminance(palette.rgb(points))))
        assert (bright + 0.05) / (dim + 0.05) > 4.1  # WCAG 2.2
    assert CONVENTIONAL.rgb(min(points, -1)) == CONVENTIONAL.rgb(0)


def test_an_unknown_palette_is_refused_with_the_nearest_name() -> None:
    assert find_palette("colourblind") is COLOURBLIND
    with pytest.raises(ScoreError, match="did you mean 'colourblind'"):
        find_palette("colorblind")
