"""Shards hold no more rows in memory than their limits allow and lose none; real readers open them, offline."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from each import each
from small_dataset import notes

import niah_gen
from niah_score.contract import config_name


def test_rows_are_written_in_groups_within_the_limits_and_none_is_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recipe = {
        "name": "groups", "lengths": [600], "depths": [0, 25, 50, 75, 100], "needles": ["velden-archive"],
        "languages": ["en"], "corpora": [str(notes(tmp_path))], "allow_repeats": True,
    }  # fmt: skip
    sizes = [len(json.dumps(row, ensure_ascii=False).encode()) for row in niah_gen.iter_rows(recipe)]
    for most_rows, most_bytes in ((2, 1 << 30), (1024, 2 * max(sizes) + 1), (1024, 1), (4, 1 << 30)):
        monkeypatch.setattr("niah_gen.dataset.shards.GROUP_ROWS", most_rows)
        monkeypatch.setattr("niah_gen.dataset.shards.GROUP_BYTES", most_bytes)
        folder = niah_gen.build(recipe, tmp_path / f"{most_rows}-{most_bytes}", jobs=1)
        (path,) = folder.glob("data/*/*.parquet")
        about = pq.read_metadata(path)
        groups = [about.row_group(number).num_rows for number in range(about.num_row_groups)]
        expected = {2: [2, 2, 1], 4: [4, 1]}.get(most_rows, [1] * 5 if most_bytes == 1 else [2, 2, 1])
        assert groups == expected, (most_rows, most_bytes)


# Sorted by name, 10,000 comes before 1,000. Parts and controls leave some columns of some files without a value.
RECIPE = {"name": "c", "lengths": [600, 1000, 10000], "depths": [0, 50]}
PARTS = {
    "name": "p", "lengths": [1000, 10000], "depths": [50], "languages": ["en"],
    "parts": [
        {"name": "near", "task": "single", "needles": ["velden-archive"], "lengths": [1000]},
        {
            "name": "far", "task": "single", "needles": ["velden-archive"], "lengths": [10000],
            "controls": ["no_context"], "options": {"distractors": 2},
        },
    ],
}  # fmt: skip

CODE = """
import json, sys
import datasets
folder, configs = sys.argv[1], json.loads(sys.argv[2])
names = datasets.get_dataset_config_names(folder)
assert names == ["all", *configs, "preview"], names
found = {}
for config in configs:
    whole = datasets.load_dataset(folder, config, split="test")
    stream = list(datasets.load_dataset(folder, config, split="test", streaming=True))
    assert list(whole) == stream
    found[config] = [[row["id"], row["prompt"], row["needle_spans"], row["keywords"]] for row in stream]
ids = [row[0] for config in configs for row in found[config]]
assert datasets.load_dataset(folder, split="test")["id"] == ids
assert [row["id"] for row in datasets.load_dataset(folder, split="test", streaming=True)] == ids
assert list(datasets.load_dataset(folder)) == ["test"]
short = datasets.load_dataset(folder, "preview", split="test")
assert list(short) == list(datasets.load_dataset(folder, "preview", split="test", streaming=True))
assert 0 < len(short) and set(short["id"]) <= set(ids)
assert max(len(json.dumps(row["prompt"], ensure_ascii=False)) for row in short) < 4000
print(json.dumps(found))
"""


@pytest.mark.slow
@each(
    ("recipe", "form", "formats"),
    [
        (RECIPE, "text", ["parquet"]), (RECIPE, "chat", ["parquet", "jsonl"]), (RECIPE, "text", ["jsonl.zst"]),
        (PARTS, "chat", ["parquet"]), (PARTS, "text", ["jsonl"]),
    ],
)  # fmt: skip
def test_datasets_loads_all_rows_in_order_and_every_config_whole_and_streaming(
    tmp_path: Path, recipe: dict[str, Any], form: str, formats: list[str]
) -> None:
    recipe = {**recipe, "form": form}
    folder = niah_gen.build(recipe, tmp_path, formats=formats)
    expected: dict[str, list[object]] = {}
    for row in niah_gen.iter_rows(recipe):
        config = config_name(row["language"], row["length"])
        expected.setdefault(config, []).append([row["id"], row["prompt"], row["needle_spans"], row["keywords"]])
    environment = {
        **os.environ, "HF_HUB_OFFLINE": "1", "HF_HOME": str(tmp_path / "hf"), "HF_DATASETS_CACHE": str(tmp_path / "c"),
    }  # fmt: skip
    done = subprocess.run(
        [sys.executable, "-c", CODE, str(folder), json.dumps(list(expected))],
        capture_output=True,
        text=True,
        check=False,
        env=environment,
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == expected


def test_files_carry_checksums_and_a_page_index_and_no_prompt_dictionary(tmp_path: Path) -> None:
    folder = niah_gen.build(RECIPE, tmp_path)
    path = folder / "data" / "en-1k" / "test-00000-of-00001.parquet"
    with pq.ParquetFile(path, page_checksum_verification=True) as file:
        group = file.metadata.row_group(0)
        columns = {group.column(n).path_in_schema: group.column(n) for n in range(group.num_columns)}
        assert columns["prompt"].compression == "ZSTD"
        assert columns["prompt"].has_offset_index
        assert not columns["prompt"].has_dictionary_page
        assert columns["corpus"].has_dictionary_page
        assert file.schema_arrow.metadata[b"niah_schema_version"] == b"1"
        assert file.read().num_rows == 6


@pytest.mark.soak
def test_files_are_under_a_thirtieth_of_the_size_that_datasets_writes_for_the_same_rows(tmp_path: Path) -> None:
    import datasets

    recipe = {"name": "s", "lengths": [32_000, 64_000, 128_000], "languages": ["en"], "corpora": ["en_essays"]}
    folder = niah_gen.build("plain", tmp_path, overrides=recipe)
    ours = sum(file.stat().st_size for file in folder.glob("data/*/*.parquet"))
    rows = datasets.load_dataset(str(folder), split="test", cache_dir=str(tmp_path / "cache"))
    theirs = tmp_path / "theirs.parquet"
    rows.to_parquet(str(theirs))
    # One fortieth, when this was written.
    assert 30 * ours < theirs.stat().st_size
