"""Answer files are read in frames of bounded size, whatever is wrong with some of their records."""

from __future__ import annotations

import polars as pl
import pytest
from made import Record, WriteLines, made, right

from niah_score.formats import read_answers
from niah_score.join import reading
from niah_score.join.reading import read_files, schema


def test_a_frame_holds_answers_and_malformed_records_with_the_lines_of_their_file(write_lines: WriteLines) -> None:
    records: list[Record] = right(made(9))
    records[4] = {"id": "x", "prediction": 4}
    records[7] = {**records[7], "sample": 1, "error": "boom"}
    file = write_lines("answers.jsonl", records)
    (frame,) = read_files([read_answers(file)], [])
    assert set(frame.columns) <= set(schema())
    assert set(frame["file"]) == {str(file)}
    broken, answers = frame.filter(pl.col("malformed").is_not_null()), frame.filter(pl.col("malformed").is_null())
    assert broken["line"].to_list() == [5]
    assert "prediction is the number 4" in broken["malformed"][0]
    assert answers["line"].to_list() == [1, 2, 3, 4, 6, 7, 8, 9]
    assert answers.select("id", "text", "error", "sample").rows()[6] == (
        "row-007", records[7]["prediction"], "boom", 1,
    )  # fmt: skip


@pytest.mark.parametrize("field", ["prediction", "reasoning"])
def test_frames_hold_fewer_answers_if_their_texts_or_reasoning_are_long(
    field: str, write_lines: WriteLines, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, "_BATCH", 640)
    monkeypatch.setattr(reading, "_BATCH_BYTES", 25_000)
    answers = [{"id": str(number), "prediction": "x", field: "x" * 1000} for number in range(60)]
    frames = list(read_files([read_answers(write_lines("a.jsonl", answers))], []))
    assert [frame.height for frame in frames] == [25, 25, 10]
    assert pl.concat(frames)["id"].to_list() == [answer["id"] for answer in answers]
    monkeypatch.setattr(reading, "_BATCH", 7)
    assert [frame.height for frame in read_files([read_answers(write_lines("a.jsonl", answers))], [])][:2] == [7, 7]
