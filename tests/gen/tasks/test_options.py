"""Options of the families: what is refused, and how it is said."""

from __future__ import annotations

from typing import Any

import pytest
from each import each

import niah_gen
from niah_gen.errors import FitError, RecipeError
from niah_gen.recipe.read import load_recipe


@each(("preset", "option"), [("questions", "file"), ("ruler-cwe", "words"), ("nolima", "needle_set")])
def test_a_missing_file_is_reported_under_its_option_with_all_other_mistakes(preset: str, option: str) -> None:
    with pytest.raises(RecipeError) as caught:
        load_recipe(preset, {f"options.{option}": "none.json", "repeats": 0})
    found = {problem.partition(": ")[0] for problem in caught.value.problems}
    assert {f"options.{option}", "repeats"} <= found, caught.value.problems


@each(
    ("task", "options", "message"),
    [
        ("records", {"level": 4}, "level is 4; expected 1 to 3"),
        ("tally", {"worlds": 49}, "worlds is 49; expected 1 to 48"),
        ("uuid-chain", {"links": [0]}, "links are [0]; expected different numbers from 1 to 100"),
        ("uuid-chain", {"order": "sideways"}, "order is 'sideways'; expected one of forward, backward, shuffled"),
        ("variable-tracking", {"hops": []}, "hops are []; expected different numbers from 1 to 100"),
        ("variable-tracking", {"hops": 4}, "options.hops: expected a list"),
        ("graph-walks", {"parents": [], "depths": []}, "parents and depths are empty"),
        ("graph-walks", {"branches": 6}, "branches is 6; expected 1 to 5"),
        ("graph-walks", {"branches": 5, "depths": [3]}, "5 branches lead to 125 nodes at depth 3; expected at most 64"),
        (
            "ancestral-trace", {"kinds": ["cousin"]},
            "kinds are ['cousin']; expected different ones of eldest, ancestor, descendant, distance",
        ),
        ("ancestral-facts", {"families": 9}, "families is 9; expected 0 to 8"),
        ("common-words", {"asked": 0}, "asked is 0; expected 1 to 50"),
        ("common-words", {"common": 5, "uncommon": 3}, "common is 5 and uncommon 3; expected uncommon"),
        ("coded-words", {"alpha": 1.0}, "alpha is 1; expected 1.05 to 10"),
        ("coreference", {"like": [2, 2]}, "like are [2, 2]; expected different numbers from 2 to 20"),
        ("coreference", {"reply_tokens": 5}, "reply_tokens is 5; expected 20 to 2000"),
        ("passage-copy", {"size": 5}, "size is 5; expected 20 to 4000 tokens, or 0 for whole documents"),
        ("passage-nth", {"of": 1}, "of is 1; expected 2 to 20"),
        ("key-values", {"haystack": "hay"}, "haystack is 'hay'; expected one of needles, noise, essay"),
        ("key-values", {"digits": 4}, "digits is 4; expected 5 to 18"),
    ],
)  # fmt: skip
def test_options_out_of_range_are_refused_with_what_is_expected(
    task: str, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(RecipeError) as caught:
        load_recipe({"name": "x", "task": task, "options": options})
    assert any(message in problem for problem in caught.value.problems), caught.value.problems


@each(
    ("preset", "length", "options", "message"),
    [
        ("coreference", 500, {"like": [20]}, "no room for 20 requests with replies from en_essays; ask for longer"),
        ("common-words", 350, {}, "too few|too short"),
        ("coded-words", 1000, {"asked": 10}, "too close to tell them apart"),
        ("passage-count", 500, {}, "too few"),
        ("passage-copy", 420, {}, "too few"),
    ],
)
def test_lengths_without_room_for_what_a_family_asks_are_refused(
    preset: str, length: int, options: dict[str, Any], message: str
) -> None:
    asked = {"lengths": [length], "languages": ["en"], **{f"options.{name}": value for name, value in options.items()}}
    with pytest.raises(FitError, match=message):
        list(niah_gen.iter_rows(preset, asked))
