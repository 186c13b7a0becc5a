"""Recipes with several parts: how they are read, resolved, overridden and built."""

from __future__ import annotations

import tomllib
from typing import Any

import pytest
from each import each
from proved import prove

import niah_gen
from niah_gen.errors import RecipeError
from niah_gen.recipe.read import load_recipe
from niah_gen.rows.plan import make_plan
from niah_score.contract import read_manifest

PARTS: dict[str, Any] = {
    "name": "several",
    "lengths": [1000, 2000],
    "depths": [0, 50, 100],
    "corpora": ["en_essays"],
    "parts": [
        {"name": "plain", "needles": ["brannock-lighthouse"], "weight": 0},
        {
            "name": "chain", "needles": ["ferrand-gap-viaduct"], "options": {"say_hops": True}, "spread": "random",
            "controls": ["absent", "no_context"], "control_depths": [50], "fresh_haystacks": True,
        },
        {"name": "known", "task": "records", "lengths": [1500], "options": {"level": 1, "worlds": 1}},
    ],
}  # fmt: skip


def test_parts_inherit_and_override_the_recipes_fields_which_are_stated_once() -> None:
    recipe = load_recipe(PARTS)
    plain, chain, known = recipe.parts
    assert [(part.name, part.weight, part.task) for part in recipe.parts] == [
        ("plain", 0, "single"), ("chain", 1, "multi"), ("known", 1, "records"),
    ]  # fmt: skip
    assert (plain.lengths, chain.lengths, known.lengths) == ((1000, 2000), (1000, 2000), (1500,))
    assert (plain.depths, recipe.lengths) == ((0, 50, 100), (1000, 1500, 2000))
    assert (chain.spread, plain.spread) == ("random", "even")
    table = tomllib.loads(recipe.to_toml().decode())
    assert load_recipe(table) == recipe
    assert table["corpora"] == ["en_essays"]
    assert all("corpora" not in part for part in table["parts"])
    plan = make_plan(recipe)
    assert make_plan(load_recipe(tomllib.loads(plan.recipe.to_toml().decode()))).digest == plan.digest


@pytest.mark.slow
@each("form", ["text", "chat"])
def test_rows_of_parts_are_built_proved_and_rebuilt_identically(form: str, tmp_path: Any) -> None:
    folder = niah_gen.build({**PARTS, "form": form}, tmp_path, formats=["parquet", "jsonl"])
    assert (prove(folder).problems, prove(folder).not_rebuilt) == ((), None)
    rows = list(niah_gen.iter_rows({**PARTS, "form": form}))
    assert len(rows) == read_manifest(folder).rows == len({row["id"] for row in rows})
    assert {(row["part"], row["task"], row["control"]) for row in rows} == {
        ("plain", "single", None), ("chain", "multi", None), ("chain", "multi", "absent"),
        ("chain", "multi", "no_context"), ("known", "records", None),
    }  # fmt: skip
    # Each part has ids and haystacks of its own.
    assert len({row["id"][:8] for row in rows}) == 3
    plain, chain = ({row["haystack_id"] for row in rows if row["part"] == part} - {None} for part in ("plain", "chain"))
    assert not plain & chain
    again = niah_gen.build(folder / "recipe.toml", tmp_path / "again")
    assert read_manifest(again).content_digest == read_manifest(folder).content_digest


@each("form", ["text", "chat"])
def test_a_no_context_prompt_contains_only_the_question(form: str) -> None:
    rows = [row for row in niah_gen.iter_rows({**PARTS, "form": form}) if row["control"] == "no_context"]
    assert len(rows) == 1
    for row in rows:
        contents = [row["prompt"]] if isinstance(row["prompt"], str) else [m["content"] for m in row["prompt"]]
        assert [str(content).strip() for content in contents] == [row["question"]]
        assert (row["needles"], row["needle_spans"], row["haystack_id"], row["haystack_tokens"]) == ([], [], None, 0)


def test_an_override_applies_to_every_part_that_can_use_it_or_to_the_one_that_it_names() -> None:
    recipe = load_recipe(
        PARTS, {"lengths": [3000], "options.worlds": 2, "needles": ["orrould-clockmaker"], "name": "x"}
    )
    _, chain, known = recipe.parts
    assert (recipe.name, recipe.lengths) == ("x", (3000,))
    assert [[needle.id for needle in part.needles] for part in recipe.parts] == [["orrould-clockmaker"]] * 2 + [[]]
    assert (dict(chain.options), known.options["worlds"]) == ({"say_hops": True}, 2)
    recipe = load_recipe(PARTS, {"parts.chain.weight": 3, "parts.known.options.worlds": 3, "parts.plain.repeats": 2})
    assert [(part.weight, part.repeats) for part in recipe.parts] == [(0, 2), (3, 1), (1, 1)]
    assert recipe.parts[2].options["worlds"] == 3


@each(
    ("changes", "overrides", "words"),
    [
        ({"parts": []}, {}, r"parts: expected a list of tables, \[\[parts\]\]"),
        ({"parts": [{"needles": ["velden-archive"]}]}, {}, r"parts\[1\]\.name: expected letters"),
        ({"parts": [{"name": "a", "weight": -1}]}, {}, "weight: expected a number, at least 0"),
        ({"parts": [{"name": "a", "form": "chat"}]}, {}, r"parts\.a\.form: belongs to the whole recipe"),
        ({"parts": [{"name": "a", "depth": 5}]}, {}, "depth: unknown field; did you mean 'depths'"),
        ({"parts": [{"name": "a"}, {"name": "a"}]}, {}, "parts: two are called 'a'"),
        ({"repeats": 0}, {}, r"1 problem\n  repeats: expected a whole number"),
        ({}, {"parts.chian.weight": 1}, r"parts\.chian\.weight: expected parts.NAME.FIELD.*; did you mean 'chain'"),
        ({}, {"parts.chain.repeat": 1}, r"parts\.chain\.repeat: unknown field; did you mean 'repeats'"),
        ({}, {"parts.chain.tokenizer": "x"}, r"parts\.chain\.tokenizer: belongs to the whole recipe"),
        ({}, {"parts": 5}, r"1 problem\n  parts: expected a list of names"),
        ({}, {"task": "single"}, "task: every part of this recipe has its own"),
    ],
)
def test_problems_with_parts_are_reported_under_the_name_of_the_field(
    changes: Any, overrides: dict[str, Any], words: str
) -> None:
    with pytest.raises(RecipeError, match=words):
        load_recipe({**PARTS, **changes}, overrides)
