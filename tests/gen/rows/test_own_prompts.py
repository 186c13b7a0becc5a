"""Own prompts and own languages."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from proved import prove, proved_rows
from small_dataset import problems

import niah_gen
from niah_gen.errors import IntegrityError, RecipeError
from niah_gen.recipe.read import load_recipe
from niah_gen.rows.plan import Plan, make_plan
from niah_score.contract import RECIPE, file_sha256
from niah_score.metrics import target_of
from niah_score.metrics.keyword import judge_keyword

SMALL: dict[str, Any] = {
    "lengths": [700], "depths": [0, 40, 100], "needles": ["velden-archive", "heyuan-archive"], "guide": False,
}  # fmt: skip
MINE = """
[mine-en]
language = "en"
chat = [
    {role = "system", content = "You read carefully."},
    {role = "user", content = "DOC {context} END"},
    {role = "user", content = "{question}"},
]

[mine-zh]
language = "zh"
text = "文档：{context}\\n问：{question}"
"""
SYSTEM = "Answer as an archivist would: briefly.\n不要多说。"


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    file = tmp_path / "my.toml"
    file.write_text(MINE, "utf-8")
    return file


@pytest.mark.parametrize("template", ["niah", "mine", "gkamradt-openai"])
def test_rows_with_a_system_message_have_exact_counts_and_spans(template: str, mine: Path) -> None:
    own = {"form": "chat", "system": SYSTEM, "template": str(mine) if template == "mine" else template}
    rows = proved_rows({**SMALL, **own})
    assert len(rows) == 6
    for row in rows:
        assert isinstance(row["prompt"], list)
        assert row["prompt"][0] == {"role": "system", "content": SYSTEM}
        assert all(message["role"] != "system" for message in row["prompt"][1:])
        assert 300 <= row["prompt_tokens"] <= 500
        assert row["context_message"] == 1


def test_ids_and_digests_depend_on_a_templates_text_and_not_its_path(mine: Path, tmp_path: Path) -> None:
    def plan_of(path: Path) -> Plan:
        return make_plan(load_recipe({**SMALL, "template": str(path)}))

    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "other name.toml").write_text("# The same.\n" + MINE, "utf-8")
    here, there = plan_of(mine), plan_of(tmp_path / "elsewhere" / "other name.toml")
    assert (here.digest, here.parts[0].families["en"]) == (there.digest, there.parts[0].families["en"])
    mine.write_text(MINE.replace("DOC", "TEXT"), "utf-8")
    changed = plan_of(mine)
    assert changed.digest != here.digest
    assert changed.parts[0].families["en"] != here.parts[0].families["en"]


def test_a_dataset_is_proved_and_rebuilt_without_the_template_file(mine: Path, tmp_path: Path) -> None:
    recipe = {**SMALL, "template": str(mine), "form": "chat", "system": SYSTEM}
    folder = niah_gen.build(recipe, tmp_path / "a", formats=["jsonl"])
    mine.unlink()
    proof = prove(folder, jobs=1)
    assert (proof.problems, proof.not_rebuilt, proof.rows) == ((), None, 6)
    again = niah_gen.build(folder / RECIPE, tmp_path / "b", formats=["jsonl"])
    assert again.name == folder.name
    assert (again / "manifest.json").read_bytes() == (folder / "manifest.json").read_bytes()


def test_a_system_message_is_refused_in_a_text_prompt_and_when_blank() -> None:
    (in_text,) = problems({**SMALL, "form": "text", "system": "Be brief."})
    assert in_text.startswith("system: a prompt that is one text")
    assert "--chat" in in_text
    (blank,) = problems({**SMALL, "form": "chat", "system": " "})
    assert blank.startswith("system: expected a UTF-8 text that is not blank")


PAGE = (Path(__file__).parents[3] / "docs" / "languages.md").read_text("utf-8")
GERMAN, NEEDLES = re.findall(r"^```toml\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
SENTENCES = "Am Morgen kam der Zug. „Wohin fahren Sie?“ fragte Dr. Lenz. Niemand wusste es genau, z. B. ich nicht. "


@pytest.fixture
def language(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file of the language."""
    (tmp_path / "languages").mkdir()
    (tmp_path / "languages" / "de.toml").write_text(GERMAN, "utf-8")
    monkeypatch.setenv("NIAH_LANGUAGES", str(tmp_path / "languages"))
    return tmp_path / "languages" / "de.toml"


