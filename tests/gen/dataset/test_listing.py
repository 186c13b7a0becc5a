"""Listing a folder: datasets at any depth, and everything that should be a dataset but is not."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest
from made_store import BUCKET, MadeStore
from small_dataset import SMALL

import niah_gen
from niah_gen.dataset.listing import datasets_at, datasets_below, listing_lines
from niah_gen.errors import NiahError
from niah_score.contract import read_manifest


def copied(small: Path, folder: Path) -> Path:
    folder.parent.mkdir(parents=True, exist_ok=True)
    return Path(shutil.copytree(small, folder))


def test_a_line_states_name_version_digest_rows_tokens_lengths_and_formats(small: Path, tmp_path: Path) -> None:
    manifest = read_manifest(small)
    recipe = {**SMALL, "name": "four", "lengths": [600, 700, 800, 900], "languages": ["zh"], "depths": [0]}
    niah_gen.build(recipe, tmp_path, formats=["jsonl.gz", "jsonl"])
    copied(small, tmp_path / "small" / small.name)
    four, other = listing_lines(datasets_below(tmp_path)[0])
    assert re.split(r" {2,}", other) == [
        str(tmp_path / "small" / small.name), "small", "1.0.0", manifest.digest8, f"{manifest.rows} rows",
        f"{manifest.tokens:,} tokens", "en 600, 1k, zh 600, 1k", "parquet",
    ]  # fmt: skip
    assert re.split(r" {2,}", four)[-2:] == ["zh 600 to 900 (4)", "jsonl, jsonl.gz"]
    for column in (" rows", " tokens", "parquet"):
        assert four.find(column) in (other.find(column), -1)


def test_what_should_be_a_dataset_but_is_not_is_listed_with_its_problem(small: Path, tmp_path: Path) -> None:
    def changed(content: str) -> Path:
        copy = copied(small, tmp_path / "x" / "copy\x1b[2J")
        (copy / "manifest.json").write_text(content)
        return copy

    for make, problem in (
        (lambda: changed(""), "manifest.json: cannot be read as JSON"),
        (lambda: changed('{"schema_version": 99}'), "manifest.json: schema_version 99 is newer"),
        (lambda: copied(small, tmp_path / "x" / "1.0.0-0123abcd"), "the name says dataset 0123abcd, "),
        (lambda: (copied(small, tmp_path / "x" / "a") / "manifest.json").unlink(), "no manifest.json, so this is not"),
        (lambda: niah_gen.build(SMALL, tmp_path / "x", shard=(1, 2)),
         "unfinished, 2 files written; run the same build again, or its remaining"),
    ):  # fmt: skip
        make()
        (item,) = datasets_below(tmp_path)[0]
        assert (item.dataset, str(item.problem).startswith(problem)) == (None, True)
        (line,) = listing_lines([item])
        assert "\x1b" not in line
        shutil.rmtree(tmp_path / "x")
    with pytest.raises(NiahError, match="no such folder"):
        datasets_below(tmp_path / "nothing")


def test_a_dataset_with_missing_or_truncated_files_is_listed_with_a_warning(small: Path, tmp_path: Path) -> None:
    copy = copied(small, tmp_path / "copy")
    files = sorted(copy.rglob("*.parquet"))
    files[0].unlink()
    files[1].write_bytes(b"cut")
    (item,) = datasets_below(tmp_path)[0]
    assert item.dataset is not None
    (line,) = listing_lines([item])
    assert line.endswith(f"parquet  2 of {len(files) + 2} files missing or of another size: niah-gen verify")


def test_links_are_followed_and_each_folder_is_listed_once(small: Path, tmp_path: Path) -> None:
    top = tmp_path / "build"
    copied(small, top / "z" / "real")
    (top / "a-link").symlink_to(top / "z" / "real")
    (top / "around").symlink_to(top)
    copied(small, tmp_path / "elsewhere" / "other")
    (top / "m-link").symlink_to(tmp_path / "elsewhere")
    (top / "n-link").symlink_to(tmp_path / "elsewhere")
    assert [str(item.folder) for item in datasets_below(top)[0]] == [str(top / "m-link/other"), str(top / "z/real")]


FAR = {"name": "far", "task": "key-values", "languages": ["en"], "lengths": [400, 500], "depths": [0]}


def test_intact_damaged_and_unfinished_datasets_are_listed_as_such(store: type[MadeStore]) -> None:
    whole = niah_gen.build_at(FAR, f"{BUCKET}/a")
    short = niah_gen.build_at({**FAR, "name": "short"}, f"{BUCKET}/a")
    partial = niah_gen.build_at({**FAR, "name": "part"}, f"{BUCKET}/b", shard=(1, 2))
    store.objects["bucket/c/manifest.json"] = b"{}"
    store.objects["bucket/c/more.txt"] = b"x"
    del store.objects[f"{short.removeprefix('made://')}/recipe.toml"]
    lines = [line.split("  ") for line in listing_lines(datasets_at(BUCKET))]
    assert [line[0].rstrip() for line in lines] == [whole, short, partial, f"{BUCKET}/c"]
    descriptions = {line[0]: "  ".join(line[1:]) for line in lines}
    assert "2 rows" in descriptions[whole]
    assert "missing" not in descriptions[whole]
    assert "1 of 5 files missing or of another size: niah-gen verify" in descriptions[short]
    assert "unfinished, 1 files written" in descriptions[partial]
    assert "not a manifest" in descriptions[f"{BUCKET}/c"]
    (listed,) = datasets_at(whole)
    assert str(listed.folder).rstrip("/") == whole
    assert datasets_at(f"{BUCKET}/nothing") == []
