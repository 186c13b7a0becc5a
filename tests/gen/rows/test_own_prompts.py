"""A user's own system messages and templates: in rows, ids, recorded recipes and proofs, and nowhere else."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from proved import prove, proved_rows
from small_dataset import problems

import niah_gen
from niah_gen.recipe.read import load_recipe
from niah_gen.rows.plan import Plan, make_plan
from niah_score.contract import RECIPE

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
