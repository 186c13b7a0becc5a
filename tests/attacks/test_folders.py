"""Attacks on dataset folders end with their exit code and a sentence, and nothing outside the folder is touched."""

from __future__ import annotations

import json
import re
import shutil
import sys
from pathlib import Path

import pytest

import niah_gen
from niah_gen.cli.main import app as gen
from niah_score.cli.main import app as score

sys.path.insert(0, str(Path(__file__).parent))
from commands import invoke
from folders import LINES, ON_FILES, ON_ROWS, ON_THE_MANIFEST, Attack, Place

RECIPE = {
    "name": "attacked",
    "lengths": [600],
    "depths": [0, 50, 100],
    "needles": ["velden-archive"],
    "languages": ["en"],
}


@pytest.fixture(scope="session")
def sound(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A dataset, and another one of the same shape."""
    top = tmp_path_factory.mktemp("sound")
    other = niah_gen.build({**RECIPE, "seed": 1}, top, formats=["parquet", "jsonl"])
    return niah_gen.build(RECIPE, top, formats=["parquet", "jsonl"]), other


@pytest.fixture
def place(sound: tuple[Path, Path], tmp_path: Path) -> Place:
    (tmp_path / "outside").mkdir()
    return Place(Path(shutil.copytree(sound[0], tmp_path / "copy")), sound[1], tmp_path / "outside")


def everything(folder: Path) -> dict[str, tuple[int, int]]:
    """What is in a folder and below, with sizes and times."""
    return {
        str(path.relative_to(folder)): (path.lstat().st_size, path.lstat().st_mtime_ns) for path in folder.rglob("*")
    }


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
