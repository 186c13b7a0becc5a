"""Verification finds every change to a dataset folder."""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from niah_gen.checks.hashes import verify
from niah_score.contract import MANIFEST, ContractError, FileEntry, file_sha256, read_manifest

RECIPE = {"name": "v", "lengths": [600], "depths": [0, 100], "languages": ["en"]}


@pytest.fixture(scope="module")
def dataset(built_once: Callable[..., Path]) -> Path:
    return built_once(RECIPE, ["parquet", "jsonl"])


@pytest.fixture
def copy(dataset: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(dataset, tmp_path / "copy"))


def test_an_untouched_dataset_has_no_problems(dataset: Path) -> None:
    manifest, problems = verify(dataset)
    assert problems == []
    assert manifest.rows == 6


@pytest.mark.parametrize("intact", [True, False])
def test_the_current_folder_can_be_verified(copy: Path, monkeypatch: pytest.MonkeyPatch, intact: bool) -> None:
    monkeypatch.chdir(copy)
    if not intact:
        Path("notes.txt").write_text("mine")
    assert (verify(Path())[1] == []) is intact


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


def test_missing_renamed_truncated_and_extra_files_are_named(copy: Path) -> None:
    shard = next(copy.rglob("*.parquet"))
    shard.rename(shard.with_name("test-00001-of-00002.parquet"))
    (copy / "notes.txt").write_text("mine")
    jsonl = next(copy.rglob("*.jsonl"))
    jsonl.write_bytes(jsonl.read_bytes()[:-5])
    _, problems = verify(copy)
    text = "\n".join(problems)
    assert f"{shard.relative_to(copy).as_posix()}: missing" in text
    assert "test-00001-of-00002.parquet: not in the manifest" in text
    assert "notes.txt: not in the manifest" in text
    assert f"{jsonl.relative_to(copy).as_posix()}: {jsonl.stat().st_size} bytes, expected" in text
    assert len(problems) == 4


def test_a_folder_without_a_manifest_is_not_a_dataset(copy: Path) -> None:
    (copy / "manifest.json").unlink()
    with pytest.raises(ContractError, match=r"no manifest\.json"):
        verify(copy)


def test_a_shard_that_is_a_symbolic_link_is_a_problem(copy: Path, tmp_path: Path) -> None:
    shard = next(copy.rglob("*.parquet"))
    elsewhere = tmp_path / "elsewhere.parquet"
    shard.rename(elsewhere)
    shard.symlink_to(elsewhere)
    assert any("symbolic link" in problem for problem in verify(copy)[1])


def test_a_file_that_is_listed_twice_is_a_problem(copy: Path) -> None:
    manifest = read_manifest(copy)
    card = next(entry for entry in manifest.files if entry.path == "README.md")
    (copy / MANIFEST).write_bytes(replace(manifest, files=(*manifest.files, card)).to_json())
    assert verify(copy)[1] == ["manifest.json: lists README.md 2 times"]


def test_a_row_count_without_any_file_of_rows_is_a_problem(copy: Path) -> None:
    for folder in ("data", "jsonl"):
        shutil.rmtree(copy / folder)
    manifest = read_manifest(copy)
    files = tuple(entry for entry in manifest.files if entry.rows is None)
    (copy / MANIFEST).write_bytes(replace(manifest, files=files).to_json())
    assert verify(copy)[1] == ["manifest.json: lists no file with rows, but its field rows says 6"]


def test_a_file_of_an_unknown_format_may_be_listed_with_rows(copy: Path) -> None:
    (copy / "rows").write_text("6")
    manifest = read_manifest(copy)
    entry = FileEntry("rows", file_sha256(copy / "rows"), 6, 1)
    (copy / MANIFEST).write_bytes(replace(manifest, files=(*manifest.files, entry)).to_json())
    assert verify(copy)[1] == []


def test_a_manifest_with_a_lone_surrogate_is_refused(copy: Path) -> None:
    text = (copy / MANIFEST).read_text("utf-8").replace('"name": "en_essays"', '"name": "\\ud800"')
    (copy / MANIFEST).write_text(text, "utf-8")
    with pytest.raises(ContractError, match=r"a lone surrogate, which is not valid text"):
        verify(copy)


def test_a_row_count_that_differs_from_the_files_is_a_problem(copy: Path) -> None:
    (copy / MANIFEST).write_bytes(replace(read_manifest(copy), rows=7).to_json())
    assert verify(copy)[1] == [
        "manifest.json: its .parquet files hold 6 rows, but its field rows says 7",
        "manifest.json: its .jsonl files hold 6 rows, but its field rows says 7",
    ]
