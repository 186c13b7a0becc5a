"""Corpora in a language without needles: left out with a note, unless the recipe names them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from each import each
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
    """The recipe, and the notices given while it was loaded."""
    notices: list[str] = []
    return load_recipe(source, overrides, notice=notices.append), notices


@each(
    ("source", "overrides"), [("plain", {"needles": ENGLISH}), ({"needles": ENGLISH}, {}), ({}, {"needles": ENGLISH})]
)
def test_needles_in_one_language_leave_out_corpora_in_the_other(source: Any, overrides: dict[str, Any]) -> None:
    recipe, notices = loaded(source, overrides)
    assert recipe.corpora == ("en_essays",)
    assert notices == ["left out zh_articles: no needle is in zh"]
    assert {cell.language for cell in make_plan(recipe).cells} == {"en"}


def test_a_needle_file_in_one_language_leaves_out_corpora_in_the_other(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text('[tor]\nneedle = "城门漆成绿色。"\nquestion = "城门是什么颜色？"\nkeywords = ["绿"]\n', "utf-8")
    recipe, notices = loaded("plain", {"needles": [str(file)]})
    assert (recipe.corpora, notices) == (("zh_articles",), ["left out en_essays: no needle is in en"])


@each(
    ("source", "overrides"),
    [
        ("plain", {"needles": ENGLISH, "corpora": [*BOTH]}),
        ({"needles": ENGLISH, "corpora": [*BOTH]}, {}),
        ({"needles": ENGLISH, "corpora": ["zh_articles"]}, {}),
        ("plain", {"needles": ENGLISH, "languages": ["en", "zh"]}),
        ("plain", {"needles": ENGLISH, "languages": ["zh"]}),
    ],
)
def test_explicitly_named_corpora_or_languages_without_needles_remain_an_error(
    source: Any, overrides: dict[str, Any]
) -> None:
    recipe, notices = loaded(source, overrides)
    assert notices == []
    with pytest.raises(RecipeError, match="needles: none is in zh, the language of corpus 'zh_articles'"):
        make_plan(recipe)


def test_a_recipe_file_keeps_the_corpora_that_it_names(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text('needles = ["velden-archive"]\ncorpora = ["en_essays", "zh_articles"]\n', "utf-8")
    assert loaded(file)[0].corpora == BOTH
    file.write_text('needles = ["velden-archive"]\n', "utf-8")
    assert loaded(file)[0].corpora == ("en_essays",)


def test_a_preset_without_a_corpus_for_the_needles_keeps_its_corpora(all_corpora: Path) -> None:
    overrides = {"needles": ENGLISH, "placement": "native", "template": "niah", "guide": False}
    recipe, notices = loaded("cdme-8k", overrides)
    assert (recipe.corpora, notices) == (("cdme/zh_finance",), [])


def test_language_blind_placements_and_needles_in_both_languages_keep_all_corpora() -> None:
    assert loaded("plain", {"needles": ENGLISH, "placement": "gkamradt"}) == (
        load_recipe("plain", {"needles": ENGLISH, "placement": "gkamradt", "corpora": [*BOTH]}), [],
    )  # fmt: skip
    assert loaded("plain", {"needles": [*ENGLISH, *CHINESE]})[0].corpora == BOTH


def test_a_family_in_one_language_leaves_out_corpora_in_the_other(
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
    recipe, notices = loaded({"task": "english_alone:FAMILY"})
    assert (recipe.corpora, notices) == (("en_essays",), ["left out zh_articles: task 'one' asks nothing in zh"])


def test_a_corpus_left_out_is_not_recorded_and_changes_no_digest(tmp_path: Path) -> None:
    notices: list[str] = []
    overrides = {"needles": ENGLISH, "lengths": [700], "depths": [50]}
    folder = niah_gen.build("plain", tmp_path, overrides=overrides, notice=notices.append)
    assert notices[0] == "left out zh_articles: no needle is in zh"
    assert load_recipe(folder / "recipe.toml").corpora == ("en_essays",)
    named = make_plan(load_recipe("plain", {**overrides, "corpora": ["en_essays"]}))
    assert folder.name == named.folder_name
    notices.clear()
    assert niah_gen.build(folder / "recipe.toml", tmp_path, notice=notices.append) == folder
    assert notices == [f"{folder} is complete already; nothing was built"]


TEXTS = Path(__file__).parents[2] / "corpora" / "texts"


@each("language", ["ar", "es", "fr", "ja"])
def test_a_preset_given_a_corpus_adds_needles_in_its_language(language: str) -> None:
    overrides = {"corpora": [str(TEXTS / language)], "lengths": [1000], "depths": [50]}
    recipe, notices = loaded("plain", overrides)
    needles = recipe.parts[0].needles
    assert {needle.language for needle in needles} == {language}
    assert len(needles) == 3
    assert notices == [f"added {', '.join(n.id for n in needles)}: the preset has no needle in {language}"]
    assert {row["language"] for row in niah_gen.iter_rows(recipe)} == {language}


def test_needles_are_added_to_those_of_a_preset_but_not_to_named_ones() -> None:
    mixed = {"corpora": ["en_essays", str(TEXTS / "fr")]}
    needles = loaded("plain", mixed)[0].parts[0].needles
    assert [needle.language for needle in needles] == ["en"] * 3 + ["fr"] * 3
    named = loaded("plain", {**mixed, "needles": ["valdorne-archives", "velden-archive"]})
    assert [needle.id for needle in named[0].parts[0].needles] == ["valdorne-archives", "velden-archive"]
    assert load_recipe("plain", {"corpora": ["en_essays"]}).parts[0].needles == load_recipe("plain").parts[0].needles
