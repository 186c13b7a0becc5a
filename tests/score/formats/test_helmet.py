"""HELMET outputs: one object with a list of records, or the records as lines."""

from __future__ import annotations

import json

from answer_files import Read, ReadRecords, only


def test_thoughts_are_not_part_of_the_answer(read_records: ReadRecords) -> None:
    answer = only(read_records({"output": "42", "output_len": 9, "thoughts": "Hm.", "answer": ["42", "7"]}))
    assert (answer.text, answer.reasoning, answer.position, answer.reference) == ("42", "Hm.", 0, ("42", "7"))


def test_a_record_without_an_output_is_malformed_and_the_others_keep_their_positions(read: Read) -> None:
    data = [{"answer": "42", "output": None, "output_len": 0}, {"answer": "42"}, {"output": "7", "output_len": 1}]
    records = read(json.dumps({"args": {}, "data": data}, indent=1))
    assert [(record.line, getattr(record, "position", None)) for record in records] == [(1, 0), (2, None), (3, 2)]
    assert records[1].message == "no field 'output'; expected the answer's text in it"  # type: ignore[union-attr]
