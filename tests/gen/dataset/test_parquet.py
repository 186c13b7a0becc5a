"""The zstd level that rows are written with follows from their sizes alone, and keeps near-copies small."""

from __future__ import annotations

from pathlib import Path

from each import each

import niah_gen
from niah_gen.dataset.parquet import compression_level
from niah_score.contract import open_dataset


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
