"""CSV, TSV and Parquet: every field stays as it is, every fault is reported with its line, and memory is bounded."""

from __future__ import annotations

import io
import tracemalloc
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from answer_files import Read, Write, only, parquet, parquet_bomb, problem, texts

from niah_score.contract import prompt_digest
from niah_score.errors import ResourceError, ScoreError
from niah_score.formats import Answer, Malformed, read_answers, tables


def table(*rows: str) -> str:
    return "\n".join(["id,prediction", *rows, ""])


def test_ids_and_texts_of_tables_stay_as_they_are(read: Read) -> None:
    assert texts(read(table("001, x ", " 7 ,1.50"))) == {"001": " x ", " 7 ": "1.50"}
    assert texts(read(table('a,""', "b,"))) == {"a": "", "b": ""}
    for separator in ";\t":
        assert texts(read(table("a,x").replace(",", separator))) == {"a": "x"}


def test_a_quote_that_is_never_closed_is_reported_where_its_row_begins(read: Read) -> None:
    assert "close every quote" in problem(read(table("good,42", "good,42", 'a,"x', "b,y", "c,z")), line=4)


def test_rows_with_misplaced_quotes_or_another_number_of_columns_are_malformed(read: Read) -> None:
    for row, message in (
        ('a,"x"y', "not CSV"), ('a,"x" ', "not CSV"), ("a,x\ry", "not CSV"), ("a,x,y", "3 columns, the header has 2"),
        ("a", "1 columns"), ("a,b,", "3 columns"),
    ):  # fmt: skip
        assert message in problem(read(table("good,42", row, "good,42")), line=3)


def test_quoted_texts_may_contain_separators_quotes_and_line_ends(read: Read) -> None:
    records = read('id;prediction\r\n"a";"x;""y""\r\n\nz"\r\nb;w"w"\r\n \r\nc;v\r\r\n')
    assert texts(records) == {"a": 'x;"y"\r\n\nz', "b": 'w"w"', "c": "v"}
    assert [record.line for record in records] == [2, 5, 7]


def test_headers_with_a_column_twice_are_errors(read: Read) -> None:
    with pytest.raises(ScoreError, match="column 'prediction' appears twice"):
        read("id,prediction,prediction\na,x,y\n")


