"""JSON lines: each fault is reported with its line and costs no other answer."""

from __future__ import annotations

import json

import pytest
from answer_files import GOOD, Read, ReadRecords, Write, batch, between, chat, problem, texts

from niah_score.errors import ResourceError, ScoreError
from niah_score.formats import Answer, LineError, Malformed, read_answers, read_lines
from niah_score.formats.containers import separated, streams


def test_bytes_that_are_not_utf8_are_reported_with_line_and_byte(write: Write) -> None:
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


def test_a_byte_order_mark_is_accepted(read: Read) -> None:
    assert texts(read("\ufeff" + GOOD)) == {"good": "42"}
    assert texts(read("\ufeffid,prediction\ngood,42\n")) == {"good": "42"}
    assert texts(read("\ufeff[" + GOOD + "]")) == {"good": "42"}


def test_a_byte_order_mark_is_accepted_in_a_range_of_lines(write: Write) -> None:
    path = write("\ufeff" + GOOD + GOOD)
    assert len(list(read_lines(path, 0, 3 + len(GOOD), format="plain"))) == 1


def test_a_field_that_first_appears_after_many_rows_is_read(read: Read) -> None:
    lines = [json.dumps({"id": str(number)}) for number in range(200)] + ['{"id": "late", "output": "x"}']
    records = read("\n".join(lines))
    assert [record for record in records if isinstance(record, Answer)] == [
        Answer("late", "x", None, "", None, None, None, 0, 201, None)
    ]
    assert len(records) == 201


@pytest.mark.parametrize(
    "cut", ['{"id": "a", "predic', '{"id": "a", "prediction": "é'.encode()[:-1], "{", '{"id": "a"']
)
def test_a_truncated_last_line_leaves_the_other_lines_intact(read: Read, cut: bytes | str) -> None:
    data = GOOD.encode() + (cut if isinstance(cut, bytes) else cut.encode())
    assert problem(read(data)).startswith("the line breaks off in the middle of a record")


def test_a_complete_last_line_needs_no_line_feed(read: Read) -> None:
    assert texts(read(GOOD.rstrip())) == {"good": "42"}


def test_a_file_of_only_a_truncated_line_is_an_error(read: Read) -> None:
    with pytest.raises(ScoreError, match=r"no record with an answer; line 1: not JSON"):
        read('{"id": "a", "predic')


def test_blank_lines_windows_line_ends_and_spaces_are_accepted_and_lines_still_counted(read: Read) -> None:
    records = read("\r\n\n" + GOOD.replace("\n", "  \r\n") + "   \n\t\n" + GOOD)
    assert [record.line for record in records] == [3, 6]
    assert texts(records) == {"good": "42"}


def test_only_a_line_feed_ends_a_line(read: Read) -> None:
    text = "a\u2028b\u2029c\x85d\x0be\x0cf\x1cg"
    assert texts(read(json.dumps({"id": "a", "prediction": text}, ensure_ascii=False))) == {"a": text}


def test_objects_without_a_line_feed_between_them_are_reported(read: Read) -> None:
    assert "something follows a complete value at character 35" in problem(read(between(GOOD.strip() * 2)))
    with pytest.raises(ScoreError, match="something follows a complete value"):
        read(GOOD.strip() * 2)


@pytest.mark.parametrize("line", ["17", '"x"', "[1]", "null"])
def test_a_line_that_is_not_an_object_is_malformed(read: Read, line: str) -> None:
    assert problem(read(between(line))) == "not a JSON object; expected one object per record"


def test_a_long_line_is_accepted(read: Read) -> None:
    text = "x" * 4_000_000
    assert texts(read(GOOD + json.dumps({"id": "a", "prediction": text}) + "\n" + GOOD)) == {"good": "42", "a": text}


def test_a_line_over_the_limit_ends_the_reading(read: Read, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (streams, separated):
        monkeypatch.setattr(module, "MAX_LINE", 3_000_000)
    long = json.dumps({"id": "a", "prediction": "x" * 4_000_000})
    for text in (between(long), GOOD + long):
        with pytest.raises(ResourceError, match=":2: a line of more than"):
            read(text)
    with pytest.raises(ResourceError, match=":2: a line of more than"):
        read("id,prediction\na," + "x" * 4_000_000)
    with pytest.raises(ResourceError, match=r":2: a row of more than .* never be closed"):
        read('id,prediction\na,"' + "x\n" * 4_000_000)


def test_a_broken_first_line_leaves_the_other_lines_intact(read: Read) -> None:
    for first in ("garbage", "{", '{"id": "a", "prediction":', "17"):
        records = read(first + "\n" + GOOD)
        assert problem([records[0], *records[1:]], line=1)


def test_a_malformed_record_still_counts_as_a_position(read_records: ReadRecords) -> None:
    records = read_records(
        {"pred": 1, "outputs": ["a"]}, {"pred": "x", "outputs": ["b"]}, {"pred": "y", "outputs": [["c"], 4]}
    )
    assert isinstance(records[0], Malformed)
    assert [(r.position, r.reference) for r in records if isinstance(r, Answer)] == [(1, ("b",)), (2, ("c", "4"))]


def test_each_record_of_a_mixed_file_is_read_in_its_own_format(read_records: ReadRecords) -> None:
    records = read_records(
        {"id": "a", "prediction": "t"},
        batch(chat("u")),
        {"custom_id": "c", "result": {"type": "expired"}},
        {"id": "d", "prediction": "v"},
        {"pred": "w", "outputs": ["w"]},
    )
    assert [(r.id, r.text, r.error) for r in records if isinstance(r, Answer)] == [
        ("a", "t", None),
        ("x", "u", None),
        ("c", None, "expired"),
        ("d", "v", None),
    ]
    assert isinstance(records[4], Malformed)
