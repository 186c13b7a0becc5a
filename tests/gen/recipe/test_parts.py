"""Recipes with several parts: how they are read, resolved, overridden and built."""

from __future__ import annotations

import tomllib
from dataclasses import replace
from typing import Any

import pytest
from each import each
from proved import prove
from recipes import problems

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
            "name": "near",
            "needles": ["velden-archive", "brannock-lighthouse"],
            "options": {"distractors": 2},
            "controls": ["absent", "no_context"],
            "control_depths": [50],
            "needles_per_cell": 1,
            "fresh_haystacks": True,
        },
        {"name": "known", "task": "association", "lengths": [1500], "depths": [50], "options": {"distractors": 1}},
    ],
}


def test_a_part_inherits_the_recipes_fields_and_may_override_them() -> None:
    recipe = load_recipe(PARTS)
    plain, near, known = recipe.parts
    assert [part.name for part in recipe.parts] == ["plain", "near", "known"]
    assert [part.weight for part in recipe.parts] == [0, 1, 1]
    assert [part.task for part in recipe.parts] == ["single", "single", "association"]
    assert (plain.lengths, near.lengths, known.lengths) == ((1000, 2000), (1000, 2000), (1500,))
    assert (plain.depths, known.depths) == ((0, 50, 100), (50,))
    assert recipe.lengths == (1000, 1500, 2000)
    assert near.spread == "apart"
    assert plain.spread == "even"


def test_a_resolved_recipe_reads_back_unchanged_and_states_shared_fields_once() -> None:
    recipe = load_recipe(PARTS)
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
    proof = prove(folder)
    assert proof.problems == ()
    assert proof.not_rebuilt is None
    rows = list(niah_gen.iter_rows({**PARTS, "form": form}))
    assert len(rows) == read_manifest(folder).rows
    kinds = {(row["part"], row["task"], row["control"]) for row in rows}
    assert kinds == {
        ("plain", "single", None), ("near", "single", None), ("near", "single", "absent"),
        ("near", "single", "no_context"), ("known", "association", None),
    }  # fmt: skip
    assert len({row["id"] for row in rows}) == len(rows)
    assert len({row["id"][:8] for row in rows}) == 3
    # Each part hides the same needle in a haystack of its own.
    haystacks = {
        part: {row["haystack_id"] for row in rows if row["part"] == part and row["haystack_id"]}
        for part in ("plain", "near")
    }
    assert not haystacks["plain"] & haystacks["near"]
    again = niah_gen.build(folder / "recipe.toml", tmp_path / "again")
    assert read_manifest(again).content_digest == read_manifest(folder).content_digest


@each("form", ["text", "chat"])
def test_a_no_context_prompt_contains_only_the_question(form: str) -> None:
    rows = [row for row in niah_gen.iter_rows({**PARTS, "form": form}) if row["control"] == "no_context"]
    assert len(rows) == 2
    for row in rows:
        contents = [row["prompt"]] if isinstance(row["prompt"], str) else [m["content"] for m in row["prompt"]]
        assert [str(content).strip() for content in contents] == [row["question"]]
        assert (row["needles"], row["needle_spans"], row["haystack_id"], row["haystack_tokens"]) == ([], [], None, 0)
        assert row["keywords"]


@pytest.mark.slow
def test_a_damaged_row_of_any_part_is_detected(tmp_path: Any) -> None:
    from proved import RowProver

    folder = niah_gen.build(PARTS, tmp_path)
    plan = make_plan(load_recipe(PARTS))
    prover = RowProver(plan.recipe, [one.task for one in plan.parts], read_manifest(folder), plan.tokenizer)
    rows: list[Any] = list(niah_gen.iter_rows(PARTS))
    for row in rows:
        config = f"en-{row['length']}" if row["length"] % 1000 else f"en-{row['length'] // 1000}k"
        assert prover.prove(row, config).problems == ()
        assert prover.prove({**row, "part": "other"}, config).problems == (
            "part is 'other'; the recipe has plain, near, known",
        )
        other_part = "near" if row["part"] == "plain" else "plain"
        assert prover.prove({**row, "part": other_part}, config).problems
        if row["control"] == "no_context":
            assert prover.prove({**row, "prompt": row["prompt"] + "Now."}, config).problems
            assert prover.prove({**row, "haystack_tokens": 4}, config).problems


@pytest.mark.slow
def test_a_manifest_with_a_wrong_row_count_for_a_part_is_detected(tmp_path: Any) -> None:
    folder = niah_gen.build(PARTS, tmp_path)
    manifest = read_manifest(folder)
    first, *others = manifest.parts
    miscounted = replace(manifest, parts=(replace(first, rows=first.rows + 1), *others))
    (folder / "manifest.json").write_bytes(miscounted.to_json())
    assert prove(folder).problems == (
        f"manifest.json: part plain has {first.rows + 1} rows, the .parquet rows give {first.rows}",
    )


def test_an_override_applies_to_every_part_that_can_use_it() -> None:
    recipe = load_recipe(PARTS, {"lengths": [3000], "options.hops": 2, "needles": ["orrould-clockmaker"], "name": "x"})
    plain, near, known = recipe.parts
    assert recipe.name == "x"
    assert recipe.lengths == (3000,)
    assert (plain.needles[0].id, near.needles[0].id, known.needles) == ("orrould-clockmaker", "orrould-clockmaker", ())
    assert (dict(near.options), known.options["hops"]) == ({"distractors": 2}, 2)


