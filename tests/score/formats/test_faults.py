"""Broken and odd files: each fault is told by its line and field, and takes no other answer with it.

Numbers are those of the fault table that these readers were written against.
"""

from __future__ import annotations

import gzip
import io
import json
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zstandard

from niah_score.errors import ResourceError, ScoreError
from niah_score.formats import Answer, LineError, Malformed, read_answers, read_lines
from niah_score.formats.containers import separated, streams

Read = Callable[..., list[Answer | Malformed]]
Write = Callable[[bytes | str], Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def write(data: bytes | str) -> Path:
        path = tmp_path / "answers"
        path.write_bytes(data.encode() if isinstance(data, str) else data)
        return path

    return write


@pytest.fixture
def read(write: Write) -> Read:
    def read(data: bytes | str, **options: str) -> list[Answer | Malformed]:
        return list(read_answers(write(data), **options))

    return read


GOOD = '{"id": "good", "prediction": "42"}\n'


def texts(records: list[Answer | Malformed]) -> dict[str | None, str | None]:
    assert all(isinstance(record, Answer) for record in records), records
    return {record.id: record.text for record in records if isinstance(record, Answer)}


def problem(records: list[Answer | Malformed], line: int = 2) -> str:
    """The message of the one Malformed, whose neighbours are intact."""
    (found,) = [record for record in records if isinstance(record, Malformed)]
    assert found.line == line
    assert [record.id for record in records if isinstance(record, Answer)] == ["good"] * (len(records) - 1)
    assert len(records) > 1
    return found.message


def between(line: str) -> str:
    return GOOD + line + "\n" + GOOD


# A: JSON


@pytest.mark.parametrize(
    "line",
    [
        '{"id": "a", "prediction": "x", "prediction": "y"}',
        '{"id": "a", "id": "b", "prediction": "x"}',
        '{"id": "a", "prediction" : "x", "prediction": "y: \\":"}',
        '{"id": "a", "prediction": "\\u003a\\u0022:", "prediction"\t:"z"}',
        '{"id": "a", "prediction": ":", "prediction": "y"}',
        '{"id": "a", "prediction": "x", "usage": {"n": 1, "n": 2}}',
        '{"id": "a", "prediction": "x", "predictio\\u006e": "y"}',
        '{"id": "a", "prediction": [{"type": "text", "text": "x", "text": "y"}]}',
    ],
)
def test_1_a_key_twice_is_malformed_not_the_last_one(read: Read, line: str) -> None:
    assert "twice" in problem(read(between(line)))
    array = "[" + ",".join([GOOD, line, GOOD]) + "]"
    assert "twice" in problem(read(array))


def test_1_a_key_twice_in_a_batch_line(read: Read) -> None:
    choice = '{"message": {"content": "42"}, "finish_reason": null}'
    good = '{"custom_id": "good", "response": {"body": {"choices": [' + choice + "]}}}\n"
    bad = good.replace('"content": "42"', '"content": "42", "content": "43"')
    assert "'content' stands twice" in problem(read(good + bad + good))


def test_1_a_key_twice_at_the_top_of_a_document_ends_it(read: Read) -> None:
    shard = '{\n"0": {"origin_prompt": "p", "prediction": "a"},\n"0": {"origin_prompt": "p", "prediction": "b"}\n}'
    with pytest.raises(ScoreError, match="key '0' stands twice"):
        read(shard)


@pytest.mark.parametrize("form", ["lines", "array"])
def test_2_half_of_a_surrogate_pair_becomes_the_replacement_character(read: Read, form: str) -> None:
    line = '{"id": "a\\udc00", "prediction": "x\\ud800y \\ud83d\\ude42", "reasoning": "\\udfff"}'
    (found,) = read(line + "\n" if form == "lines" else f"[\n{line}]")
    assert isinstance(found, Answer)
    assert (found.id, found.text, found.reasoning) == ("a\ufffd", "x\ufffdy 🙂", "\ufffd")


def test_3_bytes_that_are_not_utf8_are_named_with_line_and_byte(write: Write) -> None:
    data = GOOD.encode() + b'{"id": "a", "prediction": "caf\xe9"}\n' + GOOD.encode()
    path = write(data)
    with pytest.raises(LineError, match=r"answers:2: byte 31 \(0xe9\) is not UTF-8") as caught:
        list(read_answers(path))
    assert caught.value.exit_code == 2
    with pytest.raises(LineError) as ranged:
        list(read_lines(path, len(GOOD), len(data), format="plain"))
    assert ranged.value.line == 1
    assert str(ranged.value.after(1)) == str(caught.value)
    with pytest.raises(LineError, match=r":3: byte 32 \(0xe9\)"):
        list(read_answers(write(b"[\n" + GOOD.encode() + b',{"id": "a", "prediction": "caf\xe9"}]')))
    with pytest.raises(LineError, match=r":2: byte 6 \(0xe9\)"):
        list(read_answers(write(b"id,prediction\na,caf\xe9\n")))


def test_4_a_byte_order_mark_is_accepted(read: Read) -> None:
    assert texts(read("\ufeff" + GOOD)) == {"good": "42"}
    assert texts(read("\ufeffid,prediction\ngood,42\n")) == {"good": "42"}
    assert texts(read("\ufeff[" + GOOD + "]")) == {"good": "42"}


def test_4_also_by_ranges(write: Write) -> None:
    path = write("\ufeff" + GOOD + GOOD)
    assert len(list(read_lines(path, 0, 3 + len(GOOD), format="plain"))) == 1


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-32"])
def test_5_utf16_is_named(read: Read, encoding: str) -> None:
    with pytest.raises(ScoreError, match=r"UTF-16 or binary; save the file as UTF-8"):
        read(GOOD.encode(encoding))


def test_6_nul_is_kept_where_escaped_and_malformed_where_raw(read: Read) -> None:
    assert texts(read('{"id": "a", "prediction": "x\\u0000y"}')) == {"a": "x\0y"}
    assert "Invalid control character" in problem(read(between('{"id": "a", "prediction": "x\0y"}')))


@pytest.mark.parametrize("value", ["NaN", "Infinity", "-Infinity", "1e999", "1.5", "0", "true", "false", "{}", '["x"]'])
def test_7_and_12_what_is_not_text_is_malformed(read: Read, value: str) -> None:
    message = problem(read(between(f'{{"id": "a", "prediction": {value}}}')))
    assert message.startswith("the answer is not text: prediction is ")


def test_7_nan_elsewhere_is_nobodys_business(read: Read) -> None:
    assert texts(read('{"id": "a", "prediction": "x", "score": NaN}')) == {"a": "x"}


def test_8_and_9_integer_ids_are_their_digits_and_001_stays(read: Read) -> None:
    lines = [1, "1", "001", -7]
    found = read("".join(json.dumps({"id": name, "prediction": "x"}) + "\n" for name in lines))
    assert [record.id for record in found if isinstance(record, Answer)] == ["1", "1", "001", "-7"]


@pytest.mark.parametrize("number", [2**53 + 1, 2**63, 2**64 - 1, 2**64 + 1, -(2**63) - 1, 10**40])
def test_10_large_integer_ids_are_exact(read: Read, number: int) -> None:
    record = {"id": number, "prediction": "x"}
    assert texts(read(json.dumps(record) + "\n" + GOOD)) == {str(number): "x", "good": "42"}
    assert texts(read(json.dumps([{"id": "good", "prediction": "42"}, record]))) == {str(number): "x", "good": "42"}
    assert texts(read(json.dumps({"uid": {"n": number}, "prediction": "x"}), id_field="uid.n")) == {str(number): "x"}


@pytest.mark.parametrize("value", ["null", "true", "1.5", "1e3", '""', "[]", "{}", "NaN"])
def test_10_and_47_what_is_no_id_is_malformed(read: Read, value: str) -> None:
    assert problem(read(between(f'{{"id": {value}, "prediction": "x"}}'))).startswith("id is ")


def test_11_an_id_like_a_date_is_text(read: Read) -> None:
    assert texts(read('{"id": "2024-01-01", "prediction": "2024-01-01"}')) == {"2024-01-01": "2024-01-01"}


def test_12_null_is_no_answer_and_parts_are_joined(read: Read) -> None:
    parts = [{"type": "text", "text": "a"}, {"type": "image_url", "image_url": {}}, {"type": "text", "text": "b"}]
    chat = [{"role": "assistant", "content": "no"}, {"role": "assistant", "content": parts}, {"role": "user"}]
    values = {"n": None, "p": parts, "e": [], "c": chat}
    lines = "".join(json.dumps({"id": name, "prediction": value}) + "\n" for name, value in values.items())
    assert texts(read(lines)) == {"n": None, "p": "ab", "e": "", "c": "ab"}


@pytest.mark.parametrize(
    "value", ['[{"role": "user", "content": "x"}]', '[{"type": "text"}]', '["x", {"type": "text"}]']
)
def test_12_lists_without_an_answer_are_malformed(read: Read, value: str) -> None:
    assert "the answer is not text" in problem(read(between(f'{{"id": "a", "prediction": {value}}}')))


def test_13_a_field_that_first_appears_after_many_rows_is_found(read: Read) -> None:
    lines = [json.dumps({"id": str(number)}) for number in range(200)] + ['{"id": "late", "output": "x"}']
    found = read("\n".join(lines))
    assert [record for record in found if isinstance(record, Answer)] == [
        Answer("late", "x", None, "", None, None, None, 0, 201, None)
    ]
    assert len(found) == 201


def test_14_a_record_without_text_is_told_by_its_id(read: Read) -> None:
    message = problem(read(between('{"id": "a\\u001b[31m"}')))
    assert message.startswith("the record of id 'a\\x1b[31m' has no field with the answer's text")


@pytest.mark.parametrize(
    "cut", ['{"id": "a", "predic', '{"id": "a", "prediction": "é'.encode()[:-1], "{", '{"id": "a"']
)
def test_15_a_truncated_last_line_leaves_the_rest(read: Read, cut: bytes | str) -> None:
    data = GOOD.encode() + (cut if isinstance(cut, bytes) else cut.encode())
    assert problem(read(data)).startswith("the line breaks off in the middle of a record")


def test_15_a_whole_last_line_needs_no_line_feed(read: Read) -> None:
    assert texts(read(GOOD.rstrip())) == {"good": "42"}


def test_15_nothing_but_a_truncated_line_is_an_error(read: Read) -> None:
    with pytest.raises(ScoreError, match=r"no record with an answer; line 1: not JSON"):
        read('{"id": "a", "predic')


def test_17_blank_lines_line_ends_and_spaces_are_accepted_and_lines_still_counted(read: Read) -> None:
    found = read("\r\n\n" + GOOD.replace("\n", "  \r\n") + "   \n\t\n" + GOOD)
    assert [record.line for record in found] == [3, 6]
    assert texts(found) == {"good": "42"}


def test_18_only_a_line_feed_ends_a_line(read: Read) -> None:
    text = "a\u2028b\u2029c\x85d\x0be\x0cf\x1cg"
    assert texts(read(json.dumps({"id": "a", "prediction": text}, ensure_ascii=False))) == {"a": text}


def test_19_arrays_are_accepted_and_numbered_by_record(read: Read) -> None:
    found = read("[\n\n" + ",\n".join([GOOD, "17", GOOD]) + "]")
    assert "not a JSON object" in problem(found)


def test_19_one_object_over_lines_is_told(read: Read) -> None:
    with pytest.raises(ScoreError, match=r"one JSON object over several lines.*jq -c"):
        read(json.dumps({"id": "a", "prediction": "x"}, indent=2))


def test_19_objects_without_a_line_feed_between_are_told(read: Read) -> None:
    assert "after a whole value something follows at character 35" in problem(read(between(GOOD.strip() * 2)))
    with pytest.raises(ScoreError, match="after a whole value something follows"):
        read(GOOD.strip() * 2)


@pytest.mark.parametrize("line", ["17", '"x"', "[1]", "null"])
def test_19_a_line_that_is_no_object_is_malformed(read: Read, line: str) -> None:
    assert problem(read(between(line))) == "not a JSON object; expected one object a record"


@pytest.mark.parametrize("depth", [65, 300, 1_000, 2_000, 100_000])
@pytest.mark.parametrize("pair", ["[]", "{}"])
def test_20_deep_nesting_is_malformed(read: Read, depth: int, pair: str) -> None:
    deep = "[" * depth + "]" * depth if pair == "[]" else '{"a":' * depth + "1" + "}" * depth
    message = problem(read(between(f'{{"id": "a", "prediction": "x", "more": {deep}}}')))
    assert message.startswith("nesting deeper than 64")


def test_20_brackets_in_a_text_are_no_nesting(read: Read) -> None:
    text = "[{" * 5000
    assert texts(read(json.dumps({"id": "a", "prediction": text}) + "\n")) == {"a": text}
    near = json.loads("[" * 62 + "]" * 62)
    assert texts(read(json.dumps({"id": "a", "prediction": "x", "more": near}))) == {"a": "x"}


def test_20_deep_documents_are_refused(read: Read) -> None:
    with pytest.raises(ScoreError, match="nesting deeper than 64"):
        read("[" * 100_000)


def test_21_a_number_of_thousands_of_digits_is_malformed(read: Read) -> None:
    assert "thousands of digits" in problem(read(between(f'{{"id": {"7" * 5000}, "prediction": "x"}}')))
    assert "thousands of digits" in problem(read(between(f'{{"id": "a", "prediction": {"7" * 5000}}}')))


def test_22_a_long_line_is_accepted(read: Read) -> None:
    text = "x" * 4_000_000
    assert texts(read(GOOD + json.dumps({"id": "a", "prediction": text}) + "\n" + GOOD)) == {"good": "42", "a": text}


def test_23_lines_beyond_the_cap_are_malformed_and_the_rest_is_read(
    read: Read, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (streams, separated):
        monkeypatch.setattr(module, "MAX_LINE", 3_000_000)
    long = json.dumps({"id": "a", "prediction": "x" * 4_000_000})
    assert "longer than" in problem(read(between(long)))
    assert "longer than" in problem(read(GOOD + long))
    with pytest.raises(ResourceError, match=":2: a line of more than"):
        read("id,prediction\na," + "x" * 4_000_000)
    with pytest.raises(ResourceError, match=r":2: a row of more than .* never be closed"):
        read('id,prediction\na,"' + "x\n" * 4_000_000)


@pytest.mark.parametrize("data", ["", "\n", " \r\n\t\n", "\ufeff", "[]", '{"args": {}, "data": []}', "id,prediction\n"])
def test_24_a_file_without_predictions_is_told(read: Read, data: str) -> None:
    with pytest.raises(ScoreError, match="no predictions in it"):
        read(data)


def test_24_also_compressed_and_with_a_format_named(read: Read) -> None:
    for data in (gzip.compress(b""), zstandard.compress(b"")):
        with pytest.raises(ScoreError, match="no predictions in it"):
            read(data)
    for name in ("plain", "csv", "opencompass"):
        with pytest.raises(ScoreError, match="no predictions in it"):
            read("\n", format=name)


# B: tables and compression


def table(*rows: str) -> str:
    return "\n".join(["id,prediction", *rows, ""])


@pytest.mark.parametrize("name", ["001", "1e5", "12E3", "true", "98765432109876543210", "NA", " 7 "])
def test_26_and_27_ids_of_tables_stay_as_they_are(read: Read, name: str) -> None:
    assert texts(read(table(f"{name},x"))) == {name: "x"}


@pytest.mark.parametrize("text", ["NA", "null", "None", "nan", "N/A", "1.50", " x "])
def test_28_texts_of_tables_stay_as_they_are(read: Read, text: str) -> None:
    assert texts(read(table(f"a,{text}"))) == {"a": text}


def test_28_an_empty_field_is_an_empty_answer_quoted_or_not(read: Read) -> None:
    assert texts(read(table('a,""', "b,"))) == {"a": "", "b": ""}


def test_29_an_unclosed_quote_is_told_at_the_line_that_opens_it(read: Read) -> None:
    found = read(table("good,42", "good,42", 'a,"x', "b,y", "c,z"))
    message = problem(found, line=4)
    assert "the quote that opens column 2 is never closed" in message


@pytest.mark.parametrize("row", ['a,x"y"', 'a,"x"y', 'a"b,x', 'a,"x" '])
def test_29_a_quote_out_of_place_is_malformed(read: Read, row: str) -> None:
    assert "quote" in problem(read(table("good,42", row, "good,42")), line=3)


def test_29_quoted_texts_hold_separators_quotes_and_line_ends(read: Read) -> None:
    found = read('id;prediction\r\n"a";"x;""y""\r\n\nz"\r\nb;w\r\n')
    assert texts(found) == {"a": 'x;"y"\r\n\nz', "b": "w"}
    assert [record.line for record in found] == [2, 5]


@pytest.mark.parametrize("row", ["a,x,y", "a", "a,b,"])
def test_30_and_31_rows_of_another_width_are_malformed(read: Read, row: str) -> None:
    assert "the header has 2" in problem(read(table("good,42", row, "good,42")), line=3)


def test_33_semicolons_and_tabs_are_recognised_and_latin1_is_named(read: Read) -> None:
    for separator in ";\t":
        assert texts(read(table("a,x").replace(",", separator))) == {"a": "x"}
    with pytest.raises(ScoreError, match="not UTF-8"):
        read(table("a,caf").encode() + "é\n".encode("latin-1"))


def test_34_a_column_twice_is_an_error(read: Read) -> None:
    with pytest.raises(LineError, match=":1: column 'prediction' stands twice"):
        read("id,prediction,prediction\na,x,y\n")


def test_35_lines_that_end_with_a_carriage_return_alone_are_an_error(read: Read) -> None:
    with pytest.raises(ScoreError, match="carriage return"):
        read(table("a,x").replace("\n", "\r"))


def test_36_and_37_long_fields_and_late_texts_are_read(read: Read) -> None:
    rows = [f"{number},{number}" for number in range(2000)] + ["x,late", 'y,"' + "z" * 1_000_000 + '"']
    found = texts(read(table(*rows)))
    assert (found["x"], found["1999"], len(found["y"] or "")) == ("late", "1999", 1_000_000)


@pytest.mark.parametrize("pack", [gzip.compress, zstandard.compress])
@pytest.mark.parametrize("share", [0.1, 0.5, 0.9, 0.999])
def test_38_a_truncated_compressed_file_is_an_error(write: Write, pack: Callable[[bytes], bytes], share: float) -> None:
    data = pack("".join(f'{{"id": "{number}", "prediction": "{number**7}"}}\n' for number in range(9999)).encode())
    with pytest.raises(ScoreError, match=r"the compressed file (breaks off|is damaged)"):
        list(read_answers(write(data[: int(share * len(data))])))


def test_39_a_frame_that_was_never_finished_is_an_error_wherever_it_ends(write: Write) -> None:
    sink = io.BytesIO()
    writer = zstandard.ZstdCompressor().stream_writer(sink, closefd=False)
    writer.write(GOOD.encode() * 1000)
    writer.flush(zstandard.FLUSH_BLOCK)
    with pytest.raises(ScoreError, match="the compressed file breaks off"):
        list(read_answers(write(sink.getvalue())))
    writer.close()  # type: ignore[no-untyped-call]
    assert len(list(read_answers(write(sink.getvalue())))) == 1000


def test_40_a_flipped_bit_in_a_compressed_file_is_an_error(write: Write) -> None:
    data = bytearray(gzip.compress(GOOD.encode() * 1000, compresslevel=0))
    data[len(data) // 2] ^= 1
    with pytest.raises(ScoreError, match="the compressed file is damaged"):
        list(read_answers(write(bytes(data))))


def parquet(rows: int = 200, **options: object) -> bytes:
    sink = io.BytesIO()
    columns = {"id": [f"r{n}" for n in range(rows)], "prediction": [f"answer {n**5}" for n in range(rows)]}
    pq.write_table(pa.table(columns), sink, **{"write_page_checksum": True, "compression": "none", **options})
    return sink.getvalue()


def test_41_damaged_parquet_is_an_error(write: Write) -> None:
    data = parquet()
    for broken in (data[: len(data) // 2], data[:-4], data + b"tail", b"PAR1" + bytes(len(data)), b"PAR1"):
        with pytest.raises(ScoreError, match="damaged or cut off"):
            list(read_answers(write(broken)))


def test_42_no_flipped_bit_of_a_data_page_goes_unseen(write: Write) -> None:
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


def test_43_bombs_are_refused(write: Write) -> None:
    line = b'{"id": "a", "prediction": "' + b"x" * 70_000_000 + b'"}\n'
    with pytest.raises(ResourceError, match="unpacks to more than 1000 times") as caught:
        list(read_answers(write(zstandard.compress(line))))
    assert caught.value.exit_code == 5
    with pytest.raises(ResourceError, match="unpacks to more than 1000 times"):
        list(read_answers(write(parquet_bomb(70_000_000, 1))))


def test_43_a_parquet_of_many_copies_of_one_text_is_read_without_making_them_all(write: Write) -> None:
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


def parquet_bomb(size: int, rows: int) -> bytes:
    sink = io.BytesIO()
    column = pa.DictionaryArray.from_arrays(pa.array([0] * rows, pa.int32()), pa.array(["x" * size]))
    names = pa.DictionaryArray.from_arrays(pa.array([0] * rows, pa.int32()), pa.array(["a"]))
    pq.write_table(pa.table({"id": names, "prediction": column}), sink, compression="zstd", store_schema=False)
    return sink.getvalue()


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


# Files that are none of these


@pytest.mark.parametrize(
    ("data", "named"),
    [
        (b"BZh9" + bytes(20), "bzip2"),
        (b"\xfd7zXZ\0" + bytes(20), "xz"),
        (b"ARROW1\0\0" + bytes(20), "Arrow"),
        (b"%PDF-1.7 some text", "PDF"),
        (b"\x7fELF" + bytes(50), "binary"),
        (b"PK\x03\x04" + bytes(50), "zip is damaged"),
        (b"Dear all, here are the answers.\n", "neither JSON, nor a table"),
        (b"name,value\na,b\n", "neither JSON, nor a table"),
        (b'{"name": "a", "value": "b"}\n', "fields 'name', 'value'"),
        (b'[{"name": "a", "value": "b"}]', "fields 'name', 'value'"),
        (gzip.compress(gzip.compress(GOOD.encode(), mtime=0), mtime=0), "a compressed file inside a compressed file"),
        (gzip.compress(parquet(1), mtime=0), "a compressed file inside a compressed file"),
    ],
)
def test_other_files_are_named(read: Read, data: bytes, named: str) -> None:
    with pytest.raises(ScoreError, match=named):
        read(data)


def test_what_is_no_file_is_named(tmp_path: Path) -> None:
    for path, named in ((tmp_path, "a folder"), (tmp_path / "none", "missing"), (Path("/dev/null"), "no regular file")):
        with pytest.raises(ScoreError, match=named):
            list(read_answers(path))


def test_a_first_line_that_is_broken_ends_nothing(read: Read) -> None:
    for first in ("garbage", "{", '{"id": "a", "prediction":', "17"):
        found = read(first + "\n" + GOOD)
        assert problem([found[0], *found[1:]], line=1)


def test_errors_keep_one_line_and_500_characters(read: Read) -> None:
    (found,) = read(json.dumps({"id": "a", "error": "x\n\ty " * 1000}))
    assert isinstance(found, Answer)
    assert found.error is not None
    assert found.error.startswith("x y x y")
    assert len(found.error) == 500
    assert found.text is None
