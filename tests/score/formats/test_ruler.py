"""Predictions of RULER: the order tells whose they are, and an id if it is a text."""

from __future__ import annotations

from answer_files import ReadRecords, only


def test_records_with_string_ids_are_told_by_them(read_records: ReadRecords) -> None:
    ruler = only(read_records({"id": "x", "index": 9, "pred": "42", "outputs": ["42", "7"]}))
    assert (ruler.id, ruler.position, ruler.reference) == ("x", 0, ("42", "7"))
