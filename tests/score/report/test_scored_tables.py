"""A large dataset is scored through files, with the same numbers, problems and bytes as one that fits into memory."""

from __future__ import annotations

import json
import random
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from folders import tree
from hypothesis import HealthCheck, given
from hypothesis import strategies as st
from made import Record, WriteLines, made, right
from made_large import taken_for_large
from made_parts import control_rows, part_rows, parts_folder
from properties import examples

from niah_score.errors import ScoreError
from niah_score.evaluation import evaluate
from niah_score.report.read import read, with_texts
from niah_score.report.report import Report
from niah_score.report.scores_file import ScoresFile
from niah_score.report.write import write, write_page

LINE = st.fixed_dictionaries(
    {
        "row": st.integers(0, 12),  # rows 10 to 12 are not in the dataset
        "what": st.sampled_from(["answer", "answer", "answer", "empty", "error", "error with text", "broken"]),
        "told": st.sampled_from(
            ["id", "id", "id and prompt", "prompt", "foreign id and prompt", "id and other prompt"]
        ),
        "sample": st.integers(0, 1),
    }
)


def prompted(count: int) -> list[Record]:
    return [{**row, "prompt_sha256": sha256(f"prompt {row['id']}".encode()).hexdigest()} for row in made(count)]


def record(line: dict[str, Any], text: str) -> Record:
    """A line of an answer file."""
    name = f"row-{line['row']:03}"
    fields: Record = {"sample": line["sample"]}
    if line["told"] != "prompt":
        fields["id"] = f"elsewhere-{name}" if line["told"].startswith("foreign") else name
    if "prompt" in line["told"]:
        fields["prompt"] = "another" if "other" in line["told"] else f"prompt {name}"
    if line["what"] == "broken":
        return {"sample": 0}
    if line["what"].startswith("error"):
        fields["error"] = "boom"
    if line["what"] != "error":
        fields["prediction"] = "" if line["what"] == "empty" else text
    return fields


def outcome(dataset: Path, files: list[Path], **how: Any) -> Report | str:
    """The report, or the message of the error in its place."""
    try:
        return evaluate(dataset, files, **how)
    except ScoreError as error:
        return f"{type(error).__name__}: {error}"


def assert_same(one: Report, other: Report) -> None:
    assert isinstance(other.table, ScoresFile)
    # The columns of a metric come with the first chunk of rows that it judges.
    assert other.scores.select(one.scores.columns).equals(one.scores)
    assert (one.samples is None) == (other.samples is None)
    if one.samples is not None and other.samples is not None:
        assert other.samples.equals(one.samples)
    for name in ("dataset", "digest8", "metrics", "statuses", "lines", "problems", "signatures", "parts"):
        assert getattr(other, name) == getattr(one, name), name
    assert other.summary == one.summary
    assert other.cells.equals(one.cells)


@examples(40, HealthCheck.function_scoped_fixture)
@given(
    files=st.lists(st.lists(LINE, max_size=16), min_size=1, max_size=3),
    how=st.sampled_from(
        [{"on_duplicate": "first"}, {"on_duplicate": "last"}, {"on_duplicate": "error"}, {"samples": "mean"},
         {"samples": "best"}, {"on_duplicate": "first", "missing": "exclude"}]
    ),
)  # fmt: skip
def test_any_answers_have_the_same_outcome_on_disk_as_in_memory(
    tmp_path_factory: pytest.TempPathFactory, files: list[list[dict[str, Any]]], how: dict[str, Any]
) -> None:
    folder = tmp_path_factory.getbasetemp()
    rows = prompted(10)
    random.Random(3).shuffle(rows)
    dataset = folder / "rows.jsonl"
    dataset.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    paths = [folder / f"{number}.jsonl" for number in range(len(files))]
    for number, (path, lines) in enumerate(zip(paths, files, strict=True)):
        records = [record(line, f"It is word{line['row']:03}, {number} {at}.") for at, line in enumerate(lines)]
        # The first line makes it a file of answers, whatever follows.
        path.write_text("".join(json.dumps(one) + "\n" for one in [{"id": "nobody", "prediction": "x"}, *records]))
    how = {"missing": "zero", **how}
    expected = outcome(dataset, paths, **how)
    with taken_for_large():
        actual = outcome(dataset, paths, **how)
    if isinstance(expected, str) or isinstance(actual, str):
        assert actual == expected
    else:
        assert_same(expected, actual)


