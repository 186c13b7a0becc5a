"""Attacks on dataset folders end with their exit code and a sentence, and nothing outside the folder is touched."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from attacks_on_folders import LINES, ON_FILES, ON_ROWS, ON_THE_MANIFEST, Attack, Place, everything
from commands import invoke

from niah_gen.cli.main import app as gen
from niah_score.cli.main import app as score


def test_the_sound_dataset_is_sound(place: Place) -> None:
    assert invoke(gen, "verify", place.folder, "--full").returncode == 0


@pytest.mark.parametrize("attack", [*ON_FILES, *ON_ROWS, *ON_THE_MANIFEST], ids=lambda attack: attack.what)
def test_an_attack_on_a_folder_is_told(attack: Attack, place: Place, tmp_path: Path) -> None:
    answers = tmp_path / "answers.jsonl"
    rows = [json.loads(line) for line in (place.folder / LINES).read_text("utf-8").splitlines()]
    answers.write_text("".join(json.dumps({"id": row["id"], "prediction": "x"}) + "\n" for row in rows), "utf-8")
    attack.damage(place)
    before = everything(place.outside), everything(place.folder)
    found = invoke(gen, "verify", place.folder, *(["--full", "--jobs", 1] if attack.full else []))
    assert (found.returncode, attack.says in found.stderr) == (attack.code, True), found.stderr
    assert any(line.startswith("niah-gen: ") for line in found.stderr.splitlines())
    assert not re.search(r"Traceback|[\x00-\x08\x0b-\x1f\x7f\u202e]", found.stderr)
    scored = invoke(score, "score", place.folder, answers, "--out", tmp_path / "scores", "--missing", "zero")
    assert scored.returncode == attack.score, scored.stderr
    assert "Traceback" not in scored.stderr
    assert (everything(place.outside), everything(place.folder)) == before
