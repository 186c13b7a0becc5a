"""Parquet: columns of the right types, pages that are intact, and memory within bounds."""

from __future__ import annotations

import io
import tracemalloc
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from answer_files import Write, only, parquet, parquet_bomb

from niah_score.errors import ScoreError
from niah_score.formats import Answer, Malformed, read_answers


def test_damaged_parquet_is_an_error(write: Write) -> None:
    data = parquet()
    for broken in (data[: len(data) // 2], data[:-4], data + b"tail", b"PAR1" + bytes(len(data)), b"PAR1"):
        with pytest.raises(ScoreError, match="damaged or cut off"):
            list(read_answers(write(broken)))


def test_no_flipped_bit_of_a_data_page_goes_unseen(write: Write) -> None:
    data = parquet()
    whole = list(read_answers(write(data)))
    end = len(data) - 8 - int.from_bytes(data[-8:-4], "little")
    unseen = 0
    for place in range(4, end, 11):
        flipped = bytearray(data)
        flipped[place] ^= 1 << place % 8
        try:
            unseen += list(read_answers(write(bytes(flipped)))) != whole
        except ScoreError:
            continue
    assert unseen == 0


def test_a_parquet_of_many_copies_of_one_text_is_read_without_making_them_all(write: Write) -> None:
    path = write(parquet_bomb(1_000_000, 1000))
    assert path.stat().st_size < 2000
    tracemalloc.start()
    before = pa.total_allocated_bytes()
    read = 0
    try:
        for record in read_answers(path):
            assert isinstance(record, Answer)
            read += len(record.text or "")
            assert pa.total_allocated_bytes() - before < 64_000_000
    finally:
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert read == 10**9
    assert peak < 64_000_000


@pytest.mark.parametrize(
    ("column", "named"),
    [
        (pa.array([1.5]), "column 'id' is double"),
        (pa.array([b"x"]), "column 'id' is binary"),
        (pa.array([True]), "column 'id' is bool"),
    ],
)
def test_parquet_ids_of_other_types_are_refused(write: Write, column: pa.Array, named: str) -> None:
    sink = io.BytesIO()
    pq.write_table(pa.table({"id": column, "prediction": ["x"]}), sink)
    with pytest.raises(ScoreError, match=named):
        list(read_answers(write(sink.getvalue())))


def test_parquet_texts_of_other_types_are_refused(write: Write) -> None:
    sink = io.BytesIO()
    pq.write_table(pa.table({"id": ["a"], "prediction": [1]}), sink)
    with pytest.raises(ScoreError, match="the answer is not text: column 'prediction' is int64"):
        list(read_answers(write(sink.getvalue())))


def test_parquet_texts_that_are_not_utf8_are_refused(write: Write) -> None:
    sink = io.BytesIO()
    raw = pa.array([b"caf\xe9"]).cast(pa.binary())
    text = pa.StringArray.from_buffers(1, raw.buffers()[1], raw.buffers()[2])
    pq.write_table(pa.table({"id": ["a"], "prediction": text}), sink)
    with pytest.raises(ScoreError, match="not UTF-8"):
        list(read_answers(write(sink.getvalue())))


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.dictionary(pa.int32(), pa.string())])
def test_parquet_texts_of_every_kind(tmp_path: Path, kind: pa.DataType) -> None:
    path = tmp_path / "t"
    columns = {"id": pa.array(["001", "2", None]).cast(kind), "prediction": pa.array(["a", None, "c"]).cast(kind)}
    pq.write_table(pa.table(columns), path)
    found = list(read_answers(path))
    assert [(r.id, r.text) for r in found if isinstance(r, Answer)] == [("001", "a"), ("2", None)]
    assert isinstance(found[2], Malformed)
    assert found[2].message.startswith("id is null")


def test_parquet_integers_and_chats(tmp_path: Path) -> None:
    path = tmp_path / "t"
    chats = [[{"role": "user", "content": "q"}, {"role": "assistant", "content": "a"}]]
    pq.write_table(pa.table({"idx": pa.array([2**64 - 1], pa.uint64()), "generated_text": chats}), path)
    answer = only(list(read_answers(path)))
    assert (answer.id, answer.text) == (str(2**64 - 1), "a")
