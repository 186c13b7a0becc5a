"""Presets: each that needs no file loads, each states its fields, and the published ones keep published settings."""

from __future__ import annotations

import tomllib
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from each import each
from small_dataset import problems

from niah_gen.errors import RecipeError
from niah_gen.recipe.read import load_recipe
from niah_gen.recipe.recipe import (
    depth_schedule,
    parse_depths,
    parse_lengths,
    preset_names,
    preset_text,
    sigmoid,
)  # fmt: skip
from niah_gen.rows.plan import make_plan


@each(
    ("value", "expected"),
    [
        ("8k", (2000, 4000, 8000)),
        ("1m", (3906, 7812, 15_625, 31_250, 62_500, 125_000, 250_000, 500_000, 1_000_000)),
        ("4.001k", (2000, 4001)),
        ("1k:8k:1k", tuple(range(1000, 8001, 1000))),
        ("500:2k:750", (500, 1250, 2000)),
        (8000, (8000,)),
        ("1k,2k", (1000, 2000)),
        ("8k,", None),
        ([1000, "2k", "1.5k"], (1000, 1500, 2000)),
        # 1.001 * 1000 is 1000.9999999999999 in floating point.
        (["1.001k", "0.7m"], (1001, 700_000)),
        ({"max": "8k", "steps": 4}, (2000, 4000, 6000, 8000)),
        ({"min": 1000, "max": "2k", "steps": 3}, (1000, 1500, 2000)),
        ({"min": 1000, "max": 1005, "steps": 3, "rounding": "floor"}, (1000, 1002, 1005)),
        ({"min": 1000, "max": 1005, "steps": 3}, (1000, 1002, 1005)),
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
        ("0,33.3,100", (0, 33.3, 100)),
        (50, (50,)),
        ({"steps": 3}, (0, 50, 100)),
        ({"steps": 4, "rounding": "floor"}, (0, 33, 66, 100)),
        ({"steps": 3, "spacing": "sigmoid"}, (0, 50, 100)),
        ({"steps": 3, "spacing": "sigmoid", "keep_ends": False}, (0.669, 50, 99.331)),
        ({"steps": 3, "min": 10, "max": 20}, (10, 15, 20)),
    ],
)
def test_depths_are_read_in_every_form(value: object, expected: tuple[float, ...]) -> None:
    assert parse_depths(value) == expected
    assert load_recipe({"depths": value}).parts[0].depths == expected


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


# These need a file of the user's own.
NEED_FILES = {"ruler", "ruler-qa_1", "ruler-qa_2", "questions", "openai-graphwalks", "longbench-v2"}


@each("name", sorted({*preset_names()} - NEED_FILES))
def test_every_preset_loads_and_its_resolved_form_reads_back_unchanged(all_corpora: Path, name: str) -> None:
    recipe = load_recipe(name)
    assert recipe.name == name
    again = load_recipe(tomllib.loads(recipe.to_toml().decode()))
    assert again == recipe
    assert again.to_toml() == recipe.to_toml()
    assert load_recipe(recipe) == recipe


def test_a_misspelt_preset_is_refused_with_the_nearest_name() -> None:
    (problem,) = problems("cdme8k")
    assert "neither a preset nor a .toml file; did you mean 'cdme-8k'?" in problem
    with pytest.raises(RecipeError, match="preset 'defualt' does not exist; did you mean 'default'"):
        preset_text("defualt")


def test_a_diff_or_placement_override_replaces_the_settings_that_depend_on_it() -> None:
    for overrides, spread in (
        ({}, "even"), ({"diff": 10}, "diff"), ({"diff": 10, "spread": "random"}, "random"),
    ):  # fmt: skip
        assert load_recipe("plain", overrides).parts[0].spread == spread
    (published,) = load_recipe("plain", {"placement": "opencompass"}).parts
    assert (published.spread, published.boundary, published.leaks) == ("diff", "token", "report")


def test_the_default_preset_asks_eight_worlds_a_part_language_and_length() -> None:
    plan = make_plan(load_recipe("default"))
    asked = Counter(cell.part for cell in plan.cells)
    of_twelve, of_six = 3 * 2 * 8 * 12, 3 * 2 * 8 * 6
    assert asked == {
        **dict.fromkeys(("records", "associations", "threads", "moves"), of_twelve),
        **dict.fromkeys(("lists", "tally"), of_six),
    }
    assert {part.weight for part in plan.recipe.parts} == {1}
    rows = Counter((cell.part, cell.language, cell.length, cell.needle) for cell in plan.cells)
    assert set(rows.values()) == {12, 6}


