"""What a number of needles and rows is worth."""

from __future__ import annotations

import math

import numpy as np
import pytest
from coverage import covered, design
from hypothesis import given
from hypothesis import strategies as st
from properties import examples

from niah_gen.recipe.read import load_recipe
from niah_gen.rows.forecast import forecast
from niah_gen.rows.plan import make_plan
from niah_gen.rows.precision import half_width, needles_for, t_quantile

steady = examples(200)


@pytest.mark.parametrize("needles", [3, 10, 20])
def test_the_forecast_is_near_the_width_that_scores_will_have(needles: int) -> None:
    """Of simulated scores of 50 % whose needles differ by a logit, 8 lengths and 21 depths, the median of 200."""
    found = covered(design(200, needles), 0.5, 1.0, np.random.default_rng(3), graded=False)
    assert half_width(needles, 168) == pytest.approx(found.width / 2, rel=0.1)


def test_quantiles_of_t_are_those_of_the_tables() -> None:
    table = {1: 12.706, 2: 4.303, 3: 3.182, 4: 2.776, 5: 2.571, 10: 2.228, 33: 2.035, 100: 1.984}
    assert {df: round(t_quantile(df), 3) for df in table} == table


@steady
@given(needles=st.integers(2, 300), each=st.integers(1, 200))
def test_more_needles_and_more_rows_of_each_are_never_wider(needles: int, each: int) -> None:
    found, more, longer = half_width(needles, each), half_width(needles + 1, each), half_width(needles, each + 1)
    assert found is not None
    assert more is not None
    assert longer is not None
    assert 0 < more <= found <= 50
    assert longer <= found
    assert half_width(1, each) is half_width(needles, 0) is None


def test_repeats_of_the_same_needles_leave_what_needles_differ_by() -> None:
    """The variance of the mean of k chances whose logits are normal: 0.0434 / k, in points, times t."""
    found = half_width(20, 100_000)
    assert found is not None
    assert found == pytest.approx(100 * t_quantile(19) * math.sqrt(0.0434 / 20), rel=0.15)


@steady
@given(points=st.floats(3, 45), each=st.integers(1, 50))
def test_the_fewest_needles_for_some_points_reach_them_and_one_less_does_not(points: float, each: int) -> None:
    needles = needles_for(points, each)
    found, less = half_width(needles, each), half_width(needles - 1, each)
    assert found is not None
    assert found <= points
    assert less is None or less > points


def test_a_plan_says_what_its_needles_are_worth_and_how_many_would_do() -> None:
    lines = {line[:12].strip(): line[13:] for line in forecast(make_plan(load_recipe("plain")))}
    assert lines["interval"] == (
        "the 3 rows of a cell tell its score to within 44 points, the 63 of a length to within 44 (95 %, at a score of "
        "50 %, 3 needles that differ by a logit)"
    )
    assert lines["advice"] == (
        "46 needles tell every cell to within 15 points, 13 every length; repeats of the same needles help little"
    )
    single = {"languages": ["en"], "needles": ["velden-archive"]}
    lines = {line[:12].strip(): line[13:] for line in forecast(make_plan(load_recipe("plain", single)))}
    assert lines["interval"].startswith("one needle: ")
