"""Corpora in whose language nothing is asked are left out with a note, unless somebody named them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from filler import Write

import niah_gen
from niah_gen.errors import RecipeError
from niah_gen.recipe.read import load_recipe
from niah_gen.recipe.recipe import Recipe
from niah_gen.rows.plan import make_plan

BOTH = ("en_essays", "zh_articles")
ENGLISH = ["velden-archive"]
CHINESE = ["heyuan-archive"]


def loaded(source: Any, overrides: dict[str, Any] | None = None) -> tuple[Recipe, list[str]]:
    """The recipe, and what was told about it."""
    told: list[str] = []
    return load_recipe(source, overrides, notice=told.append), told


@pytest.mark.parametrize(
    ("source", "overrides"), [("plain", {"needles": ENGLISH}), ({"needles": ENGLISH}, {}), ({}, {"needles": ENGLISH})]
)
def test_needles_of_one_language_leave_out_the_corpora_of_the_other(source: Any, overrides: dict[str, Any]) -> None:
    recipe, told = loaded(source, overrides)
    assert recipe.corpora == ("en_essays",)
    assert told == ["left out zh_articles: no needle is in zh"]
    assert {cell.language for cell in make_plan(recipe).cells} == {"en"}


def test_a_needle_file_of_one_language_leaves_out_the_other(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text('[tor]\nneedle = "城门漆成绿色。"\nquestion = "城门是什么颜色？"\nkeywords = ["绿"]\n', "utf-8")
    recipe, told = loaded("plain", {"needles": [str(file)]})
    assert (recipe.corpora, told) == (("zh_articles",), ["left out en_essays: no needle is in en"])


@pytest.mark.parametrize(
    ("source", "overrides"),
    [
        ("plain", {"needles": ENGLISH, "corpora": [*BOTH]}),
        ({"needles": ENGLISH, "corpora": [*BOTH]}, {}),
        ({"needles": ENGLISH, "corpora": ["zh_articles"]}, {}),
        ("plain", {"needles": ENGLISH, "languages": ["en", "zh"]}),
        ("plain", {"needles": ENGLISH, "languages": ["zh"]}),
    ],
)
def test_corpora_and_languages_that_somebody_named_stay_an_error(source: Any, overrides: dict[str, Any]) -> None:
    recipe, told = loaded(source, overrides)
    assert told == []
    with pytest.raises(RecipeError, match="needles: none is in zh, the language of corpus 'zh_articles'"):
        make_plan(recipe)


def test_a_recipe_file_that_names_corpora_is_taken_at_its_word(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text('needles = ["velden-archive"]\ncorpora = ["en_essays", "zh_articles"]\n', "utf-8")
    assert loaded(file)[0].corpora == BOTH
    file.write_text('needles = ["velden-archive"]\n', "utf-8")
    assert loaded(file)[0].corpora == ("en_essays",)


def test_a_preset_with_no_corpus_for_the_needles_is_left_as_it_is(all_corpora: Path) -> None:
    overrides = {"needles": ENGLISH, "placement": "native", "template": "niah", "guide": False}
    recipe, told = loaded("cdme-8k", overrides)
    assert (recipe.corpora, told) == (("cdme/zh_finance",), [])


def test_placements_without_languages_and_recipes_of_both_keep_all_corpora() -> None:
    assert loaded("plain", {"needles": ENGLISH, "placement": "gkamradt"}) == (
        load_recipe("plain", {"needles": ENGLISH, "placement": "gkamradt", "corpora": [*BOTH]}), [],
    )  # fmt: skip
    assert loaded("plain", {"needles": [*ENGLISH, *CHINESE]})[0].corpora == BOTH


def test_a_family_that_asks_in_one_language_leaves_out_the_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, write_texts: Write
) -> None:
    (tmp_path / "english_alone.py").write_text(
        "from niah_gen.tasks.base import Task\n"
        "from niah_gen.tasks.records import Item\n"
        "def item(settings, cell):\n"
        "    return Item('a', 'en', 'Where?', ('Here.',), (('here',),), 'keyword', ('It is here.',))\n"
        "FAMILY = Task('one', 1, lambda settings, code: ['a'] if code == 'en' else [], item)\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    recipe, told = loaded({"task": "english_alone:FAMILY"})
    assert (recipe.corpora, told) == (("en_essays",), ["left out zh_articles: task 'one' asks nothing in zh"])


def test_what_is_left_out_is_in_no_recorded_recipe_and_changes_no_digest(tmp_path: Path) -> None:
    told: list[str] = []
    overrides = {"needles": ENGLISH, "lengths": [700], "depths": [50]}
    folder = niah_gen.build("plain", tmp_path, overrides=overrides, notice=told.append)
    assert told[0] == "left out zh_articles: no needle is in zh"
    assert load_recipe(folder / "recipe.toml").corpora == ("en_essays",)
    named = make_plan(load_recipe("plain", {**overrides, "corpora": ["en_essays"]}))
    assert folder.name == named.folder_name
    told.clear()
    assert niah_gen.build(folder / "recipe.toml", tmp_path, notice=told.append) == folder
    assert told == [f"{folder} is complete already; nothing was built"]


TEXTS = Path(__file__).parents[2] / "corpora" / "texts"


@pytest.mark.parametrize("language", ["ar", "es", "fr", "ja"])
def test_a_preset_asks_for_single_facts_in_the_language_of_a_corpus_that_it_is_given(language: str) -> None:
    asked = {"corpora": [str(TEXTS / language)], "lengths": [1000], "depths": [50]}
    recipe, told = loaded("plain", asked)
    needles = recipe.parts[0].needles
    assert {needle.language for needle in needles} == {language}
    assert len(needles) == 3
    assert told == [f"added {', '.join(n.id for n in needles)}: the preset has no needle in {language}"]
    assert {row["language"] for row in niah_gen.iter_rows(recipe)} == {language}


def test_a_preset_keeps_its_needles_for_corpora_of_its_languages_and_named_needles_stay() -> None:
    mixed = {"corpora": ["en_essays", str(TEXTS / "fr")]}
    needles = loaded("plain", mixed)[0].parts[0].needles
    assert [needle.language for needle in needles] == ["en"] * 3 + ["fr"] * 3
    named = loaded("plain", {**mixed, "needles": ["valdorne-archives", "velden-archive"]})
    assert [needle.id for needle in named[0].parts[0].needles] == ["valdorne-archives", "velden-archive"]
    assert load_recipe("plain", {"corpora": ["en_essays"]}).parts[0].needles == load_recipe("plain").parts[0].needles
