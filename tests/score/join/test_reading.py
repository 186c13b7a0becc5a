"""Answer files are read in frames of bounded size."""

from __future__ import annotations

import polars as pl
import pytest
from made import WriteLines

from niah_score.formats import read_answers
from niah_score.join import reading
from niah_score.join.reading import read_files


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
