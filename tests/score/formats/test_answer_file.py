"""An answer file is opened only once, and its format is recognised or given by name."""

from __future__ import annotations

import builtins
import gzip
import io
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zstandard
from answer_files import Read, ReadRecords, only
from each import each

from niah_score.errors import ScoreError
from niah_score.formats import FORMATS, Answer, read_answers, read_lines
from niah_score.formats.containers import streams
from niah_score.formats.record import NoAnswersError

EXAMPLES = sorted((Path(__file__).parent / "examples").iterdir())
Opened = list[io.IOBase]


@pytest.fixture
def openings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Opened]:
    """The files below the test's own folder that Python opens, in order."""
    opened: Opened = []
    plain_open = io.open

    def counting(file: Any, *args: Any, **options: Any) -> Any:
        stream = plain_open(file, *args, **options)
        if isinstance(file, str | Path) and Path(file).is_relative_to(tmp_path):
            opened.append(stream)
        return stream

    with monkeypatch.context() as patch:
        patch.setattr(builtins, "open", counting)
        patch.setattr(io, "open", counting)
        yield opened


@pytest.fixture
def vanishing(openings: Opened, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Deletes files below the test's own folder once they are open for reading, so that no library can reopen them."""
    counting = builtins.open

    def opening(path: Any, *args: Any, **options: Any) -> Any:
        stream = counting(path, *args, **options)
        if stream.mode == "rb" and Path(path).is_relative_to(tmp_path):
            Path(path).unlink()
        return stream

    monkeypatch.setattr(builtins, "open", opening)


def format_and_records(path: Path, **options: str) -> tuple[str, list[Any]]:
    """The format of a file and its records."""
    file = read_answers(path, **options)
    records = list(file)
    return file.format, records


@pytest.mark.usefixtures("vanishing")
@pytest.mark.parametrize(
    ("example", "packed"),
    [
        pytest.param(path, pack, id=f"{path.name}-{number}")
        for path in EXAMPLES
        for number, pack in enumerate((bytes, gzip.compress, zstandard.compress))
        if path.suffix != ".parquet" and (pack is bytes or path.suffix != ".eval")
    ],
)
def test_a_file_is_opened_once_to_recognise_and_read_it(
    tmp_path: Path, openings: Opened, example: Path, packed: Callable[[bytes], bytes]
) -> None:
    path = tmp_path / "answers"
    path.write_bytes(packed(example.read_bytes()))
    openings.clear()
    name, records = format_and_records(path)
    assert name in FORMATS
    assert len([record for record in records if isinstance(record, Answer)]) == 6
    assert len(openings) == 1
    assert openings[0].closed


PAD = "x" * 1000
LATE: dict[str, tuple[str, int, list[Any]]] = {
    "the first answer comes late": ("plain", 1501, [{"note": PAD}] * 1500 + [{"id": "a", "prediction": "b"}]),
    "a first line of megabytes": (
        "plain",
        2,
        [{"id": "a", "prediction": PAD * 3000}, {"id": "b", "prediction": "c"}],
    ),
    "the filter that counts comes late": (
        "lm-eval",
        1,
        [
            {"doc_id": 1, "doc": {"id": "a"}, "resps": [[PAD]], "filtered_resps": [PAD], "filter": name}
            for name in ["strict"] * 1500 + ["none"]
        ],
    ),
}


@pytest.mark.usefixtures("vanishing")
@pytest.mark.parametrize("case", LATE)
def test_clues_to_the_format_beyond_the_head_need_no_second_opening(
    tmp_path: Path, openings: Opened, case: str
) -> None:
    name, count, records = LATE[case]
    path = tmp_path / "answers"
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    openings.clear()
    actual = format_and_records(path)
    assert (actual[0], len(actual[1]), len(openings)) == (name, count, 1)
    assert isinstance(actual[1][-1], Answer)


@pytest.mark.usefixtures("vanishing")
def test_a_document_reparsed_for_long_ids_is_opened_once(tmp_path: Path, openings: Opened) -> None:
    path = tmp_path / "answers"
    path.write_text(json.dumps([{"id": 10**30 + number, "prediction": PAD} for number in range(2000)]))
    openings.clear()
    assert [record.id for record in format_and_records(path)[1]] == [str(10**30 + number) for number in range(2000)]
    assert len(openings) == 1


def test_a_second_iteration_and_a_range_of_lines_open_the_file_again(tmp_path: Path, openings: Opened) -> None:
    path = tmp_path / "answers"
    path.write_text('{"id": "a", "prediction": "b"}\n')
    openings.clear()
    file = read_answers(path)
    assert list(file) == list(file)
    assert len(openings) == 2
    assert list(read_lines(path, 0, path.stat().st_size, format="plain")) == list(file)
    assert len(openings) == 4
    assert all(stream.closed for stream in openings)


def test_abandoning_an_iteration_closes_the_file(tmp_path: Path, openings: Opened) -> None:
    path = tmp_path / "answers"
    path.write_text('{"id": "a", "prediction": "b"}\n' * 2)
    openings.clear()
    records = iter(read_answers(path))
    next(records)
    assert not openings[0].closed
    records.close()  # type: ignore[attr-defined]
    assert openings[0].closed


@each("size", [64, 200, 1000])
@each("example", [path for path in EXAMPLES if path.suffix in (".jsonl", ".json")])
def test_records_do_not_depend_on_where_the_head_and_the_chunks_end(
    example: Path, size: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = format_and_records(example)
    path = tmp_path / "answers"
    monkeypatch.setattr(streams, "_CHUNK", size)
    for packed in (bytes, gzip.compress, zstandard.compress):
        path.write_bytes(packed(b"\xef\xbb\xbf" + example.read_bytes()))
        assert format_and_records(path) == expected


@pytest.mark.parametrize("data", ["", "\n", " \r\n\t\n", "\ufeff", "[]", '{"args": {}, "data": []}', "id,prediction\n"])
def test_a_file_without_predictions_is_reported(read: Read, data: str) -> None:
    with pytest.raises(ScoreError, match="no predictions in it"):
        read(data)


def test_an_empty_file_is_reported_even_if_compressed_or_of_a_named_format(read: Read) -> None:
    for data in (gzip.compress(b""), zstandard.compress(b"")):
        with pytest.raises(ScoreError, match="no predictions in it"):
            read(data)
    for name in ("plain", "csv", "opencompass"):
        with pytest.raises(ScoreError, match="no predictions in it"):
            read("\n", format=name)


def test_intact_files_without_answers_are_distinguished_from_broken_files(read: Read) -> None:
    requests = '{"custom_id": "a", "method": "POST", "url": "/v1/chat/completions", "body": {"messages": []}}\n'
    results = json.dumps({"results": {"niah": {"keyword,none": 0.5}}, "config": {}}, indent=2)
    unanswered = json.dumps({"version": 2, "status": "error", "eval": {}, "samples": None}, indent=2)
    table = pa.BufferOutputStream()
    pq.write_table(pa.table({"id": ["a"], "prompt": ["p"]}), table)
    whole = ["", "[]", requests, results, results.replace("\n", ""), unanswered, "length,depth,score\n1,2,3\n",
             "id,prediction\n", table.getvalue().to_pybytes()]  # fmt: skip
    for data in whole:
        with pytest.raises(NoAnswersError):
            read(data)
    for data in (requests + '{"custom', results[:-1], b"PAR1", gzip.compress(requests.encode())[:-1], b"\xff\xfea\0"):
        with pytest.raises(ScoreError) as caught:
            read(data)
        assert not isinstance(caught.value, NoAnswersError)


def test_the_format_may_be_given_by_name(read_records: ReadRecords, tmp_path: Path) -> None:
    line = {"id": "x", "pred": "42", "outputs": ["42"]}
    assert only(read_records(line)).reference == ("42",)
    assert only(read_records(line, format="plain")).reference is None
    with pytest.raises(ScoreError, match="format 'plane' is not known; did you mean 'plain'"):
        read_records(line, format="plane")
    with pytest.raises(ScoreError, match="JSON, but format 'inspect-eval' is a zip"):
        read_records(line, format="inspect-eval")
    path = tmp_path / "t.csv"
    path.write_text("id,prediction\nx,y\n")
    with pytest.raises(ScoreError, match=":1: the header has no column with the answer's text"):
        list(read_answers(path, format="tsv"))
    pq.write_table(pa.table({"id": ["x"], "prediction": ["y"]}), path)
    with pytest.raises(ScoreError, match="Parquet, but format 'csv' is CSV or TSV"):
        list(read_answers(path, format="csv"))
