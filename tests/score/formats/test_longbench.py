"""LongBench predictions: the second version has string ids, and its answers may come with reasoning."""

from __future__ import annotations

from answer_files import ReadRecords, only


def test_records_of_the_second_version_are_identified_by_their_id(read_records: ReadRecords) -> None:
    record = {"_id": "x", "response": "It is B.", "pred": "B", "judge": True, "answer": "B", "context": "..."}
    answer = only(read_records(record))
    assert (answer.id, answer.position, answer.text, answer.reference) == ("x", 0, "It is B.", ("B",))
    del record["response"]
    assert only(read_records({**record, "response_cot": "So: B."})).text == "So: B."
