"""Joining through temporary files: how many answers are kept in memory, and what stays on disk."""

from __future__ import annotations

from pathlib import Path

import pytest
from made import WriteLines, made
from made_large import taken_for_large

from niah_score.formats import read_answers
from niah_score.join import join_on_disk as module
from niah_score.join.join_on_disk import join_on_disk
from niah_score.join.reading import AnswerFiles
from niah_score.join.rows_on_disk import RowsOnDisk, read_truth
from niah_score.join.spool import Scratch, Spool


@pytest.mark.parametrize("field", ["prediction", "reasoning"])
def test_answers_go_to_disk_before_their_texts_or_reasoning_take_much_memory(
    field: str, write_lines: WriteLines, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = made(20)
    lines = [{"id": row["id"], "prediction": "x", field: "x" * 1000} for row in rows]
    scratch, frames = Scratch(), []
    with taken_for_large():
        truth = read_truth(write_lines("rows.jsonl", rows), scratch)
        assert isinstance(truth, RowsOnDisk)
        monkeypatch.setattr(module, "_MOST_HELD", 1000)
        monkeypatch.setattr(module, "_MOST_BYTES", 3000)
        monkeypatch.setattr("niah_score.join.reading._BATCH", 64)
        monkeypatch.setattr("niah_score.join.reading._BATCH_BYTES", 1)
        put = Spool.put

        def noticed(spool: Spool, frame: object) -> object:
            if spool.path.name == "answers-read":
                frames.append(frame)
            return put(spool, frame)  # type: ignore[arg-type]

        monkeypatch.setattr(Spool, "put", noticed)
        files = AnswerFiles([read_answers(write_lines("answers.jsonl", lines))], None)
        joined = join_on_disk(truth, files.names, files, scratch)
    assert joined.lines.used == 20
    # Three at a time; without the limit, a part's answers would go at once, and there are four parts.
    assert len(frames) >= 7


def test_answers_as_read_are_removed_from_disk_once_joined(write_lines: WriteLines) -> None:
    rows, scratch = made(20), Scratch()
    lines = [{"id": row["id"], "prediction": "x"} for row in rows]
    with taken_for_large():
        truth = read_truth(write_lines("rows.jsonl", rows), scratch)
        assert isinstance(truth, RowsOnDisk)
        files = AnswerFiles([read_answers(write_lines("answers.jsonl", lines))], None)
        joined = join_on_disk(truth, files.names, files, scratch)
    folder: Path = scratch.path("x").parent
    assert joined.spool.path.parent == folder
    assert not (folder / "answers-read").exists()