def test_long_fields_and_late_texts_are_read_up_to_a_limit(read: Read, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [f"{number},{number}" for number in range(2000)] + ["x,late", 'y,"' + "z" * 1_000_000 + '"']
    answers = texts(read(table(*rows)))
    assert (answers["x"], answers["1999"], len(answers["y"] or "")) == ("late", "1999", 1_000_000)
    monkeypatch.setattr(tables, "MAX_LINE", 3_000_000)
    with pytest.raises(ResourceError, match=r":2: a text of more than .* never be closed"):
        read('id,prediction\na,"' + "x\n" * 4_000_000)


# Parquet --------------------------------------------------------------------------------------------------------------


def written(columns: dict[str, Any], **options: Any) -> bytes:
    """A Parquet file of some columns."""
    sink = io.BytesIO()
    pq.write_table(pa.table(columns), sink, **options)
    return sink.getvalue()


def test_damaged_parquet_is_an_error(write: Write) -> None:
    data = parquet()
    for broken in (data[: len(data) // 2], data[:-4], data + b"tail", b"PAR1" + bytes(len(data)), b"PAR1"):
        with pytest.raises(ScoreError, match="damaged or cut off"):
            list(read_answers(write(broken)))


def test_flipped_bits_in_data_pages_never_go_unnoticed(write: Write) -> None:
    data = parquet()
    whole = list(read_answers(write(data)))
    end = len(data) - 8 - int.from_bytes(data[-8:-4], "little")
    unseen = 0
    for place in range(4, end, 29):
        flipped = bytearray(data)
        flipped[place] ^= 1 << place % 8
        try:
            unseen += list(read_answers(write(bytes(flipped)))) != whole
        except ScoreError:
            continue
    assert unseen == 0


def test_many_copies_of_one_text_are_refused_without_holding_them_all_in_memory(write: Write) -> None:
    for size, rows in ((1_000_000, 1000), (70_000_000, 1)):
        path = write(parquet_bomb(size, rows))
        assert path.stat().st_size < 60_000
        before = pa.total_allocated_bytes()
        tracemalloc.start()
        with pytest.raises(ResourceError, match="unpacks to more than 1000 times"):
            list(read_answers(path))
        assert tracemalloc.get_traced_memory()[1] < 150_000_000
        assert pa.total_allocated_bytes() - before < 600_000_000
        tracemalloc.stop()


def test_texts_that_repeat_are_no_bomb_and_prompts_beside_ids_are_read_a_few_at_a_time(tmp_path: Path) -> None:
    path = tmp_path / "t"
    names = [f"52c3b6fc-en_essays-1000-d0500-velden-archive-r{number}-b1cdb100c5bb" for number in range(40_000)]
    predictions = [f"It is drawer {number % 997}, next to the archive of the town hall." for number in range(40_000)]
    path.write_bytes(written({"id": names, "prediction": predictions}, compression="zstd"))
    assert path.stat().st_size < 100_000
    assert len(list(read_answers(path))) == 40_000
    prompts = [Random(number).randbytes(100_000).hex() for number in range(40)]
    columns = {"id": names[:40], "prompt": prompts, "output": ["y"] * 40}
    path.write_bytes(written(columns, row_group_size=4))
    digests = [record.prompt_sha256 for record in read_answers(path) if isinstance(record, Answer)]
    assert digests == [prompt_digest(prompt) for prompt in prompts]


def test_ids_and_texts_of_other_types_are_malformed_or_refused(write: Write) -> None:
    raw = pa.array([b"caf\xe9"]).cast(pa.binary())
    latin = pa.StringArray.from_buffers(1, raw.buffers()[1], raw.buffers()[2])
    for columns, message in (
        ({"id": [1.5], "prediction": ["x"]}, "id is 1.5"),
        ({"id": [b"x"], "prediction": ["x"]}, "id is b'x'"),
        ({"id": [True], "prediction": ["x"]}, "id is True"),
        ({"id": ["a"], "prediction": [1]}, "the answer is not text: prediction is 1"),
    ):
        (record,) = read_answers(write(written(columns)))
        assert isinstance(record, Malformed)
        assert record.message.startswith(message)
    odd = {"id": ["a"], "prediction": ["x"], "error": [{"at": b"x"}]}
    assert only(list(read_answers(write(written(odd))))).text == "x"
    never = pa.array([10**16], pa.timestamp("ms"))
    for columns in ({"id": ["a"], "prediction": latin}, {"id": ["a"], "prediction": ["x"], "finish_reason": never}):
        with pytest.raises(ScoreError, match="damaged or cut off"):
            list(read_answers(write(written(columns))))


def test_texts_of_every_string_type_integer_ids_and_chats_are_read(write: Write) -> None:
    for kind in (pa.string(), pa.large_string(), pa.dictionary(pa.int32(), pa.string())):
        columns = {"id": pa.array(["001", "2", None]).cast(kind), "prediction": pa.array(["a", None, "c"]).cast(kind)}
        records = list(read_answers(write(written(columns))))
        assert [(r.id, r.text) for r in records if isinstance(r, Answer)] == [("001", "a"), ("2", None)]
        assert isinstance(records[2], Malformed)
        assert records[2].message.startswith("id is None")
    chats = [[{"role": "user", "content": "q"}, {"role": "assistant", "content": "a"}]]
    columns = {"idx": pa.array([2**64 - 1], pa.uint64()), "generated_text": chats}
    answer = only(list(read_answers(write(written(columns)))))
    assert (answer.id, answer.text) == (str(2**64 - 1), "a")


def test_rows_of_a_table_without_ids_are_identified_by_prompt_or_order(read: Read) -> None:
    assert only(read(written({"prompt": ["p"], "output": ["y"]}))).prompt_sha256 == prompt_digest("p")
    records = read(written({"output": ["y", "z"]}))
    assert [(r.id, r.position) for r in records if isinstance(r, Answer)] == [(None, 0), (None, 1)]
