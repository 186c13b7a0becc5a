"""RULER predictions: rows are matched by order, and by the id if it is a string."""

from __future__ import annotations

from answer_files import ReadRecords, only


def test_a_string_id_is_read_as_the_id_of_the_row(read_records: ReadRecords) -> None:
    answer = only(read_records({"id": "x", "index": 9, "pred": "42", "outputs": ["42", "7"]}))
    assert (answer.id, answer.position, answer.reference) == ("x", 0, ("42", "7"))
