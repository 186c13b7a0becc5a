"""Colours: the published palette, and one that every kind of colour vision can tell apart."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from properties import examples

from niah_score.errors import ScoreError
from niah_score.report.charts.grid import (
    COLOURBLIND,
    CONVENTIONAL,
    DIFFERENCES,
    differences_up_to,
    find_palette,
    ink_on,
    luminance,
)


def test_the_conventional_palette_is_the_published_one() -> None:
    assert [CONVENTIONAL.rgb(points) for points in (0, 50, 100)] == [(240, 73, 110), (235, 184, 57), (12, 215, 159)]
    # Halfway between the first two, as in matplotlib's LinearSegmentedColormap.
    assert CONVENTIONAL.rgb(25) == (238, 128, 84)


def test_lightness_orders_the_colourblind_palette_and_equal_scores_are_grey() -> None:
    lightness = [luminance(COLOURBLIND.rgb(points)) for points in range(0, 101, 5)]
    assert lightness == sorted(set(lightness))
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
