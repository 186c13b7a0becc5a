"""The precision that needles and rows give a score, checked against simulations, published tables and a formula."""

from __future__ import annotations

import math

import numpy as np
import pytest
from coverage import covered, design
from each import each
from hypothesis import given
from hypothesis import strategies as st
from properties import examples

from niah_gen.recipe.read import load_recipe
from niah_gen.rows.forecast import forecast
from niah_gen.rows.plan import make_plan
from niah_gen.rows.precision import half_width, needles_for, t_quantile

steady = examples(200)


@each("needles", [3, 10, 20])
def test_the_forecast_width_is_close_to_that_of_simulated_scores(needles: int) -> None:
    """The median width of 200 simulated scores of 50 %: needles that differ by a logit, 8 lengths, 21 depths."""
    simulated = covered(design(200, needles), 0.5, 1.0, np.random.default_rng(3), graded=False)
    assert half_width(needles, 168) == pytest.approx(simulated.width / 2, rel=0.1)


def test_t_quantiles_match_the_published_tables() -> None:
    table = {1: 12.706, 2: 4.303, 3: 3.182, 4: 2.776, 5: 2.571, 10: 2.228, 33: 2.035, 100: 1.984}
    assert {df: round(t_quantile(df), 3) for df in table} == table


@steady
@given(needles=st.integers(2, 300), each=st.integers(1, 200))
def test_more_needles_or_more_rows_never_widen_the_interval(needles: int, each: int) -> None:
    width, more_needles, more_rows = (
        half_width(needles, each),
        half_width(needles + 1, each),
        half_width(needles, each + 1),
    )
    assert width is not None
    assert more_needles is not None
    assert more_rows is not None
    assert 0 < more_needles <= width <= 50
    assert more_rows <= width
    assert half_width(1, each) is half_width(needles, 0) is None


def test_repeats_do_not_remove_the_variation_between_needles() -> None:
    """The mean of k chances with normal logits has variance 0.0434 / k; its root, in points, times t."""
    width = half_width(20, 100_000)
    assert width is not None
    assert width == pytest.approx(100 * t_quantile(19) * math.sqrt(0.0434 / 20), rel=0.15)


@steady
@given(points=st.floats(3, 45), each=st.integers(1, 50))
def test_needles_for_returns_the_fewest_needles_that_reach_a_width(points: float, each: int) -> None:
    needles = needles_for(points, each)
    width, one_less = half_width(needles, each), half_width(needles - 1, each)
    assert width is not None
    assert width <= points
    assert one_less is None or one_less > points


def test_a_plan_states_its_precision_and_how_many_needles_would_do() -> None:
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
