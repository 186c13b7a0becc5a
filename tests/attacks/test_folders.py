"""Attacks on dataset folders: each ends with its exit code and a sentence, and touches nothing outside the folder."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from attacks_on_folders import HOSTILE_NAMES, LINES, ON_FILES, ON_ROWS, ON_THE_MANIFEST, Attack, Place, everything
from commands import invoke
from each import few_fast

from niah_gen.cli.commands import app as gen
from niah_score.cli.commands import app as score

NAMES = [
    HOSTILE_NAMES[what]
    for what in (
        "an absolute path", "a folder above", "a NUL", "a name of 300 characters", "an escape of terminals",
    )
]  # fmt: skip


def _rows(place: Place) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (place.folder / LINES).read_text("utf-8").splitlines()]


def test_the_undamaged_dataset_passes_verification(place: Place) -> None:
    assert invoke(gen, "verify", place.folder, "--full").returncode == 0


@pytest.mark.parametrize("attack", few_fast([*ON_FILES, *ON_ROWS, *ON_THE_MANIFEST], 6), ids=lambda attack: attack.what)
def test_an_attack_on_a_folder_is_reported(attack: Attack, place: Place, tmp_path: Path) -> None:
    answers = tmp_path / "answers.jsonl"
    rows = _rows(place)
    answers.write_text("".join(json.dumps({"id": row["id"], "prediction": "x"}) + "\n" for row in rows), "utf-8")
    attack.damage(place)
    before = everything(place.outside), everything(place.folder)
    verified = invoke(gen, "verify", place.folder, *(["--full", "--jobs", 1] if attack.full else []))
    assert (verified.returncode, attack.says in verified.stderr) == (attack.code, True), verified.stderr
    assert any(line.startswith("niah-gen: ") for line in verified.stderr.splitlines())
    assert not re.search(r"Traceback|[\x00-\x08\x0b-\x1f\x7f\u202e]", verified.stderr)
    scored = invoke(score, "score", place.folder, answers, "--out", tmp_path / "scores", "--missing", "zero")
    assert scored.returncode == attack.score, scored.stderr
    assert "Traceback" not in scored.stderr
    assert (everything(place.outside), everything(place.folder)) == before


@pytest.mark.parametrize("name", few_fast([*NAMES, "..", "", "a\u202eb"], 4))
def test_a_hostile_dataset_name_neither_redirects_scores_nor_acts_on_the_terminal(
    name: str, place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers, here = tmp_path / "answers.jsonl", tmp_path / "here"
    answers.write_text(json.dumps({"id": _rows(place)[0]["id"], "prediction": "x"}), "utf-8")
    here.mkdir()
    place.reseal(name=name)
    before = everything(tmp_path)
    monkeypatch.chdir(here)
    done = invoke(score, "score", place.folder, answers, "--missing", "zero")
    assert done.returncode == 0, done.stderr
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f\u202e]", done.stdout + done.stderr)
    (folder,) = done.stdout.splitlines()
    assert len(Path(folder).parts) == 3
    assert (here / folder / "summary.json").is_file()
    ours = {path for path in everything(tmp_path) if path == "here" or path.startswith("here/")}
    assert {path: state for path, state in everything(tmp_path).items() if path not in ours} == {
        path: state for path, state in before.items() if path != "here"
    }
