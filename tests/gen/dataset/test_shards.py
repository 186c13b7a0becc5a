"""A shard holds in memory, and in each row group of its file, no more rows than its limits allow, and loses none."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq
import pytest
from small_dataset import notes

import niah_gen
from niah_gen.dataset.shards import ShardRecord
from niah_score.contract import FileEntry


def test_rows_are_written_in_groups_within_the_limits_and_none_is_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recipe = {
        "name": "groups", "lengths": [600], "depths": [0, 25, 50, 75, 100], "needles": ["velden-archive"],
        "languages": ["en"], "corpora": [str(notes(tmp_path))], "allow_repeats": True,
    }  # fmt: skip
    sizes = [len(str(row["prompt"]).encode()) for row in niah_gen.iter_rows(recipe)]
    for most_rows, most_bytes in ((2, 1 << 30), (1024, 2 * max(sizes) + 1), (1024, 1), (4, 1 << 30)):
        monkeypatch.setattr("niah_gen.dataset.shards.GROUP_ROWS", most_rows)
        monkeypatch.setattr("niah_gen.dataset.shards.GROUP_BYTES", most_bytes)
        folder = niah_gen.build(recipe, tmp_path / f"{most_rows}-{most_bytes}", jobs=1)
        (path,) = folder.glob("data/*/*.parquet")
        about = pq.read_metadata(path)
        groups = [about.row_group(number).num_rows for number in range(about.num_row_groups)]
        expected = {2: [2, 2, 1], 4: [4, 1]}.get(most_rows, [1] * 5 if most_bytes == 1 else [2, 2, 1])
        assert groups == expected, (most_rows, most_bytes)


def test_a_record_is_read_back_only_if_its_files_have_its_rows() -> None:
    for rows, is_read in ((2, True), (1, False), (3, False)):
        entry = FileEntry("data/en-600/test-00000-of-00001.parquet", "0" * 64, rows, 1)
        record = ShardRecord("0" * 64, 0, (entry,), ("1" * 64, "2" * 64), 1200, (), ())
        assert ShardRecord.from_bytes(record.to_bytes()) == (record if is_read else None), rows
