"""Completing datasets: parts that were built apart are one dataset, and nothing less."""

from __future__ import annotations

from pathlib import Path

import pytest
from folders import tree
from small_dataset import SMALL, notes

import niah_gen
from niah_gen.checks.hashes import verify
from niah_gen.errors import IntegrityError, NiahError
from niah_score.contract import read_manifest


def test_shards_built_apart_and_merged_are_the_same_dataset(small: Path, tmp_path: Path) -> None:
    partial = niah_gen.build(SMALL, tmp_path, shard=(1, 2))
    with pytest.raises(IntegrityError, match="2 files are not there"):
        niah_gen.merge(partial)
    assert niah_gen.build(SMALL, tmp_path, shard=(2, 2)) == partial
    merged = niah_gen.merge(partial)
    assert tree(merged) == tree(small)
    assert not partial.exists()


def test_merge_takes_the_dataset_folder_or_the_out_folder_too(tmp_path: Path) -> None:
    for part in (1, 2, 3):
        partial = niah_gen.build(SMALL, tmp_path, shard=(part, 3))
    final = partial.with_name(partial.name.removesuffix(".partial"))
    assert niah_gen.merge(tmp_path) == final
    with pytest.raises(NiahError, match="no part of a dataset"):
        niah_gen.merge(final)


def test_a_damaged_part_is_refused_and_written_again(small: Path, tmp_path: Path) -> None:
    for part in (1, 2):
        partial = niah_gen.build(SMALL, tmp_path, shard=(part, 2))
    victim = sorted(partial.rglob("*.parquet"))[0]
    data = bytearray(victim.read_bytes())
    data[len(data) // 2] ^= 1
    victim.write_bytes(data)
    with pytest.raises(IntegrityError, match="sha256"):
        niah_gen.merge(partial)
    for part in (1, 2):
        niah_gen.build(SMALL, tmp_path, shard=(part, 2))
    assert tree(niah_gen.merge(partial)) == tree(small)


def test_merging_needs_neither_corpora_nor_tokenizer_on_the_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = notes(tmp_path / "elsewhere")
    recipe = {**SMALL, "corpora": [str(texts)], "languages": ["en"]}
    for part in (1, 2):
        partial = niah_gen.build(recipe, tmp_path, shard=(part, 2))
    texts.rename(tmp_path / "gone")
    folder = niah_gen.merge(partial)
    assert read_manifest(folder).corpora[0].name == "notes"


def test_shards_of_a_further_format_keep_what_is_there(tmp_path: Path) -> None:
    folder = niah_gen.build(SMALL, tmp_path)
    assert niah_gen.build(SMALL, tmp_path, shard=(1, 2)) == folder
    for part in (1, 2):
        partial = niah_gen.build(SMALL, tmp_path, shard=(part, 2), formats=["jsonl", "jsonl.gz"])
    assert niah_gen.merge(partial) == folder
    assert verify(folder)[1] == []
    assert {path.split(".", 1)[1] for path in tree(folder) if "test-" in path} == {"parquet", "jsonl", "jsonl.gz"}


def test_merge_takes_the_folder_one_stands_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    partial = niah_gen.build(SMALL, tmp_path, shard=(1, 1))
    monkeypatch.chdir(partial)
    assert niah_gen.merge(".").is_dir()