def test_an_option_override_also_applies_to_parts_without_an_explicit_task() -> None:
    plain, near, known = load_recipe(PARTS, {"options.distractors": 3}).parts
    assert [part.options["distractors"] for part in (plain, near, known)] == [3, 3, 3]


def test_an_option_override_respects_the_task_that_the_recipe_sets_for_all_parts() -> None:
    parts = [{"name": "one"}, {"name": "other", "task": "single", "needles": ["velden-archive"]}]
    recipe = {"task": "association", "corpora": ["en_essays"], "parts": parts}
    one, other = load_recipe(recipe, {"options.hops": 2, "needles": ["orrould-clockmaker"]}).parts
    assert (one.options["hops"], one.needles) == (2, ())
    assert (dict(other.options), other.needles[0].id) == ({}, "orrould-clockmaker")


def test_an_override_may_name_one_part() -> None:
    recipe = load_recipe(PARTS, {"parts.near.weight": 3, "parts.near.options.distractors": 1, "parts.plain.repeats": 2})
    assert [part.weight for part in recipe.parts] == [0, 3, 1]
    assert [part.repeats for part in recipe.parts] == [2, 1, 1]
    assert recipe.parts[1].options["distractors"] == 1


@each(
    ("changes", "overrides", "words"),
    [
        ({"parts": []}, {}, "parts: expected at least one"),
        ({"parts": {"name": "x"}}, {}, r"parts: expected a list of tables, \[\[parts\]\]"),
        ({"parts": [{"needles": ["velden-archive"]}]}, {}, r"parts\[1\]\.name: expected one"),
        ({"parts": [{"name": "a b"}]}, {}, r"parts\[1\]\.name: expected letters"),
        ({"parts": [{"name": "a", "weight": -1}]}, {}, r"parts\[1\]\.weight: expected a number, at least 0"),
        ({"parts": [{"name": "a", "weight": 10**400}]}, {}, r"parts\[1\]\.weight: expected a number, at least 0"),
        ({"parts": [{"name": "a", "form": "chat"}]}, {}, r"parts\[1\]\.form: belongs to the whole recipe"),
        ({"parts": [{"name": "a", "depth": 5}]}, {}, r"parts\[1\]\.depth: unknown field; did you mean 'depths'"),
        ({"parts": [{"name": "a"}, {"name": "a"}]}, {}, "parts: two are called 'a'"),
        ({"repeats": 0}, {}, r"1 problem\n  repeats: expected a whole number"),
        ({}, {"parts.neer.weight": 1}, r"parts\.neer\.weight: no part of that name; did you mean 'near'"),
        ({}, {"parts.near.repeats": 0}, r"parts\.near\.repeats: expected a whole number"),
        ({}, {"parts.near.repeat": 1}, r"parts\.near\.repeat: unknown field; did you mean 'repeats'"),
        ({}, {"parts.near.tokenizer": "x"}, r"parts\.near\.tokenizer: belongs to the whole recipe"),
        ({}, {"parts.near.name": "x"}, r"parts\.near\.name: a part keeps its name"),
        ({}, {"parts.near.weight.x": 1}, r"parts\.near\.weight\.x: weight is a number"),
        ({}, {"parts": 5}, r"1 problem\n  parts: cannot be replaced as a whole"),
        ({}, {"task": "single"}, "task: every part of this recipe has its own"),
        ({}, {"options.hopps": 2}, "options.*hopps"),
    ],
)
def test_problems_with_parts_are_reported_under_the_name_of_the_field(
    changes: Any, overrides: dict[str, Any], words: str
) -> None:
    with pytest.raises(RecipeError, match=words):
        load_recipe({**PARTS, **changes}, overrides)


def test_problems_of_all_parts_are_reported_together() -> None:
    parts = [{"name": "a", "repeats": 0}, {"name": "b", "depths": [101]}]
    messages = problems({"parts": parts, "reserve": -1})
    assert [message.split(":")[0] for message in messages] == ["reserve", "parts.a.repeats", "parts.b.depths"]


def test_recipe_wide_fields_are_dropped_from_parts_that_cannot_use_them() -> None:
    known = {"name": "known", "task": "association", "lengths": [1500]}
    recipe = load_recipe(
        {**PARTS, "needles": ["velden-archive"], "paraphrase": True, "parts": [{"name": "one"}, known]}
    )
    assert [part.needles[0].id if part.needles else None for part in recipe.parts] == ["velden-archive", None]


def test_a_part_without_corpora_gets_those_that_match_its_needles() -> None:
    notices: list[str] = []
    parts = [{"name": "one", "corpora": ["en_essays"]}, {"name": "two"}]
    recipe = load_recipe({"needles": ["velden-archive"], "parts": parts}, notice=notices.append)
    assert [part.corpora for part in recipe.parts] == [("en_essays",), ("en_essays",)]
    assert notices == ["part two: left out zh_articles: no needle is in zh"]


def test_distractors_are_spread_apart_unless_the_recipe_sets_a_spread() -> None:
    assert load_recipe("plain").parts[0].spread == "even"
    assert load_recipe("plain", {"options.distractors": 3}).parts[0].spread == "apart"
    assert load_recipe("plain", {"task": "association"}).parts[0].spread == "apart"
    assert load_recipe("plain", {"options.distractors": 3, "spread": "even"}).parts[0].spread == "even"
