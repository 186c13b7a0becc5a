"""RULER predictions: rows are matched by the prompt in `input`, by the id if it is a string, or by order."""

from __future__ import annotations

import pytest
from answer_files import ReadRecords, only
from made import WriteLines, made

from niah_score.contract import prompt_digest
from niah_score.errors import ScoreError
from niah_score.evaluation import evaluate

PREFIXES = (
    " The special magic number for old-oak mentioned in the provided text is",
    " Answer: According to the chain(s) of variable assignment in the text above, 5 variables are assigned the value "
    "12345, they are: ",
    " Answer: The top 10 words that appear most often in the list are:",
    " Answer:",
)


def test_a_string_id_is_read_as_the_id_of_the_row(read_records: ReadRecords) -> None:
    answer = only(read_records({"id": "x", "index": 9, "pred": "42", "outputs": ["42", "7"]}))
    assert (answer.id, answer.position, answer.reference) == ("x", 0, ("42", "7"))


def test_rows_are_found_by_the_prompt_whatever_its_order_and_whether_or_not_it_was_sent_with_its_prefix(
    write_lines: WriteLines,
) -> None:
    prompts = [f"Read this.\nSome text {n}. Answer: no.\nWhat is the special magic number {n}?" for n in range(8)]
    rows = [{**row, "prompt_sha256": prompt_digest(text)} for row, text in zip(made(8), prompts, strict=True)]
    records = [
        {"index": 7, "pred": row["answers"][0], "input": text + (PREFIXES[n // 2] if n % 2 else ""),
         "outputs": row["answers"], "others": {}, "truncation": -1, "length": 9}
        for n, (row, text) in enumerate(zip(rows, prompts, strict=True))
    ]  # fmt: skip
    dataset = write_lines("rows.jsonl", rows)
    report = evaluate(dataset, write_lines("pred.jsonl", records[:0:-1]), missing="exclude")
    assert (report.scores["score"].drop_nulls().to_list(), report.lines.used) == ([100.0] * 7, 7)
    # Rows whose prompts are others, or not known, can still be joined by order, but only on request.
    others = [{**record, "input": f"another {n}"} for n, record in enumerate(records)]
    strange = write_lines("others.jsonl", others)
    with pytest.raises(ScoreError, match=r"no row has their prompts; .* use --by-order"):
        evaluate(dataset, strange)
    report = evaluate(dataset, strange, by_order=True)
    assert (report.scores["score"].to_list(), report.exit_code) == ([100.0] * 8, 3)
    bare = write_lines("bare.jsonl", made(8))
    with pytest.raises(ScoreError, match="use --by-order"):
        evaluate(bare, strange)
    report = evaluate(bare, strange, by_order=True)
    assert (report.scores["score"].to_list(), report.exit_code) == ([100.0] * 8, 0)
