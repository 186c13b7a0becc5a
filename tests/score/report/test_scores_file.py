"""Scores in a file: how many rows are written at a time."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pyarrow.parquet as pq
import pytest

from niah_score.report.scores_file import ScoresWriter

COLUMNS = dict.fromkeys(("id", "prediction", "extracted", "reasoning"), pl.String())


@pytest.mark.parametrize("long", ["prediction", "extracted", "reasoning"])
def test_row_groups_have_fewer_rows_where_any_text_of_an_answer_is_long(
    long: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("niah_score.report.scores_file._GROUP_BYTES", 1000)
    writer = ScoresWriter(tmp_path / "scores.parquet", COLUMNS, {})
    for number in range(6):
        writer.add(pl.DataFrame({"id": [str(number)], "prediction": ["x"], long: ["x" * 400]}))
    about = pq.read_metadata(writer.end())
    assert [about.row_group(number).num_rows for number in range(about.num_row_groups)] == [3, 3]
