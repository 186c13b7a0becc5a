"""Schedules of depths and lengths, checked against the numpy formulas of the published systems."""

from __future__ import annotations

import itertools
import math

import numpy as np
from each import each

from niah_gen.recipe.schedules import depth_schedule, length_schedule, linear_points, sigmoid

MANY_STEPS = range(1, 500)


def test_linear_points_equal_numpys_linspace_exactly() -> None:
    for steps in MANY_STEPS:
        assert linear_points(0.0, 100.0, steps) == np.linspace(0.0, 100.0, steps).tolist()


@each(("first", "last"), [(1000, 16000), (0, 200_000), (7.5, 99.25), (1, 1), (100, 0), (0.1, 0.3)])
def test_linear_points_between_any_ends_equal_numpys_linspace(first: float, last: float) -> None:
    for steps in range(1, 150):
        assert linear_points(first, last, steps) == np.linspace(first, last, steps).tolist()


def test_nearest_depths_equal_numpys_rounded_linspace() -> None:
    for steps in MANY_STEPS:
        expected = np.round(np.linspace(0, 100, steps)).tolist()
        assert depth_schedule(steps, "linear", "nearest", True) == expected


def test_floored_depths_equal_int_of_linspace() -> None:
    for steps in MANY_STEPS:
        assert depth_schedule(steps, "linear", "floor", True) == [float(int(x)) for x in np.linspace(0, 100, steps)]


def test_a_half_rounds_to_the_even_neighbour_as_in_numpy() -> None:
    # 0, 12.5, 25, 37.5, ... : Python and numpy agree on banker's rounding, school rounding would give 13 and 63.
    assert depth_schedule(9, "linear", "nearest", True) == [0, 12, 25, 38, 50, 62, 75, 88, 100]


@each("keep_ends", [True, False])
def test_sigmoid_depths_follow_the_published_formula(keep_ends: bool) -> None:
    for steps in MANY_STEPS:
        expected = [
            float(x) if keep_ends and x in (0, 100) else float(np.round(100 / (1 + np.exp(-0.1 * (x - 50))), 3))
            for x in np.linspace(0, 100, steps)
        ]
        assert depth_schedule(steps, "sigmoid", "none", keep_ends) == expected


def test_rounding_is_applied_after_the_sigmoid() -> None:
    for steps in range(2, 60):
        raw = depth_schedule(steps, "sigmoid", "none", False)
        assert depth_schedule(steps, "sigmoid", "floor", False) == [float(math.floor(x)) for x in raw]
        assert depth_schedule(steps, "sigmoid", "nearest", False) == np.round(raw).tolist()


def test_twenty_floored_depths_are_as_published() -> None:
    assert depth_schedule(20, "linear", "floor", True) == [
        0, 5, 10, 15, 21, 26, 31, 36, 42, 47, 52, 57, 63, 68, 73, 78, 84, 89, 94, 100,
    ]  # fmt: skip


def test_thirty_five_nearest_depths_are_as_published() -> None:
    assert depth_schedule(35, "linear", "nearest", True) == [
        0, 3, 6, 9, 12, 15, 18, 21, 24, 26, 29, 32, 35, 38, 41, 44, 47, 50, 53, 56, 59, 62, 65, 68, 71, 74, 76, 79, 82,
        85, 88, 91, 94, 97, 100,
    ]  # fmt: skip


def test_thirty_five_sigmoid_depths_keep_0_and_100_and_are_symmetric() -> None:
    points = depth_schedule(35, "sigmoid", "none", True)
    # 100 / (1 + exp(-0.1 (100/34 - 50))) = 0.896, rounded to 3 decimals; symmetric about 50.
    assert points[:2] == [0.0, 0.896]
    assert points[17] == 50.0
    assert points[-2:] == [99.104, 100.0]
    assert all(low < high for low, high in itertools.pairwise(points))
    assert all(abs(low + high - 100) < 1e-9 for low, high in zip(points, reversed(points), strict=True))
    # The gkamradt goldens contain this depth too.
    assert 98.398 in points


def test_twenty_floored_sigmoid_depths_reach_100_only_if_the_ends_are_kept() -> None:
    moved = depth_schedule(20, "sigmoid", "floor", False)
    assert moved[:6] == [0, 1, 1, 3, 5, 8]
    assert moved[-3:] == [98, 98, 99]
    assert len(set(moved)) == 18
    assert depth_schedule(20, "sigmoid", "floor", True)[-1] == 100


def test_the_sigmoid_is_rounded_to_three_decimals() -> None:
    assert [sigmoid(x) for x in (0, 50, 100)] == [0.669, 50.0, 99.331]


def test_a_partial_range_is_spaced_like_the_whole_range() -> None:
    assert depth_schedule(3, "linear", "none", True, 10, 30) == [10, 20, 30]
    assert depth_schedule(3, "sigmoid", "none", True, 10, 90) == [sigmoid(10), 50.0, sigmoid(90)]


def test_eight_steps_up_to_eight_thousand_are_every_thousand() -> None:
    assert length_schedule(8000, 8) == [1000, 2000, 3000, 4000, 5000, 6000, 7000, 8000]


@each("steps", [1, 2, 8, 32, 100])
def test_lengths_without_a_minimum_rise_in_equal_steps_to_the_maximum(steps: int) -> None:
    assert length_schedule(1000 * steps, steps) == [1000 * number for number in range(1, steps + 1)]


def test_lengths_with_a_minimum_equal_numpys_linspace() -> None:
    assert length_schedule(16000, 35, 1000) == np.round(np.linspace(1000, 16000, 35)).astype(int).tolist()
    for steps in range(1, 200):
        assert length_schedule(128_000, steps, 1000) == np.round(np.linspace(1000, 128_000, steps)).astype(int).tolist()
        floored = length_schedule(128_000, steps, 1000, "floor")
        assert floored == [int(x) for x in np.linspace(1000, 128_000, steps)]
