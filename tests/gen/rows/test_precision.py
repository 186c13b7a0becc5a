"""What a number of rows is worth."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from properties import examples

from niah_gen.recipe.read import load_recipe
from niah_gen.rows.forecast import forecast
from niah_gen.rows.plan import make_plan
from niah_gen.rows.precision import half_width, rows_for

steady = examples(200)
Z = 1.959963984540054


@steady
@given(rows=st.integers(1, 5000), percent=st.floats(0, 100))
def test_the_interval_holds_the_shares_from_which_the_score_is_not_far_off(rows: int, percent: float) -> None:
    """Wilson's interval ends at the two shares p for which |score - p| is z standard errors of p."""
    score = percent / 100
    a, b, c = 1 + Z * Z / rows, -(2 * score + Z * Z / rows), score * score
    root = math.sqrt(max(0.0, b * b - 4 * a * c))
    low, high = (-b - root) / (2 * a), (-b + root) / (2 * a)
    assert half_width(rows, percent) == pytest.approx(100 * (high - low) / 2, abs=1e-6)


def test_one_half_is_the_widest_and_more_rows_are_narrower() -> None:
    assert half_width(20, 50) > half_width(20, 70) > half_width(20, 100) > 0
    assert half_width(0) == 50
    widths = [half_width(rows) for rows in range(1, 200)]
    assert widths == sorted(widths, reverse=True)


@steady
@given(points=st.floats(0.5, 49))
def test_the_fewest_rows_for_some_points_reach_them_and_one_less_does_not(points: float) -> None:
    rows = rows_for(points)
    assert half_width(rows) <= points + 1e-9
    assert rows == 1 or half_width(rows - 1) > points - 1e-9


def test_a_plan_says_what_its_rows_are_worth_and_how_many_more_would_do() -> None:
    lines = {line[:12].strip(): line[13:] for line in forecast(make_plan(load_recipe("default")))}
    assert lines["interval"].startswith(
        "the 3 rows of a cell tell its score to within 37 points, the 63 of a length to"
    )
    repeats = int(lines["advice"].split()[1])
    assert half_width(3 * repeats) <= 15 < half_width(3 * (repeats - 1))
    enough = {line[:12].strip() for line in forecast(make_plan(load_recipe("default", {"repeats": repeats})))}
    assert "interval" in enough
    assert "advice" not in enough