@pytest.fixture
def recipe(tmp_path: Path, language: Path) -> dict[str, Any]:
    texts = tmp_path / "mein"
    texts.mkdir()
    (texts / "a.txt").write_text(SENTENCES * 40, "utf-8")
    (texts / "corpus.toml").write_text(
        'name = "mein"\nlanguage = "de"\nlicense = "CC0-1.0"\nsource = "a test"\n[[files]]\npath = "a.txt"\n'
        f'sha256 = "{file_sha256(texts / "a.txt")}"\n'
    )
    (tmp_path / "tor.toml").write_text(NEEDLES, "utf-8")
    return {
        "corpora": [str(texts)], "needles": [str(tmp_path / "tor.toml")], "lengths": [1000], "depths": [0, 50, 100],
        "languages": ["de"], "guide": False, "controls": ["absent"],
    }  # fmt: skip


@pytest.mark.parametrize(("code", "words"), [("", "Nicht angegeben."), ("en", "Not stated.")])
def test_a_dataset_in_the_language_is_scored(code: str, words: str, recipe: dict[str, Any], tmp_path: Path) -> None:
    asked = {**recipe, "question_language": code} if code else recipe
    proof = prove(niah_gen.build(asked, tmp_path / "build"), corpora=recipe["corpora"])
    assert (proof.problems, proof.not_rebuilt) == ((), None)
    rows = list(niah_gen.iter_rows(asked))
    assert {row["language"] for row in rows} == {"de"}
    assert {row["answers"][0] for row in rows if row["control"]} == {words}
    target = target_of({**rows[0]})
    for answer, score in (("1.418", 100), ("1418 Kerzen", 100), ("nicht 1.418", 0), ("1.418 oder 1.814", 0)):
        assert judge_keyword(answer, target).value == score, answer


def test_a_recipe_pins_the_language_file_and_refuses_another_and_the_plan_digest_covers_it(
    recipe: dict[str, Any], language: Path
) -> None:
    plan = make_plan(load_recipe(recipe))
    assert dict(plan.recipe.pins)["language de"] == file_sha256(language)
    resolved = plan.recipe.table() | {"corpora": recipe["corpora"]}
    assert make_plan(load_recipe(resolved)).cells
    language.write_text(GERMAN.replace('choice = ["oder"]', 'choice = ["oder", "bzw"]'), "utf-8")
    other = make_plan(load_recipe(recipe))
    assert other.digest != plan.digest
    assert other.parts[0].families["de"] == plan.parts[0].families["de"]  # the prompts are the same
    language.write_text(GERMAN.replace("Frage:", "Aufgabe:"), "utf-8")
    assert make_plan(load_recipe(recipe)).parts[0].families["de"] != plan.parts[0].families["de"]
    with pytest.raises(IntegrityError, match="language de: sha256 is"):
        make_plan(load_recipe(resolved))


def test_a_missing_language_file_says_what_to_write(recipe: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NIAH_LANGUAGES")
    with pytest.raises(RecipeError, match=r"docs/languages\.md") as raised:
        load_recipe(recipe)
    assert "corpora: " in str(raised.value)
    assert "write de.toml with name, joiner, words" in str(raised.value)


def test_families_with_built_in_wording_ask_nothing_in_a_users_language(recipe: dict[str, Any]) -> None:
    with pytest.raises(RecipeError, match="has nothing to ask in de"):
        make_plan(load_recipe({**recipe, "needles": [], "task": "records", "controls": []}))
