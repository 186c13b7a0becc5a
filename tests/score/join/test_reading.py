"""A file read in ranges by several workers yields the same answers, line numbers and errors as one read whole."""

from __future__ import annotations

import json
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from each import each
from made import Record, WriteLines, made, right

from niah_score.errors import IntegrityError, ScoreError
from niah_score.evaluation import evaluate
from niah_score.formats import read_answers
from niah_score.join import reading
from niah_score.join.reading import AnswerFiles
from niah_score.machine.processes import Workers, processes


def read_all(files: AnswerFiles) -> tuple[pl.DataFrame, list[tuple[int, int, str]]]:
    """All answers, and (file, line, message) of all malformed records."""
    batches = list(files)
    malformed = [(batch.file, record.line, record.message) for batch in batches for record in batch.malformed]
    return pl.concat([batch.frame for batch in batches]), malformed


def mixed(count: int) -> list[Record | str]:
    """Answers of all lengths, some of them broken."""
    lines: list[Record | str] = []
    for number, answer in enumerate(right(made(count))):
        answer["prediction"] = "中文 and é \u2028" * (number % 7)
        lines.append(answer)
        if number % 5 == 0:
            lines.append({"id": "x", "prediction": number})
        if number % 11 == 0:
            lines.append("")
    return lines


