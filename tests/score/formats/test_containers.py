"""A file's format is recognised by its content; each fault in JSON or a zip is reported and costs no other answer."""

from __future__ import annotations

import gzip
import json
import zipfile
from itertools import islice
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zstandard
from answer_files import GOOD, Read, Write, batch, between, chat, lm_eval_sample, only, problem, texts
from each import each

from niah_score.errors import ResourceError, ScoreError
from niah_score.formats import FORMATS, Answer, Malformed, example_lines, read_answers, streams
from niah_score.formats.record import NoAnswersError

EXAMPLES = Path(__file__).parent / "examples"
PAD = "x" * 1000


def test_intact_files_without_answers_are_distinguished_from_broken_files(read: Read) -> None:
    requests = '{"custom_id": "a", "method": "POST", "url": "/v1/chat/completions", "body": {"messages": []}}\n'
    results = json.dumps({"results": {"niah": {"keyword,none": 0.5}}, "config": {}}, indent=2)
    unanswered = json.dumps({"version": 2, "status": "error", "eval": {}, "samples": None}, indent=2)
    table = pa.BufferOutputStream()
    pq.write_table(pa.table({"id": ["a"], "prompt": ["p"]}), table)
    empty = ["", "\n", " \r\n\t\n", "\ufeff", "[]", '{"args": {}, "data": []}', "id,prediction\n", unanswered,
             gzip.compress(b""), zstandard.compress(b"")]  # fmt: skip
    for data in empty:
        with pytest.raises(NoAnswersError, match="no predictions in it"):
            read(data)
    for data in (requests, results, results.replace("\n", ""), "length,depth,score\n1,2,3\n", bytes(table.getvalue())):
        with pytest.raises(NoAnswersError):
            read(data)
    for data in (requests + '{"custom', results[:-1], b"PAR1", gzip.compress(requests.encode())[:-1], b"\xff\xfea\0"):
        with pytest.raises(ScoreError) as caught:
            read(data)
        assert not isinstance(caught.value, NoAnswersError)


def test_clues_to_the_format_may_come_late(read: Read) -> None:
    assert only(read({"id": "a", "prediction": "b"})) is not None
    late = read(*[{"note": PAD}] * 1500, {"id": "a", "prediction": "b"})
    assert (len(late), isinstance(late[-1], Answer)) == (1501, True)
    assert len(read({"id": "a", "prediction": PAD * 3000}, {"id": "b", "prediction": "c"})) == 2


# JSON Lines -----------------------------------------------------------------------------------------------------------


def test_bytes_that_are_not_utf8_are_reported_with_line_and_byte(write: Write) -> None:
    for data, where in (
        (GOOD.encode() + b'{"id": "a", "prediction": "caf\xe9"}\n' + GOOD.encode(), "2: byte 31"),
        (b"[\n" + GOOD.encode() + b',{"id": "a", "prediction": "caf\xe9"}]', "3: byte 32"),
        (b"id,prediction\na,caf\xe9\n", "2: byte 6"),
    ):
        with pytest.raises(ScoreError, match=rf"answers:{where} \(0xe9\) is not UTF-8") as caught:
            list(read_answers(write(data)))
        assert caught.value.exit_code == 2


def test_a_byte_order_mark_blank_lines_windows_line_ends_and_spaces_are_accepted(read: Read) -> None:
    for data in (GOOD, "id,prediction\ngood,42\n", "[" + GOOD + "]", GOOD.rstrip()):
        assert texts(read("\ufeff" + data)) == {"good": "42"}
    records = read("\r\n\n" + GOOD.replace("\n", "  \r\n") + "   \n\t\n" + GOOD)
    assert [record.line for record in records] == [3, 6]
    assert texts(records) == {"good": "42"}


def test_a_truncated_last_line_and_a_broken_first_one_leave_the_others_intact(read: Read) -> None:
    for cut in (b'{"id": "a", "predic', '{"id": "a", "prediction": "é'.encode()[:-1], b"{", b'{"id": "a"'):
        assert problem(read(GOOD.encode() + cut)).startswith("the line breaks off in the middle of a record")
    with pytest.raises(ScoreError, match=r":1: not JSON"):
        read('{"id": "a", "predic')
    for first in ("garbage", "{", '{"id": "a", "prediction":', "17"):
        assert problem(read(first + "\n" + GOOD), line=1)


def test_lines_that_are_not_one_object_are_malformed(read: Read) -> None:
    for line in ("17", '"x"', "[1]", "null"):
        assert problem(read(between(line))) == "not a JSON object; expected one object per record"
    assert "something follows a complete value (character 35)" in problem(read(between(GOOD.strip() * 2)))
    with pytest.raises(ScoreError, match="something follows a complete value"):
        read(GOOD.strip() * 2)


def test_a_malformed_record_still_counts_as_a_position(read: Read) -> None:
    records = read({"pred": 1, "outputs": ["a"]}, {"pred": "x", "outputs": ["b"]}, {"pred": "y", "outputs": [["c"], 4]})
    assert isinstance(records[0], Malformed)
    assert [(r.position, r.reference) for r in records if isinstance(r, Answer)] == [(1, ("b",)), (2, ("c", "4"))]