@pytest.mark.slow
def test_parts_controls_and_metrics_make_the_same_files_on_disk_as_in_memory(tmp_path: Path) -> None:
    rows = [*part_rows(), *control_rows()]
    random.Random(5).shuffle(rows)
    dataset = parts_folder(tmp_path / "dataset", rows)
    lines = [
        {"id": row["id"], "prediction": row["answers"][0] if number % 3 else "The text does not say."}
        for number, row in enumerate(rows)
        if number % 11
    ]
    answers = [tmp_path / "one.jsonl", tmp_path / "two.jsonl"]
    for path, some in zip(answers, (lines[::2], lines[1::2]), strict=True):
        path.write_text("".join(json.dumps(one) + "\n" for one in some), "utf-8")
    expected = evaluate(dataset, answers, missing="zero", model="m")
    write(expected, tmp_path / "in-memory")
    with taken_for_large(rows=50, chunk=16):
        actual = evaluate(dataset, answers[::-1], missing="zero", model="m")
        write(actual, tmp_path / "on-disk")
    assert_same(expected, actual)
    ours, theirs = tree(tmp_path / "in-memory"), tree(tmp_path / "on-disk")
    # Tables are equal row by row; their layout in the file, and so the sha256 in the summary, may differ.
    assert ours.keys() == theirs.keys()
    assert {name for name in ours if ours[name] != theirs[name]} <= {"scores.parquet", "summary.json"}


def test_scores_on_disk_are_read_back_and_written_again_as_the_same_bytes(
    write_lines: WriteLines, tmp_path: Path
) -> None:
    rows = prompted(20)
    dataset, answers = write_lines("rows.jsonl", rows), write_lines("answers.jsonl", right(rows))
    with taken_for_large(), pytest.MonkeyPatch.context() as patch:
        patch.setattr("niah_score.report.read.MOST_IN_MEMORY", 4)
        report = evaluate(dataset, answers, model="m")
        write(report, tmp_path / "out")
        first = tree(tmp_path / "out")
        read_back = read(tmp_path / "out")
        assert_same(report, read_back)
        write_page(with_texts(read_back, dataset), tmp_path / "out")
        assert tree(tmp_path / "out") == first
        again = write(read_back, tmp_path / "again")
        assert (again / "scores.parquet").read_bytes() == first["scores.parquet"]


def test_temporary_files_are_deleted_with_the_report(write_lines: WriteLines, tmp_path: Path) -> None:
    rows = made(20)
    dataset, answers = write_lines("rows.jsonl", rows), write_lines("answers.jsonl", right(rows))
    folder = tmp_path / "temporary"
    folder.mkdir()
    with taken_for_large(), pytest.MonkeyPatch.context() as patch:
        patch.setattr("tempfile.tempdir", str(folder))
        report = evaluate(dataset, answers)
        assert report.height == 20
        assert list(folder.iterdir())
        del report
        assert list(folder.iterdir()) == []


def test_a_row_that_appears_twice_is_refused_however_far_apart(write_lines: WriteLines) -> None:
    rows = made(20)
    dataset = write_lines("rows.jsonl", [*rows, rows[3]])
    answers = write_lines("answers.jsonl", right(rows))
    expected = outcome(dataset, [answers])
    with taken_for_large():
        assert outcome(dataset, [answers]) == expected
    assert "'row-003' is in two or more rows;" in str(expected)


def test_samples_in_only_some_of_the_chunks_are_scored_in_memory_too(write_lines: WriteLines) -> None:
    rows = made(10)
    lines = [*right(rows), {"id": "row-009", "prediction": "no"}]
    dataset, answers = write_lines("rows.jsonl", rows), write_lines("answers.jsonl", lines)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("niah_score.scoring.score.CHUNK_ROWS", 3)
        report = evaluate(dataset, answers, samples="mean")
    assert report.scores["samples"].to_list() == [1] * 9 + [2]