@each("size", [1, 50, 333, 5_000])
@each("ending", ["\n", ""])
def test_ranges_together_hold_what_the_whole_file_holds(
    size: int, ending: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "answers.jsonl"
    lines = [line if isinstance(line, str) else json.dumps(line, ensure_ascii=False) for line in mixed(60)]
    file.write_text("\ufeff" + "\n".join(lines) + ending, "utf-8")
    monkeypatch.setattr(reading, "RANGE_BYTES", size)
    whole, malformed = read_all(AnswerFiles([read_answers(file)], None))
    with ThreadPoolExecutor(3) as pool:
        parts, malformed_in_parts = read_all(AnswerFiles([read_answers(file)], pool))
    assert parts.equals(whole)
    assert malformed_in_parts == malformed
    assert len(malformed) == 12


def test_an_error_in_a_range_names_the_line_of_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "answers.jsonl"
    lines = [json.dumps(answer).encode() for answer in right(made(40))]
    lines[30] = b'{"id": "row-030", "prediction": "\xff"}'
    file.write_bytes(b"\n".join(lines) + b"\n")
    monkeypatch.setattr(reading, "RANGE_BYTES", 200)
    with ThreadPoolExecutor(2) as pool, pytest.raises(ScoreError, match=rf"{file}:31: "):
        read_all(AnswerFiles([read_answers(file)], pool))


def changed(path: Path) -> None:
    """Replace the file by another run's answers to the same rows, of the same size."""
    other = path.with_name("other")
    other.write_bytes(path.read_bytes().replace(b"I think", b"I guess"))
    other.replace(path)


class Late(Executor):
    """Runs each task as it is submitted, and changes the file before the k-th one."""

    def __init__(self, path: Path, before: int) -> None:
        self._path, self._left = path, before

    def submit(self, function: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()
        if self._left == 0:
            changed(self._path)
        self._left -= 1
        future.set_result(function(*args, **kwargs))
        return future


@each("before", [0, 1, 5, 10])
def test_a_file_that_is_replaced_between_two_ranges_is_refused(
    before: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "answers.jsonl"
    file.write_text("".join(json.dumps(answer) + "\n" for answer in right(made(100))))
    monkeypatch.setattr(reading, "RANGE_BYTES", 300)
    with pytest.raises(IntegrityError, match="was changed or replaced while it was read"):
        read_all(AnswerFiles([read_answers(file)], Late(file, before)))


def test_a_file_that_is_replaced_while_another_one_is_read_is_refused(tmp_path: Path) -> None:
    files = [tmp_path / name for name in ("one.jsonl", "two.jsonl")]
    for file in files:
        file.write_text("".join(json.dumps(answer) + "\n" for answer in right(made(10))))
    for replaced in files:
        batches = iter(AnswerFiles([read_answers(file) for file in files], None))
        next(batches)
        changed(replaced)
        with pytest.raises(IntegrityError, match=f"{replaced}: was changed or replaced"):
            list(batches)


def test_a_file_that_is_removed_before_its_ranges_are_read_is_reported_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "answers.jsonl"
    file.write_text("".join(json.dumps(answer) + "\n" for answer in right(made(100))))
    monkeypatch.setattr(reading, "RANGE_BYTES", 300)
    monkeypatch.setattr(f"{__name__}.changed", Path.unlink)
    with pytest.raises(ScoreError, match=f"{file}: missing"):
        read_all(AnswerFiles([read_answers(file)], Late(file, 3)))


def test_files_without_answers_are_left_out_unless_there_are_no_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = {
        "answers.jsonl": "".join(json.dumps(answer) + "\n" for answer in right(made(20))),
        "errors.jsonl": "",
        "requests.jsonl": '{"custom_id": "a", "method": "POST", "body": {}}\n' * 20,
    }
    for name, text in lines.items():
        (tmp_path / name).write_text(text)
    monkeypatch.setattr(reading, "RANGE_BYTES", 300)
    for pool in (None, ThreadPoolExecutor(2)):
        files = AnswerFiles([read_answers(tmp_path / name) for name in lines], pool)
        assert read_all(files)[0].height == 20
        assert {number: error.message.partition(";")[0] for number, error in files.empty.items()} == {
            1: "no predictions in it", 2: "no record with an answer",
        }  # fmt: skip
        with pytest.raises(ScoreError) as caught:
            read_all(AnswerFiles([read_answers(tmp_path / name) for name in list(lines)[1:]], pool))
        shown = str(caught.value).splitlines()
        assert shown[0] == "none of 2 files holds an answer:"
        assert [line.split(": ")[0] for line in shown[1:]] == [f"  {tmp_path / name}" for name in list(lines)[1:]]
        with pytest.raises(ScoreError, match=r"errors.jsonl: no predictions in it"):
            read_all(AnswerFiles([read_answers(tmp_path / "errors.jsonl")], pool))


@pytest.mark.slow
def test_several_processes_produce_the_same_report(write_lines: WriteLines, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = made(40)
    dataset, answers = write_lines("rows.jsonl", rows), write_lines("answers.jsonl", right(rows))
    alone = evaluate(dataset, answers)
    monkeypatch.setattr(reading, "RANGE_BYTES", 300)
    monkeypatch.setattr("niah_score.evaluation.PARALLEL_BYTES", 1)
    asked: list[int] = []

    def counted(jobs: int, *arguments: Any, **more: Any) -> AbstractContextManager[Workers]:
        asked.append(jobs)
        return processes(jobs, *arguments, **more)

    monkeypatch.setattr("niah_score.evaluation.processes", counted)
    together = evaluate(dataset, answers, jobs=2)
    assert asked == [2]
    assert together.scores.equals(alone.scores)
    assert together.lines == alone.lines


def test_little_work_or_a_single_job_starts_no_processes(
    write_lines: WriteLines, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("processes were started")

    monkeypatch.setattr("niah_score.evaluation.processes", refuse)
    rows = made(4)
    dataset, answers = write_lines("rows.jsonl", rows), write_lines("answers.jsonl", right(rows))
    for jobs, least in ((1, 1), (2, answers.stat().st_size + 1)):
        monkeypatch.setattr("niah_score.evaluation.PARALLEL_BYTES", least)
        assert evaluate(dataset, answers, jobs=jobs).scores.height == 4


@pytest.mark.parametrize("field", ["prediction", "reasoning"])
def test_batches_hold_fewer_answers_if_their_texts_or_reasoning_are_long(
    field: str, write_lines: WriteLines, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, "_BATCH", 640)
    monkeypatch.setattr(reading, "_BATCH_BYTES", 25_000)
    answers = [{"id": str(number), "prediction": "x", field: "x" * 1000} for number in range(60)]
    heights = [batch.frame.height for batch in AnswerFiles([read_answers(write_lines("a.jsonl", answers))], None)]
    assert heights == [25, 25, 10]