def test_flags_of_worlds_do_what_they_say() -> None:
    recipe = load_recipe("default", {"parts": "moves,records", "options.level": 3, "options.worlds": 2})
    assert [part.name for part in recipe.parts] == ["records", "moves"]
    plan = make_plan(load_recipe(recipe, {"lengths": [4000], "options.rows_per_context": 4}))
    assert Counter(cell.part for cell in plan.cells) == {"records": 2 * 2 * 4, "moves": 2 * 2 * 4}
    with pytest.raises(RecipeError, match="parts: no part 'recrds'; did you mean 'records'"):
        load_recipe("default", {"parts": ["recrds"]})
    with pytest.raises(RecipeError, match="parts: the recipe has none"):
        load_recipe("plain", {"parts": "records"})


def test_depths_are_the_number_of_records_of_a_world_and_other_numbers_are_refused() -> None:
    of_records = {"parts": "records", "lengths": [2000], "languages": ["en"]}
    for depths in ("0,50,100", {"steps": 3}):
        plan = make_plan(load_recipe("default", {**of_records, "depths": depths}))
        assert {cell.depth for cell in plan.cells} == {0, 50, 100, None}
    plan = make_plan(load_recipe("default", {**of_records, "depths.steps": 7}))
    assert len({cell.depth for cell in plan.cells}) == 8
    with pytest.raises(RecipeError, match=r"depths: 4 asked for, but `records` states all but 1.*3, 5, 7, 9, 11"):
        make_plan(load_recipe("default", {**of_records, "depths": "0,10,20,30"}))


def test_a_preset_of_worlds_says_what_short_lengths_and_own_corpora_change(tmp_path: Path) -> None:
    own_corpus = tmp_path / "own"
    own_corpus.mkdir()
    (own_corpus / "one.txt").write_text("It rained. The cows came home.", "utf-8")
    told: list[str] = []
    recipe = load_recipe("default", {"lengths": "1k"}, notice=told.append)
    assert {part.options["level"] for part in recipe.parts} == {1}
    assert told == [
        "with a length below 2,000 tokens, all worlds are of level 1, which take up to 750 tokens; those of level 2 "
        "take up to 1,500"
    ]
    told.clear()
    recipe = load_recipe("default", {"corpora": [str(own_corpus)]}, notice=told.append)
    assert [part.name for part in recipe.parts] == ["records", "threads", "moves", "lists", "tally"]
    assert len(told) == 1
    assert told[0].startswith("part associations is left out: nothing says which documents of")
    chosen = load_recipe("default", {"corpora": [str(own_corpus)], "parts": "associations"})
    assert [part.name for part in chosen.parts] == ["associations"]


def test_the_smoke_and_plain_presets_have_40_and_378_rows_in_two_languages() -> None:
    for name, rows, longest in (("smoke", 40, 4000), ("plain", 3 * 21 * 3 * 2, 8000)):
        plan = make_plan(load_recipe(name))
        assert (len(plan.cells), max(cell.length for cell in plan.cells)) == (rows, longest)
        assert {cell.language for cell in plan.cells} == {"en", "zh"}


def test_published_presets_have_the_published_grids(all_corpora: Path) -> None:
    floored = (0, 5, 10, 15, 21, 26, 31, 36, 42, 47, 52, 57, 63, 68, 73, 78, 84, 89, 94, 100)
    for name, last in (("cdme-8k", 8), ("cdme-32k", 32)):
        recipe = load_recipe(name)
        assert recipe.parts[0].depths == floored
        assert recipe.lengths == tuple(range(1000, 1000 * last + 1, 1000))
        assert (recipe.parts[0].repeats, recipe.parts[0].reserve, recipe.tokenizer) == (10, 200, "cl100k_base")
    assert load_recipe("cdme-200k").lengths == (*range(16_000, 192_001, 16_000), 200_000)
    for name, last, steps in (
        ("gkamradt-single", 16_000, 35), ("gkamradt-multi", 16_000, 35), ("gkamradt-classic", 128_000, 15),
    ):  # fmt: skip
        recipe = load_recipe(name)
        assert list(recipe.lengths) == np.round(np.linspace(1000, last, steps)).astype(int).tolist()
        assert list(recipe.parts[0].depths) == np.round(np.linspace(0, 100, steps)).tolist()
        assert recipe.form == "chat"
    assert list(load_recipe("cdme-processed-8k").parts[0].depths) == np.linspace(0, 100, 35).tolist()
