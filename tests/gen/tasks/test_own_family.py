"""A user's own task families: found by name, built by workers, proved and scored like ours."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from proved import prove

import niah_gen
from niah_gen.errors import RecipeError
from niah_gen.recipe.read import load_recipe
from niah_score import evaluate
from niah_score.contract import Row, read_manifest

EXAMPLES = Path(__file__).parents[3] / "examples"
RECIPE: dict[str, Any] = {
    "name": "toy", "task": "key_lines:KEY_LINES", "options": {"keys": 3}, "controls": ["absent"],
    "lengths": [600, 1000], "depths": [0, 37, 100], "languages": ["en"],
}  # fmt: skip


@pytest.fixture(autouse=True)
def _examples_can_be_imported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(EXAMPLES))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(EXAMPLES), *sys.path[1:]]))


def rows_of(folder: Path) -> list[Row]:
    return [json.loads(line) for path in sorted(folder.glob("jsonl/*/*")) for line in path.open(encoding="utf-8")]


@pytest.mark.slow
def test_a_users_family_is_built_by_workers_proved_described_and_scored(tmp_path: Path) -> None:
    folder = niah_gen.build(RECIPE, tmp_path, formats=["parquet", "jsonl"], jobs=2)
    rows = rows_of(folder)
    made = list(niah_gen.iter_rows(RECIPE))
    assert sorted(row["id"] for row in made) == sorted(row["id"] for row in rows)
    assert len(made) == 2 * 3 * 2 * 3
    assert [row for path in sorted(folder.glob("data/*/*")) for row in pq.read_table(path).to_pylist()] == rows
    proof = prove(folder, task_modules=["key_lines"])
    assert (proof.problems, proof.not_rebuilt, proof.rows) == ((), None, 2 * 36)
    for row in rows:
        assert str(row["prompt"]).count(row["answers"][0]) == (row["control"] is None)
        assert (row["task"], row["corpus"]) == ("key-lines", "key_lines")
        assert 0 <= (row["length"] or 0) - 200 - row["prompt_tokens"] <= 100 or row["control"] is not None
        assert len(row["needles"]) == (row["control"] is None)
    card = (folder / "README.md").read_text("utf-8")
    assert "## Corpora" not in card
    assert "| options | keys = 3 |\n| controls | absent |" in card
    answers = tmp_path / "answers.jsonl"
    lines = [{"id": row["id"], "prediction": row["answers"][0] if row["control"] is None else "None."} for row in rows]
    answers.write_text("\n".join(map(json.dumps, lines)) + "\n")
    scores = evaluate(folder, answers).scores
    assert {*scores.select("control", "score").iter_rows()} == {(None, 100.0), ("absent", 0.0)}


@pytest.mark.slow
def test_build_imports_a_family_from_the_working_folder_but_verify_does_not(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text((EXAMPLES / "key_lines.py").read_text("utf-8"), "utf-8")

    def run(*words: str, path: str = str(EXAMPLES.parent)) -> subprocess.CompletedProcess[str]:
        command = [str(Path(sys.executable).with_name("niah-gen")), *words]
        environment = {**os.environ, "PYTHONPATH": path}
        return subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)

    recipe = ("--set", "task=mine:KEY_LINES", "--length", "600", "--depths", "50", "--out", str(tmp_path))
    done = run("build", *recipe)
    assert done.returncode == 0, done.stderr
    verify = ("verify", done.stdout.strip(), "--full", "--allow-task-module", "mine")
    refused = run(*verify)
    assert refused.returncode == 2
    assert "no module 'mine'; install it, or put the folder that holds it on PYTHONPATH" in refused.stderr
    proved = run(*verify, path=f"{EXAMPLES.parent}{os.pathsep}{tmp_path}")
    assert proved.returncode == 0, proved.stderr
    assert "the recipe builds the same rows again" in proved.stdout


def test_settings_that_a_family_does_not_support_are_refused_by_field() -> None:
    cases: list[tuple[dict[str, Any], str]] = [
        ({"task": "nowhere:TASK"}, "no module 'nowhere'"),
        ({"task": "key_lines:NOTHING"}, "module 'key_lines' has no 'NOTHING'"),
        ({"task": "sinlge"}, "did you mean 'single'"),
        ({"options": {"key": 3}}, "options.key: unknown field; did you mean 'keys'"),
        ({"options": 3}, "options: expected a table; found 3"),
        ({"controls": ["abset"]}, "has no control 'abset'; did you mean 'absent'"),
        ({"needles": ["velden-archive"]}, "needles: task 'key-lines' has its own items"),
        ({"corpora": ["en_essays"]}, "corpora: task 'key-lines' reads none"),
        ({"placement": "gkamradt"}, "placement: task 'key-lines' makes its own contexts; leave placement out"),
    ]
    for changes, message in cases:
        with pytest.raises(RecipeError) as error:
            load_recipe({**RECIPE, **changes})
        assert any(message in problem for problem in error.value.problems), error.value.problems


# A conversation -----------------------------------------------------------------------------------------------------

TALKING = {
    "name": "talk", "task": "talk:TALK", "template": "gkamradt-openai", "lengths": [1000], "depths": [0, 60, 100],
    "guide": False,
}  # fmt: skip


@pytest.fixture(autouse=True)
def _family_of_the_docs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The family of conversations in docs/contributing.md, as a module `talk`."""
    page = (EXAMPLES.parent / "docs" / "contributing.md").read_text("utf-8")
    (code,) = (block for block in re.findall(r"```python\n(.*?)```", page, re.DOTALL) if "TALK = Task(" in block)
    (tmp_path / "talk.py").write_text(code, "utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "talk", raising=False)


@pytest.mark.slow
def test_a_conversation_is_built_proved_and_written_alike_in_every_format(tmp_path: Path) -> None:
    folder = niah_gen.build(TALKING, tmp_path, formats=["parquet", "jsonl"])
    rows = rows_of(folder)
    assert [row for path in folder.glob("data/*/*") for row in pq.read_table(path).to_pylist()] == rows
    assert list(niah_gen.iter_rows(TALKING)) == rows
    for row in rows:
        assert not isinstance(row["prompt"], str)
        assert len(row["prompt"]) == 1 + 8 + 1
        (span,) = row["needle_spans"]
        assert row["prompt"][row["context_message"]]["content"][span["start"] : span["end"]] == "It is green."
    assert [row["context_message"] for row in rows] == [1, 5, 8]
    proof = prove(folder, task_modules=["talk"])
    assert (proof.problems, proof.not_rebuilt, read_manifest(folder).rows) == ((), None, 3)


def test_families_without_items_or_a_template_for_them_are_refused() -> None:
    for recipe, problem in (
        ({**RECIPE, "languages": ["zh"]}, "has nothing to ask in zh"),
        ({**TALKING, "template": "niah", "form": "chat"}, r"a message that is \{context\} alone"),
    ):
        with pytest.raises(RecipeError, match=problem):
            list(niah_gen.iter_rows(recipe))
