"""Predictions of LongBench: the second version tells whose they are by a text, and answers with or without thoughts."""

from __future__ import annotations

from answer_files import ReadRecords, only


def test_records_of_the_second_version_are_told_by_their_ids(read_records: ReadRecords) -> None:
    bench = {"_id": "x", "response": "It is B.", "pred": "B", "judge": True, "answer": "B", "context": "..."}
    second = only(read_records(bench))
    assert (second.id, second.position, second.text, second.reference) == ("x", 0, "It is B.", ("B",))
    del bench["response"]
    assert only(read_records({**bench, "response_cot": "So: B."})).text == "So: B."
