"""Scores in a file: the size of row groups, the error of a full disk, and files that change while in use."""

from __future__ import annotations

import errno
import os
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow.parquet as pq
import pytest
from each import each
from made import WriteLines, made, right
from made_large import taken_for_large

from niah_score.contract import file_sha256
from niah_score.errors import IntegrityError, ResourceError
from niah_score.evaluation import evaluate
from niah_score.report import scores_file
from niah_score.report.read import read
from niah_score.report.report import Report
from niah_score.report.scores_file import ScoresFile, ScoresWriter, hashed_file
from niah_score.report.write import write

COLUMNS = dict.fromkeys(("id", "prediction", "extracted", "reasoning"), pl.String())


@each("long", ["prediction", "extracted", "reasoning"])
def test_row_groups_have_fewer_rows_where_any_text_of_an_answer_is_long(
    long: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("niah_score.report.scores_file._GROUP_BYTES", 1000)
    writer = ScoresWriter(tmp_path / "scores.parquet", COLUMNS, {})
    for number in range(6):
        writer.add(pl.DataFrame({"id": [str(number)], "prediction": ["x"], long: ["x" * 400]}))
    about = pq.read_metadata(writer.end())
    assert [about.row_group(number).num_rows for number in range(about.num_row_groups)] == [3, 3]


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs a device that is always full")
def test_a_full_disk_raises_an_os_error_that_names_the_file() -> None:
    writer = ScoresWriter(Path("/dev/full"), COLUMNS, {})
    writer.add(pl.DataFrame({"id": ["a"], "prediction": ["x"]}))
    with pytest.raises(OSError, match="/dev/full") as raised:
        writer.end()
    assert (raised.value.errno, raised.value.filename) == (errno.ENOSPC, "/dev/full")


def large(write_lines: WriteLines) -> Report:
    """A report that keeps its scores in a file."""
    rows = made(20)
    with taken_for_large():
        return evaluate(write_lines("rows.jsonl", rows), write_lines("answers.jsonl", right(rows)), model="m")


def full(*_: object, **__: object) -> None:
    raise OSError(errno.ENOSPC, "No space left on device")


def test_a_full_disk_error_names_the_temporary_folder_or_the_file_of_results(
    write_lines: WriteLines, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    report = large(write_lines)
    monkeypatch.setattr("pyarrow.parquet.ParquetWriter.write_table", full)
    with pytest.raises(ResourceError, match="TMPDIR"):
        large(write_lines)
    # With another model name, the file is written again.
    with pytest.raises(ResourceError, match=r"out.*scores\.parquet: cannot be written to .*the disk has") as raised:
        write(replace(report, model="other"), tmp_path / "out")
    assert "TMPDIR" not in str(raised.value)


def spoil(path: Path) -> None:
    """Replace a file with another of the same size in one step, because it may be open for reading."""
    other = path.with_name("other")
    other.write_bytes(path.read_bytes()[::-1])
    other.replace(path)


def read_large(folder: Path) -> Report:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("niah_score.report.read.MOST_IN_MEMORY", 4)
        return read(folder)


def test_scores_that_changed_since_they_were_read_are_not_copied(write_lines: WriteLines, tmp_path: Path) -> None:
    folder = write(large(write_lines), tmp_path / "out")
    report = read_large(folder)
    write(report, tmp_path / "sound")
    spoil(folder / "scores.parquet")
    with pytest.raises(IntegrityError, match=r"scores\.parquet: changed since it was opened"):
        write(report, tmp_path / "spoiled")
    assert not (tmp_path / "spoiled").exists()


def test_scores_that_change_while_they_are_copied_are_refused(
    write_lines: WriteLines, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = write(large(write_lines), tmp_path / "out")
    report = read_large(folder)
    copy = shutil.copyfile

    def changed(source: Path, goal: Path, **_: Any) -> None:
        copy(source, goal)
        spoil(source)

    monkeypatch.setattr("shutil.copyfile", changed)
    with pytest.raises(IntegrityError, match="changed since it was opened"):
        write(report, tmp_path / "copy")


def test_scores_that_change_after_they_are_hashed_are_refused(
    write_lines: WriteLines, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = write(large(write_lines), tmp_path / "out")
    scores, other = folder / "scores.parquet", tmp_path / "other.parquet"
    other.write_bytes(scores.read_bytes())

    def changed(path: Path) -> str:
        digest = file_sha256(path)
        if path == scores:
            other.replace(scores)
        return digest

    monkeypatch.setattr(scores_file, "file_sha256", changed)
    with pytest.raises(IntegrityError, match="changed since it was opened"):
        read_large(folder)
    monkeypatch.undo()
    hashed = hashed_file(scores)
    assert ScoresFile(scores, hashed=hashed).sha256 == hashed.sha256
