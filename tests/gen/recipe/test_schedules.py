"""Schedules equal numpy's arithmetic and the published lists exactly."""

from __future__ import annotations

import numpy as np

from niah_gen.recipe.schedules import depth_schedule, length_schedule, linear_points, sigmoid

MANY_STEPS = range(1, 300)


def test_points_equal_numpys_linspace_rounded_as_numpy_rounds() -> None:
    for first, last in ((0, 100), (1000, 16000), (0, 200_000), (7.5, 99.25), (1, 1), (100, 0), (0.1, 0.3)):
        for steps in MANY_STEPS:
            assert linear_points(first, last, steps) == np.linspace(first, last, steps).tolist()
    for steps in MANY_STEPS:
        points = np.linspace(0, 100, steps)
        assert depth_schedule(steps, "linear", "nearest", True) == np.round(points).tolist()
        assert depth_schedule(steps, "linear", "floor", True) == [float(int(x)) for x in points]
    # A half goes to the even neighbour; school rounding would give 13 and 63.
    assert depth_schedule(9, "linear", "nearest", True) == [0, 12, 25, 38, 50, 62, 75, 88, 100]
    assert depth_schedule(3, "linear", "none", True, 10, 30) == [10, 20, 30]


def test_sigmoid_depths_follow_the_published_formula_and_are_rounded_after_it() -> None:
    for steps in MANY_STEPS:
        points = np.linspace(0, 100, steps)
        moved = [float(np.round(100 / (1 + np.exp(-0.1 * (x - 50))), 3)) for x in points]
        kept = [float(x) if x in (0, 100) else y for x, y in zip(points, moved, strict=True)]
        assert depth_schedule(steps, "sigmoid", "none", False) == moved
        assert depth_schedule(steps, "sigmoid", "none", True) == kept
        assert depth_schedule(steps, "sigmoid", "floor", False) == np.floor(moved).tolist()
        assert depth_schedule(steps, "sigmoid", "nearest", False) == np.round(moved).tolist()
    # The gkamradt goldens contain the last of these depths too.
    assert {0.0, 0.896, 50.0, 99.104, 100.0, 98.398} <= set(depth_schedule(35, "sigmoid", "none", True))
    assert [sigmoid(x) for x in (0, 50, 100)] == [0.669, 50.0, 99.331]
    assert depth_schedule(3, "sigmoid", "none", True, 10, 90) == [sigmoid(10), 50.0, sigmoid(90)]
    assert depth_schedule(20, "sigmoid", "floor", False)[-3:] == [98, 98, 99]


def test_lengths_rise_in_even_steps_to_the_last_or_equal_numpys_linspace() -> None:
    for steps in MANY_STEPS:
        assert length_schedule(1000 * steps, steps) == [1000 * number for number in range(1, steps + 1)]
        points = np.linspace(1000, 128_000, steps)
        assert length_schedule(128_000, steps, 1000) == np.round(points).astype(int).tolist()
        assert length_schedule(128_000, steps, 1000, "floor") == [int(x) for x in points]
