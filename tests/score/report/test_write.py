"""A report as a folder or at an address: written whole or not at all, replaced only on request, read back as it was."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from pathlib import Path

import made_reports
import pytest
from made import WriteLines, made, right
from made_store import BUCKET, MadeStore, below

import niah_score
from niah_score.contract import seal_is_broken
from niah_score.errors import IntegrityError, ScoreError
from niah_score.evaluation import evaluate
from niah_score.machine.stores import Address
from niah_score.report import FILES, SUMMARY
from niah_score.report.read import read, with_texts
from niah_score.report.report import Report
from niah_score.report.write import scores_for, write


@pytest.fixture
def report(write_lines: WriteLines) -> Report:
    rows = made(12)
    answers = [*right(rows)[1:], {"id": "nobody", "prediction": "x"}]
    return evaluate(write_lines("rows.jsonl", rows), write_lines("gpt.jsonl", answers), missing="zero")


def test_a_written_report_is_read_back_from_a_path_or_a_string(report: Report, tmp_path: Path) -> None:
    folder = write(report, str(tmp_path / "out"))
    assert folder == tmp_path / "out"
    for again in (read(folder), niah_score.read(str(folder))):
        assert again.scores.equals(report.scores)
        assert again.summary == report.summary
        assert (again.problems, again.lines, again.exit_code) == (report.problems, report.lines, 3)
        assert (again.samples, again.rows) == (None, None)
    other = write(with_texts(read(folder), tmp_path / "rows.jsonl"), tmp_path / "other")
    summary = json.loads((other / SUMMARY).read_bytes())
    assert not seal_is_broken(summary)
    assert sorted(path.name for path in other.iterdir()) == sorted([*summary["files"], SUMMARY])
    assert [*summary["files"], SUMMARY] == [name for name in FILES if name != "samples.parquet"]
    for name in [*summary["files"], SUMMARY]:
        data = (folder / name).read_bytes()
        assert (other / name).read_bytes() == data, name
        listed = {"sha256": hashlib.sha256(data).hexdigest(), "bytes": len(data)}
        assert summary["files"].get(name, listed) == listed


def test_samples_are_written_and_read_and_removed_with_their_run(
    report: Report, write_lines: WriteLines, tmp_path: Path
) -> None:
    rows = made(4)
    answers = write_lines("s.jsonl", [*right(rows), *right(rows)])
    several = evaluate(write_lines("rows4.jsonl", rows), answers, samples="mean")
    folder = write(several, tmp_path / "out")
    samples = read(folder).samples
    assert samples is not None
    assert several.samples is not None
    assert samples.equals(several.samples)
    write(report, folder, overwrite=True)
    assert not (folder / "samples.parquet").exists()


def test_tables_and_pictures_may_be_missing_and_unlisted_samples_are_ignored(report: Report, tmp_path: Path) -> None:
    with pytest.raises(ScoreError, match=r"nothing: there are no scores .* run niah-score score first"):
        read(tmp_path / "nothing")
    folder = write(report, tmp_path / "out")
    for name in set(FILES) - {"scores.parquet", "problems.jsonl", SUMMARY}:
        (folder / name).unlink(missing_ok=True)
    (folder / "samples.parquet").write_bytes(b"of nobody")
    assert read(folder).samples is None
    (folder / "problems.jsonl").unlink()
    with pytest.raises(ScoreError, match=r"there are no scores \(.*problems\.jsonl is missing\)"):
        read(folder)
    (folder / SUMMARY).unlink()
    with pytest.raises(IntegrityError, match=r"scores\.parquet is there and summary\.json is not.*score again"):
        read(folder)


def test_a_summary_that_was_changed_is_refused_with_advice(report: Report, tmp_path: Path) -> None:
    folder = write(report, tmp_path / "out")
    whole = json.loads((folder / SUMMARY).read_bytes())
    unsealed = {name: value for name, value in whole.items() if name != "self_sha256"}
    for changed, kind, message in (
        ([], ScoreError, r"out: not what niah-score score writes .* score again"),
        (whole | {"model": "gqt"}, IntegrityError, r"summary\.json: damaged, or changed since it was written"),
        ({**unsealed, "files": None}, ScoreError, r"not what niah-score score writes .*; score again"),
    ):
        (folder / SUMMARY).write_text(json.dumps(changed))
        with pytest.raises(kind, match=message):
            read(folder)
    # Whoever removes the summary's own sha256 has changed it on purpose.
    (folder / SUMMARY).write_text(json.dumps(unsealed | {"model": "mine"}))
    assert read(folder).model == "mine"


def test_a_file_of_another_run_is_refused(report: Report, tmp_path: Path) -> None:
    several = replace(report, samples=report.scores)
    folder = write(several, tmp_path / "out")
    other = write(replace(several, scores=report.scores.with_columns(score=50.0), model="other"), tmp_path / "other")
    for name in FILES:
        own, data = (folder / name).read_bytes(), (other / name).read_bytes()
        # Samples and problems are the same in both runs.
        (folder / name).write_bytes(data if data != own else data + b" ")
        with pytest.raises(IntegrityError, match=r"not the file that summary\.json lists: .*; score again with --over"):
            read(folder)
        (folder / name).write_bytes(own)
        assert read(folder).model == "gpt"


def test_scores_get_no_texts_of_another_dataset(report: Report, write_lines: WriteLines) -> None:
    with pytest.raises(IntegrityError, match="name the dataset that was scored"):
        with_texts(report, write_lines("other.jsonl", made(3)))


PLACE = Address(f"{BUCKET}/scores")


def upload(*names: str, overwrite: bool = False) -> None:
    with scores_for(PLACE, overwrite=overwrite) as folder:
        for name in names:
            (folder / name).write_text(f"{names}")


def test_the_summary_is_written_last_and_removed_first(store: type[MadeStore]) -> None:
    done: list[str] = []
    store.on_write = lambda kind, path: done.append(f"{kind} {path.rpartition('/')[2]}")
    upload("summary.json", "cells.csv", "samples.parquet", "notes.txt")
    assert done == ["put samples.parquet", "put cells.csv", "put summary.json"]
    done.clear()
    store.objects["bucket/scores/mine.txt"] = b"mine"
    upload("summary.json", "scores.parquet", "cells.csv", overwrite=True)
    removed, written = done[:2], done[2:]
    # In alphabetical order "samples.parquet" would come first.
    assert removed == ["remove summary.json", "remove samples.parquet"]
    assert written == ["put scores.parquet", "put cells.csv", "put summary.json"]
    assert set(below(store, "scores")) == {"summary.json", "scores.parquet", "cells.csv", "mine.txt"}


def test_existing_scores_are_kept_without_overwrite_and_when_writing_fails(store: type[MadeStore]) -> None:
    upload("summary.json", "cells.csv")
    before = dict(store.objects)
    with pytest.raises(ScoreError, match=r"^made://bucket/scores: already holds scores .*--overwrite"):
        upload("summary.json", "cells.csv")
    with pytest.raises(ValueError, match="mine"), scores_for(PLACE, overwrite=True):
        raise ValueError("mine")
    assert store.objects == before


def test_reports_and_folders_are_drawn_side_by_side_in_one_figure(tmp_path: Path) -> None:
    one, other = (made_reports.report(made_reports.right(0.5, seed)) for seed in (1, 2))
    other = replace(other, model="other")
    paths = [tmp_path / "a.png", tmp_path / "a.svg"]
    drawing = niah_score.plot(one, write(other, tmp_path / "other"), out=paths, title="Mine")
    shown = [text.get_text() for text in drawing.texts]
    assert [shown.count(name) for name in ("m", "other", "Mine", "Token Limit")] == [1, 1, 1, 2]
    assert paths[0].read_bytes().startswith(b"\x89PNG")
    assert "<svg" in paths[1].read_text("utf-8")
    assert drawing._repr_png_() == paths[0].read_bytes()  # type: ignore[attr-defined]
