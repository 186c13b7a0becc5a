"""Lengths and depths: every form is read, anything else is refused, schedules equal numpy's and the published lists."""

from __future__ import annotations

import numpy as np
from each import each
from recipes import problems

from niah_gen.recipe.read import load_recipe
from niah_gen.recipe.recipe import (
    depth_schedule,
    length_schedule,
    linear_points,
    parse_depths,
    parse_lengths,
    sigmoid,
)  # fmt: skip


@each(
    ("value", "expected"),
    [
        ("8k", (2000, 4000, 8000)),
        (" 8K ", (2000, 4000, 8000)),
        ("1m", (3906, 7812, 15_625, 31_250, 62_500, 125_000, 250_000, 500_000, 1_000_000)),
        ("4.001k", (2000, 4001)),
        ("3.9k", (3900,)),
        ("1.6k", (1600,)),
        ("1k:8k:1k", tuple(range(1000, 8001, 1000))),
        ("500:2k:750", (500, 1250, 2000)),
        ("4k:4k:1", (4000,)),
        ("8000", (8000,)),
        (8000, (8000,)),
        ("1k,2k", (1000, 2000)),
        ("2k, 1k ,1500", (1000, 1500, 2000)),
        ("8k,", None),
        ([1000, "2k", "1.5k"], (1000, 1500, 2000)),
        ((3000, 3000), (3000,)),
        (["8k"], (8000,)),
        # 1.001 * 1000 is 1000.9999999999999 in floating point.
        (["1.001k", "0.7m"], (1001, 700_000)),
        ({"max": "8k", "steps": 4}, (2000, 4000, 6000, 8000)),
        ({"max": 8000, "steps": 1}, (8000,)),
        ({"min": 1000, "max": "2k", "steps": 3}, (1000, 1500, 2000)),
        ({"min": 1000, "max": 1005, "steps": 3, "rounding": "floor"}, (1000, 1002, 1005)),
        ({"min": 1000, "max": 1005, "steps": 3}, (1000, 1002, 1005)),
        ({"min": 1000, "max": 1003, "steps": 3}, (1000, 1002, 1003)),
    ],
)
def test_lengths_are_read_in_every_form(value: object, expected: tuple[int, ...] | None) -> None:
    if expected is None:
        assert problems({"lengths": value})
    else:
        assert parse_lengths(value) == expected
        assert load_recipe({"lengths": value}).lengths == expected


@each(
    "value",
    [
        "", "k", "-8k", "8 k", "1.0005k", "8kk", "1e3", "0", 0, -5, [], [0], 1.5, [1000.0], 2**31, "1k:8k",
        "1k:8k:3k", "8k:1k:1k", "1k:8k:0", "0:8k:1k", "1:1m:1", "1k:2k:1k:1k", "9" * 400, "9" * 400 + "k",
        {"max": 10**400, "steps": 2}, {"steps": 8}, {"max": "8k"}, {"max": "8k", "steps": 0},
        {"max": "8k", "stpes": 8}, {"max": "1k", "min": "2k", "steps": 2},
        {"max": "8k", "steps": 8, "rounding": "up"}, {"max": 3, "steps": 8}, {"max": "8k", "steps": True},
        {"max": "8k", "min": 0, "steps": 2}, True, None,
    ],
)  # fmt: skip
def test_invalid_lengths_are_refused(value: object) -> None:
    (problem,) = problems({"lengths": value})
    assert problem.startswith("lengths: ")


@each(
    ("value", "expected"),
    [
        ([0, 50, 100], (0, 50, 100)),
        ([100, 0, 50, 0.0], (0, 50, 100)),
        ("0,33.3,100", (0, 33.3, 100)),
        (50, (50,)),
        ("50", (50,)),
        ({"steps": 3}, (0, 50, 100)),
        ({"steps": 4, "rounding": "floor"}, (0, 33, 66, 100)),
        ({"steps": 4, "rounding": "nearest"}, (0, 33, 67, 100)),
        ({"steps": 3, "spacing": "sigmoid"}, (0, 50, 100)),
        ({"steps": 3, "spacing": "sigmoid", "keep_ends": False}, (0.669, 50, 99.331)),
        ({"steps": 3, "min": 10, "max": 20}, (10, 15, 20)),
        ({"steps": 1}, (0,)),
    ],
)
def test_depths_are_read_in_every_form(value: object, expected: tuple[float, ...]) -> None:
    assert parse_depths(value) == expected
    assert load_recipe({"depths": value}).parts[0].depths == expected


def test_depth_minus_zero_is_read_as_zero() -> None:
    assert str(load_recipe({"depths": "-0"}).parts[0].depths) == "(0.0,)"


@each(
    "value",
    [
        "", "0,,1", "a", [-1], [100.1], "nan", [float("nan")], "inf", [True], [], {}, {"steps": 0}, {"steps": 2.0},
        {"steps": 3, "spacing": "log"}, {"steps": 3, "rounding": "up"}, {"steps": 3, "keep_end": True},
        {"steps": 3, "keep_ends": 1}, {"steps": 3, "max": 101}, [[0]], None, 10**400,
    ],
)  # fmt: skip
def test_invalid_depths_are_refused(value: object) -> None:
    (problem,) = problems({"depths": value})
    assert problem.startswith("depths: ")


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
