"""A report as a folder: every file or none, nothing replaced unasked, and what is read back is what was written."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest
from made import WriteLines, made, right
from made_pages import large, shown_by

import niah_score
from niah_score.errors import IntegrityError, ResourceError, ScoreError
from niah_score.evaluation import evaluate
from niah_score.report import write as write_module
from niah_score.report.layout import FILES, SUMMARY
from niah_score.report.read import read, with_texts
from niah_score.report.report import Report
from niah_score.report.write import write, write_page


@pytest.fixture
def report(write_lines: WriteLines) -> Report:
    rows = made(12)
    answers = [*right(rows)[1:], {"id": "nobody", "prediction": "x"}]
    return evaluate(write_lines("rows.jsonl", rows), write_lines("gpt.jsonl", answers), missing="zero")


def test_what_was_written_is_read_back_by_path_and_by_text(report: Report, tmp_path: Path) -> None:
    folder = write(report, str(tmp_path / "out"))
    assert folder == tmp_path / "out"
    for found in (read(folder), niah_score.read(str(folder))):
        assert found.scores.equals(report.scores)
        assert found.summary == report.summary
        assert (found.problems, found.lines, found.exit_code) == (report.problems, report.lines, 3)
        assert (found.samples, found.rows) == (None, None)


def test_a_report_that_was_read_writes_the_same_bytes(report: Report, write_lines: WriteLines, tmp_path: Path) -> None:
    one = write(report, tmp_path / "one")
    other = write(with_texts(read(one), tmp_path / "rows.jsonl"), tmp_path / "other")
    names = [name for name in FILES if name != "samples.parquet"]
    assert sorted(path.name for path in other.iterdir()) == sorted(names)
    for name in names:
        assert (one / name).read_bytes() == (other / name).read_bytes(), name


def test_samples_are_written_and_read_and_leave_with_their_run(
    report: Report, write_lines: WriteLines, tmp_path: Path
) -> None:
    rows = made(4)
    answers = write_lines("s.jsonl", [*right(rows), *right(rows)])
    several = evaluate(write_lines("rows4.jsonl", rows), answers, samples="mean")
    folder = write(several, tmp_path / "out")
    found = read(folder).samples
    assert found is not None
    assert several.samples is not None
    assert found.equals(several.samples)
    write(report, folder, overwrite=True)
    assert not (folder / "samples.parquet").exists()


def test_a_folder_of_scores_and_files_of_others_are_left_alone(report: Report, tmp_path: Path) -> None:
    folder = write(report, tmp_path / "out")
    (folder / "note.txt").write_text("mine")
    before = (folder / SUMMARY).read_bytes()
    with pytest.raises(ScoreError, match=r"holds scores already \(scores\.parquet\); choose another --out"):
        write(replace(report, model="other"), folder)
    assert (folder / SUMMARY).read_bytes() == before
    write(replace(report, model="other"), folder, overwrite=True)
    assert json.loads((folder / SUMMARY).read_bytes())["model"] == "other"
    assert (folder / "note.txt").read_text() == "mine"


def test_where_writing_fails_no_file_is_left_behind(
    report: Report, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, os.strerror(28))

    monkeypatch.setattr(write_module, "page_of", full)
    with pytest.raises(ResourceError, match=r"out: cannot be written to \(No space left on device\)"):
        write(report, tmp_path / "out")
    assert list((tmp_path / "out").iterdir()) == []


def test_a_place_that_is_no_folder_is_refused(report: Report, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(ScoreError, match="is a file; --out takes a folder"):
        write(report, tmp_path / "file")
    with pytest.raises(ResourceError, match="cannot be written to"):
        write(report, tmp_path / "file" / "below")


def test_a_folder_that_is_not_ours_is_refused_with_what_to_do(report: Report, tmp_path: Path) -> None:
    with pytest.raises(ScoreError, match=r"nothing: no scores there .* run niah-score score first"):
        read(tmp_path / "nothing")
    folder = write(report, tmp_path / "out")
    (folder / SUMMARY).write_text("[]")
    with pytest.raises(ScoreError, match=r"out: not what niah-score score writes .* score again"):
        read(folder)


def test_texts_of_another_dataset_are_refused(report: Report, write_lines: WriteLines, tmp_path: Path) -> None:
    found = read(write(report, tmp_path / "out"))
    assert with_texts(found, tmp_path / "rows.jsonl").rows is not None
    with pytest.raises(IntegrityError, match="name the dataset that was scored"):
        with_texts(found, write_lines("other.jsonl", made(3)))


def test_no_name_begins_like_a_formula_in_the_tables(report: Report, tmp_path: Path) -> None:
    scores = report.scores.with_columns(needle_id=pl.lit("=1+1"), language=pl.lit("@x"))
    folder = write(replace(report, scores=scores), tmp_path / "out")
    frame = pl.read_csv(folder / "summary.csv")
    assert frame.filter(group="needle_id")["value"].unique().to_list() == ["'=1+1"]
    assert frame.filter(group="language")["value"].unique().to_list() == ["'@x"]


def test_the_page_is_made_again_from_its_folder(write_lines: WriteLines, tmp_path: Path) -> None:
    rows, answers = large(50)
    dataset = write_lines("r.jsonl", rows)
    report = niah_score.evaluate(dataset, write_lines("a.jsonl", answers), missing="zero")
    out = write(report, tmp_path / "out")
    first = (out / "report.html").read_bytes()
    without = write_page(read(out), out).read_bytes()
    assert shown_by(without)["examples"]["texts"] is None
    assert shown_by(without)["overall"] == shown_by(first)["overall"]
    assert write_page(with_texts(read(out), dataset), out).read_bytes() == first

    assert not list(out.glob(".*"))