# Documents ------------------------------------------------------------------------------------------------------------


def test_arrays_are_numbered_by_record_and_other_documents_refused(read: Read) -> None:
    assert "not a JSON object" in problem(read("[\n\n" + ",\n".join([GOOD, "17", GOOD]) + "]"))
    shard = '{\n"0": {"origin_prompt": "p", "prediction": "a"},\n"0": {"origin_prompt": "p", "prediction": "b"}\n}'
    for data, message in (
        (shard, "key '0' appears twice"),
        (json.dumps({"id": "a", "prediction": "x"}, indent=2), r"one JSON object over several lines.*jq -c"),
        ("[" * 100_000, "nested more than 64 deep"),
        ('[\n{"id": "a"', r":2: not JSON.*must be complete"),
    ):
        with pytest.raises(ScoreError, match=message):
            read(data)


# Zips -----------------------------------------------------------------------------------------------------------------


def test_a_damaged_member_of_an_eval_log_leaves_the_others_intact(write: Write) -> None:
    data = bytearray((EXAMPLES / "inspect_eval.eval").read_bytes())
    data[data.index(b"samples/2_epoch_1.json") + 40] ^= 255
    records = list(read_answers(write(bytes(data))))
    assert [isinstance(record, Malformed) for record in records] == [False, False, True, False, False, False]
    assert "'samples/2_epoch_1.json': damaged" in records[2].message  # type: ignore[union-attr]


def test_other_zips_and_harmless_members_that_together_are_a_bomb_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "log.eval"
    sample = {"id": "a", "epoch": 1, "input": "p", "output": {"completion": " " * 10_000}}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as log:
        for number in range(50):
            log.writestr(f"samples/{number}_epoch_1.json", json.dumps(sample))
    assert len(list(read_answers(path))) == 50
    monkeypatch.setattr(streams, "FREE_BYTES", 15_000)
    monkeypatch.setattr(streams, "MAX_RATIO", 10)
    records = iter(read_answers(path))
    assert len(list(islice(records, 5))) == 5
    with pytest.raises(ResourceError, match="all of them to more than"):
        list(records)
    with zipfile.ZipFile(path, "w") as log:
        log.writestr("answers.jsonl", GOOD)
    with pytest.raises(ScoreError, match="a zip, but no Inspect log"):
        list(read_answers(path))


# answers --------------------------------------------------------------------------------------------------------------


def test_fields_named_by_the_user_override_those_of_the_format(read: Read) -> None:
    record = {"id": "no", "prediction": "no", "meta": {"row": 12, "a.b": [{"say": "yes"}]}}
    raw = {"row": "x", "choices": [chat("a"), chat("b")], "finish_reason": "length"}
    table = pa.BufferOutputStream()
    pq.write_table(pa.table({"meta": [{"row": "x"}], "answer": ["y"], "id": ["no"]}), table)
    for data, id_field, text_field, expected in (
        (record, "meta.row", "prediction", ("12", "no")), ({"m": "x", "t": "y"}, "m", "t", ("x", "y")),
        (raw, "row", "choices.1.message.content", ("x", "b")), ({"a.b": "x", "text": "y"}, "a.b", None, ("x", "y")),
        (lm_eval_sample(doc={"row": "r"}), "doc.row", None, ("r", "42")),
        (batch(chat("a", "length", note="b")), None, "response.body.choices.0.message.note", ("x", "b")),
        ("row;answer;id\nx;y;no\n", "row", "answer", ("x", "y")),
        (bytes(table.getvalue()), "meta.row", "answer", ("x", "y")),
    ):  # fmt: skip
        options = {"id_field": id_field, "text_field": text_field}
        answer = only(read(data, **{name: field for name, field in options.items() if field}))
        assert (answer.id, answer.text) == expected, data
    with pytest.raises(ScoreError, match="no column 'nothing'; found 'meta', 'answer', 'id'"):
        read(bytes(table.getvalue()), text_field="nothing")
    records = read({"m": "x", "text": "y"}, {"id": "x", "text": "y"}, id_field="m")
    assert records[1] == Malformed(2, "no field 'm'; found 'id', 'text'")


# registry -------------------------------------------------------------------------------------------------------------


@each("name", [name for name, kind in FORMATS.items() if kind.container == "json"])
def test_the_example_line_of_each_format_is_recognised_as_that_format(tmp_path: Path, name: str) -> None:
    path = tmp_path / "t"
    path.write_text(example_lines()[name] + "\n")
    file = read_answers(path)
    answer = only(list(file))
    assert (file.format, answer.text) == (name, "It is 42.")


def test_the_docs_list_every_format_with_its_example_line() -> None:
    page = (Path(__file__).parents[3] / "docs" / "formats.md").read_text("utf-8")
    assert [name for name in FORMATS if f"| {name} |" not in page] == []
    assert list(example_lines()) == list(FORMATS)
    assert [line for line in example_lines().values() if line not in page] == []
