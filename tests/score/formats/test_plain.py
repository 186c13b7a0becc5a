"""Plain records: an id or a prompt, a text, and optional fields."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from answer_files import Read, ReadRecords, between, only, problem

from niah_score.contract import Message, prompt_digest
from niah_score.errors import ScoreError
from niah_score.formats import Answer, Malformed, read_answers
from niah_score.formats.plain import ID_FIELDS, TEXT_FIELDS


def test_a_record_without_text_is_reported_by_its_id(read: Read) -> None:
    message = problem(read(between('{"id": "a\\u001b[31m"}')))
    assert message == (
        "the record with id 'a\\x1b[31m' has no field with the answer's text; expected one of prediction, pred, "
        "completion, response, output, generated_text, generation, text, or name it with --text-field"
    )


def test_the_first_field_in_the_documented_order_counts_and_references_never_do(read_records: ReadRecords) -> None:
    references = {"id": "x", "answer": "no", "answers": ["no"], "target": "no", "gold": "no"}
    record: dict[str, Any] = dict(references)
    for name in reversed(TEXT_FIELDS):
        record[name] = name
        assert only(read_records(record)).text == name
    with pytest.raises(ScoreError, match="no record with an answer"):
        read_records({**references, "outputs": ["no"]})
    record = {"text": "t"}
    for name in reversed(ID_FIELDS):
        record[name] = name
        assert only(read_records(record)).id == name
    assert " ".join(TEXT_FIELDS) == "prediction pred completion response output generated_text generation text"
    assert " ".join(ID_FIELDS) == "id custom_id sample_id key uid idx"


def test_optional_fields_of_plain_records_are_read(read_records: ReadRecords) -> None:
    record = {"id": "x", "text": "t", "finish_reason": "length", "reasoning": "Hm.", "sample": 3, "prompt": "p"}
    answer = only(read_records(record))
    assert answer._replace(prompt_sha256=None, chat_sha256=None, in_template=None) == Answer(
        "x", "t", "Hm.", "truncated", None, None, None, 3, 1, None
    )
    failed = only(read_records({"id": "x", "text": "", "error": {"message": "boom"}, "stop_reason": "x", "epoch": "2"}))
    assert failed == Answer("x", None, None, "", "boom", None, None, 1, 1, None)
    other = only(read_records({"id": "x", "text": "t", "sample": "the third", "error": 0.25}))
    assert other == Answer("x", "t", None, "", None, None, None, 0, 1, None)
    (malformed,) = read_records({"id": "x", "text": "t", "sample": -1})
    assert isinstance(malformed, Malformed)
    assert malformed.message == "sample is -1; expected the number of a sample, from 0"


def test_plain_records_without_an_id_are_identified_by_their_prompt(read_records: ReadRecords) -> None:
    answer = only(read_records({"prompt": "p", "generated_text": "t"}))
    assert (answer.id, answer.prompt_sha256, answer.position) == (None, prompt_digest("p"), None)
    chat = [{"role": "system", "content": "s"}, {"role": "user", "content": "u"}]
    assert only(read_records({"prompt": chat, "text": "t"})).prompt_sha256 == prompt_digest(
        [Message(role="system", content="s"), Message(role="user", content="u")]
    )


def test_a_chat_in_a_csv_table_is_compared_only_if_it_is_json(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    chat = [Message(role="system", content="s"), Message(role="user", content='u "x"')]
    spelled = {json.dumps(chat): prompt_digest(chat), str(chat): None, "[{ }": None, "p": prompt_digest("p")}
    with path.open("w", newline="") as file:
        rows = [("id", "prompt", "output"), *(("x", prompt, "y") for prompt in spelled)]
        csv.writer(file, quoting=csv.QUOTE_ALL).writerows(rows)
    digests = [record.prompt_sha256 for record in read_answers(path) if isinstance(record, Answer)]
    assert digests == list(spelled.values())


def test_epochs_count_from_1_and_samples_from_0(read_records: ReadRecords) -> None:
    lines: list[dict[str, Any]] = [
        {"epoch": 1},
        {"epoch": 2},
        {"sample": 1},
        {"sample": 0, "epoch": 5},
        {"epoch": None},
    ]
    records = read_records(*({"id": "x", "text": "t", **line} for line in lines))
    assert [record.sample for record in records if isinstance(record, Answer)] == [0, 1, 1, 0, 0]


def test_a_record_without_an_id_among_records_with_ids_is_malformed(read_records: ReadRecords) -> None:
    records = read_records({"id": "x", "text": "t"}, {"text": "u"})
    assert records[1] == Malformed(
        2, "no id: the record has no field that usually holds it; found 'text'; name it with --id-field"
    )


def test_rows_of_tables_without_ids_are_identified_by_prompt_or_order(tmp_path: Path) -> None:
    path = tmp_path / "t"
    path.write_text("prompt,output\np,y\n")
    assert only(list(read_answers(path))).prompt_sha256 == prompt_digest("p")
    path.write_text("model,output\nm,y\nm,z\n")
    assert [(r.id, r.position) for r in read_answers(path) if isinstance(r, Answer)] == [(None, 0), (None, 1)]
    pq.write_table(pa.table({"prompt": ["p"], "output": ["y"]}), path)
    assert only(list(read_answers(path))).prompt_sha256 == prompt_digest("p")
    pq.write_table(pa.table({"output": ["y", "z"]}), path)
    assert [(r.id, r.position) for r in read_answers(path) if isinstance(r, Answer)] == [(None, 0), (None, 1)]
