"""A shard holds in memory, and in each row group of its file, no more rows than its limits allow, and loses none."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq
import pytest
from each import each
from small_dataset import notes

import niah_gen
from niah_gen.dataset.shards import compression_level
from niah_score.contract import open_dataset


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


@each(
    ("row_bytes", "alike", "again", "level"),
    [
        (4_000, 101, None, 9),
        (512_000, 15, 650_000, 9),
        (128_000, 200, 650_000, 17),  # short rows that fill the window many times
        (512_000, 101, None, 9),
        (2_800_000, 21, None, 9),  # an earlier row is still in the window
        (4_000_000, 21, None, 17),
        (4_000_000, 101, 650_000, 9),  # none is, but the row repeats its corpus
        (4_000_000, 101, 3_500_000, 17),
    ],
)
def test_the_level_depends_on_the_distance_between_a_text_and_its_copy(
    row_bytes: int, alike: int, again: int | None, level: int
) -> None:
    assert compression_level(row_bytes, alike, again=again) == level
    assert compression_level(row_bytes, alike, again=again, quick=True) == 1


def test_long_rows_that_repeat_a_short_corpus_shrink_to_a_twentieth(tmp_path: Path) -> None:
    recipe = {"name": "long", "lengths": [900_000], "depths": [0, 50, 100], "needles": ["brannock-lighthouse"]}
    folder = niah_gen.build({**recipe, "languages": ["en"], "allow_repeats": True}, tmp_path)
    (file,) = open_dataset(folder).files()
    assert file.path.stat().st_size < 3 * 900_000 * 4 / 20
