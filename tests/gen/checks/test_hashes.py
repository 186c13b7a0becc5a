"""Verification finds every change to a dataset folder."""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from niah_gen.checks.hashes import verify
from niah_score.contract import MANIFEST, ContractError, read_manifest

RECIPE = {"name": "v", "lengths": [600], "depths": [0, 100], "languages": ["en"]}


@pytest.fixture(scope="module")
def dataset(built_once: Callable[..., Path]) -> Path:
    return built_once(RECIPE, ["parquet", "jsonl"])


@pytest.fixture
def copy(dataset: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(dataset, tmp_path / "copy"))


def test_every_flipped_bit_is_found(dataset: Path, copy: Path) -> None:
    chance = random.Random(0)
    files = sorted(path for path in copy.rglob("*") if path.is_file() and path.name != "manifest.json")
    for _ in range(60):
        victim = chance.choice(files)
        whole = victim.read_bytes()
        at = chance.randrange(len(whole))
        victim.write_bytes(whole[:at] + bytes([whole[at] ^ (1 << chance.randrange(8))]) + whole[at + 1 :])
        _, problems = verify(copy)
        assert len(problems) == 1
        assert problems[0].startswith(victim.relative_to(copy).as_posix())
        victim.write_bytes(whole)
    assert verify(copy)[1] == []


def test_missing_renamed_truncated_linked_and_extra_files_are_named(
    copy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shard = next(copy.rglob("*.parquet"))
    shard.rename(shard.with_name("test-00001-of-00002.parquet"))
    (copy / "notes.txt").write_text("mine")
    (copy / "recipe.toml").rename(tmp_path / "moved")
    (copy / "recipe.toml").symlink_to(tmp_path / "moved")
    jsonl = next(copy.rglob("*.jsonl"))
    jsonl.write_bytes(jsonl.read_bytes()[:-5])
    monkeypatch.chdir(copy)
    _, problems = verify(Path())
    text = "\n".join(problems)
    assert f"{shard.relative_to(copy).as_posix()}: missing" in text
    assert "test-00001-of-00002.parquet: not in the manifest" in text
    assert "notes.txt: not in the manifest" in text
    assert f"{jsonl.relative_to(copy).as_posix()}: {jsonl.stat().st_size} bytes, expected" in text
    assert "recipe.toml: a symbolic link" in text
    assert len(problems) == 5


def test_a_manifest_that_contradicts_itself_is_a_problem(copy: Path) -> None:
    manifest = read_manifest(copy)
    card = next(entry for entry in manifest.files if entry.path == "README.md")
    rowless = tuple(entry for entry in manifest.files if entry.rows is None)
    for changed, words in (
        (replace(manifest, files=(*manifest.files, card)), "manifest.json: lists README.md 2 times"),
        (replace(manifest, rows=7), "manifest.json: its .parquet files hold 6 rows, but its field rows says 7"),
        (replace(manifest, files=rowless), "manifest.json: lists no file with rows, but its field rows says 6"),
    ):
        (copy / MANIFEST).write_bytes(changed.to_json())
        assert words in verify(copy)[1]
    text = (copy / MANIFEST).read_text("utf-8").replace('"name": "en_essays"', '"name": "\\ud800"')
    (copy / MANIFEST).write_text(text, "utf-8")
    with pytest.raises(ContractError, match=r"a lone surrogate, which is not valid text"):
        verify(copy)
    (copy / MANIFEST).unlink()
    with pytest.raises(ContractError, match=r"no manifest\.json"):
        verify(copy)
