"""A user's own languages: recipes pin their files, the plan digest covers them, and a rebuild needs them again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import niah_gen
from niah_gen.errors import IntegrityError, RecipeError
from niah_gen.recipe.read import load_recipe
from niah_gen.rows.plan import make_plan
from niah_score.contract import file_sha256

WELSH = """
name = "Welsh"
joiner = " "
words = "spaces"

[sentences]
marks = ".!?"

[prompt]
instruction = "Atebwch o'r ddogfen yn unig, neu dywedwch: Heb ei nodi."
document = "dogfen"
question = "Cwestiwn: {question}"
answer = "Ateb:"
not_stated = "Heb ei nodi."
"""
CORPUS = """
name = "{name}"
language = "{language}"
license = "CC0-1.0"
source = "a test"

[[files]]
path = "a.txt"
sha256 = "{sha256}"
"""
NEEDLE = {
    "id": "giat", "language": "cy", "needle": "Mae giât Ostrel yn wyrdd golau.", "keywords": ["wyrdd golau"],
    "question": "Pa liw yw giât Ostrel?",
}  # fmt: skip


@pytest.fixture
def languages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "languages"
    folder.mkdir()
    (folder / "cy.toml").write_text(WELSH, "utf-8")
    monkeypatch.setenv("NIAH_LANGUAGES", str(folder))
    return folder


@pytest.fixture
def recipe(tmp_path: Path, languages: Path) -> dict[str, Any]:
    texts = tmp_path / "testun"
    texts.mkdir()
    (texts / "a.txt").write_text("Daeth y trên yn y bore. Ni wyddai neb pam! A oedd hi'n bwrw? " * 60, "utf-8")
    sha256 = file_sha256(texts / "a.txt")
    (texts / "corpus.toml").write_text(CORPUS.format(name="testun", language="cy", sha256=sha256), "utf-8")
    return {"corpora": [str(texts)], "needles": [NEEDLE], "lengths": [600], "depths": [0, 50, 100]}


def test_a_recipe_pins_the_language_file_and_refuses_another_and_the_plan_digest_covers_it(
    recipe: dict[str, Any], languages: Path
) -> None:
    plan = make_plan(load_recipe(recipe))
    assert dict(plan.recipe.pins)["language cy"] == file_sha256(languages / "cy.toml")
    resolved = plan.recipe.table() | {"corpora": recipe["corpora"]}
    assert make_plan(load_recipe(resolved)).cells
    (languages / "cy.toml").write_text(WELSH + "\n[matching]\nchoice = ['neu']\n", "utf-8")
    other = make_plan(load_recipe(recipe))
    assert other.digest != plan.digest
    assert other.parts[0].families["cy"] == plan.parts[0].families["cy"]  # the prompts are the same
    (languages / "cy.toml").write_text(WELSH.replace("Cwestiwn", "Holiad"), "utf-8")
    assert make_plan(load_recipe(recipe)).parts[0].families["cy"] != plan.parts[0].families["cy"]
    with pytest.raises(IntegrityError, match="language cy: sha256 is"):
        make_plan(load_recipe(resolved))


def test_a_missing_language_file_is_an_error_that_says_what_to_write(
    recipe: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("NIAH_LANGUAGES")
    with pytest.raises(RecipeError) as raised:
        load_recipe(recipe)
    assert "corpora: " in str(raised.value)
    assert str(raised.value).count("write cy.toml with name, joiner, words") == 2


def test_families_with_built_in_wording_ask_nothing_in_a_users_language(recipe: dict[str, Any]) -> None:
    with pytest.raises(RecipeError, match="task 'association' has nothing to ask in cy"):
        make_plan(load_recipe({**recipe, "needles": [], "task": "association"}))
    assert {row["language"] for row in niah_gen.iter_rows({**recipe, "task": "single"})} == {"cy"}
