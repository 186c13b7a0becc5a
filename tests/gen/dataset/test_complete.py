"""Completing datasets: shards that were built apart become one whole dataset, and nothing less."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from each import each
from folders import tree
from small_dataset import SMALL, notes

import niah_gen
from niah_gen.checks.hashes import verify
from niah_gen.dataset.read import rows_in
from niah_gen.errors import IntegrityError, NiahError
from niah_score.contract import read_manifest, sealed


def test_shards_built_apart_merge_into_the_same_dataset(small: Path, tmp_path: Path) -> None:
    partial = niah_gen.build(SMALL, tmp_path, shard=(1, 2))
    with pytest.raises(IntegrityError, match="2 files are missing or damaged"):
        niah_gen.merge(partial)
    assert niah_gen.build(SMALL, tmp_path, shard=(2, 2)) == partial
    merged = niah_gen.merge(partial)
    assert tree(merged) == tree(small)
    assert not partial.exists()


def test_merge_accepts_the_out_folder_and_never_merges_a_finished_dataset_again(tmp_path: Path) -> None:
    for part in (1, 2, 3):
        partial = niah_gen.build(SMALL, tmp_path, shard=(part, 3))
    final = partial.with_name(partial.name.removesuffix(".partial"))
    assert niah_gen.merge(tmp_path) == final
    with pytest.raises(NiahError, match="is a finished dataset; there is nothing to merge"):
        niah_gen.merge(final)
    (partial / "dataset").mkdir(parents=True)  # as left by a merge that is killed at its end
    notices: list[str] = []
    assert niah_gen.merge(partial, notices.append) == final
    assert notices == [f"{final} is complete already; nothing was merged"]
    assert [path.name for path in final.parent.iterdir()] == [final.name]


@pytest.mark.slow
@each("shards", [None, 2])
def test_a_damaged_dataset_is_repaired_in_all_formats_whichever_is_requested(
    tmp_path: Path, shards: int | None
) -> None:
    folder = niah_gen.build(SMALL, tmp_path, formats=["parquet", "jsonl.gz"])
    whole = tree(folder)
    for victim in sorted(folder.rglob("test-*"))[:2]:
        victim.write_bytes(victim.read_bytes()[:-1])
    if shards is None:
        assert niah_gen.build(SMALL, tmp_path) == folder
    else:
        for part in (1, 2):
            partial = niah_gen.build(SMALL, tmp_path, shard=(part, shards))
        assert niah_gen.merge(partial) == folder
    assert verify(folder)[1] == []
    assert tree(folder) == whole


def test_a_killed_addition_of_a_format_is_finished_by_the_next_build(tmp_path: Path) -> None:
    folder = niah_gen.build(SMALL, tmp_path / "whole", formats=("parquet", "jsonl"))
    whole = tree(folder)
    old = niah_gen.build(SMALL, tmp_path / "old")
    partial = old.with_name(f"{old.name}.partial")
    shutil.copytree(folder, partial / "dataset")
    for path in sorted({*whole} - {"manifest.json"}):  # killed when all but the manifest was moved
        (old / path).parent.mkdir(parents=True, exist_ok=True)
        (partial / "dataset" / path).replace(old / path)
    _, problems = verify(old)
    assert problems[0].endswith(
        "holds files that a killed command had not finished moving in; run the same build again"
    )
    assert list(rows_in(old / next(path for path in whole if path.endswith(".parquet"))))
    assert niah_gen.build(SMALL, tmp_path / "old", formats=("jsonl",)) == old
    assert tree(old) == whole
    assert [path.name for path in old.parent.iterdir()] == [old.name]


def test_a_damaged_shard_is_refused_and_built_again(small: Path, tmp_path: Path) -> None:
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


def test_merging_does_not_need_the_corpora(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = notes(tmp_path / "elsewhere")
    recipe = {**SMALL, "corpora": [str(texts)], "languages": ["en"]}
    for part in (1, 2):
        partial = niah_gen.build(recipe, tmp_path, shard=(part, 2))
    texts.rename(tmp_path / "gone")
    folder = niah_gen.merge(partial)
    assert read_manifest(folder).corpora[0].name == "notes"


def test_shards_of_a_further_format_keep_the_existing_files(tmp_path: Path) -> None:
    folder = niah_gen.build(SMALL, tmp_path)
    assert niah_gen.build(SMALL, tmp_path, shard=(1, 2)) == folder
    for part in (1, 2):
        partial = niah_gen.build(SMALL, tmp_path, shard=(part, 2), formats=["jsonl", "jsonl.gz"])
    assert niah_gen.merge(partial) == folder
    assert verify(folder)[1] == []
    assert {path.split(".", 1)[1] for path in tree(folder) if "test-" in path} == {"parquet", "jsonl", "jsonl.gz"}


def test_merge_accepts_the_current_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    partial = niah_gen.build(SMALL, tmp_path, shard=(1, 1))
    monkeypatch.chdir(partial)
    assert niah_gen.merge(".").is_dir()


def test_a_dataset_of_other_rows_is_never_replaced(tmp_path: Path) -> None:
    folder = niah_gen.build(SMALL, tmp_path)
    manifest = json.loads((folder / "manifest.json").read_bytes())
    (folder / "manifest.json").write_text(json.dumps(sealed({**manifest, "content_digest": "0" * 64})))
    before = tree(folder)
    with pytest.raises(IntegrityError, match="its rows are not those that this version makes"):
        niah_gen.build(SMALL, tmp_path, formats=["jsonl"])
    assert tree(folder) == before
