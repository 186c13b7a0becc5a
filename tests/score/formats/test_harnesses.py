"""What harnesses log in documents and tables: filters, samples of Inspect, details of lighteval, prompts of RULER."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from answer_files import Read, only, parts
from each import each
from made import WriteLines, made

from niah_score.contract import Message, prompt_digest
from niah_score.evaluation import evaluate
from niah_score.formats import Answer, Malformed, read_answers

CHAT = [Message(role="system", content="s"), Message(role="user", content="u")]


# inspect ai -----------------------------------------------------------------------------------------------------------


def inspect(**more: Any) -> str:
    """A log of one sample."""
    output = {"choices": [{"message": {"content": "42"}, "stop_reason": "stop"}], "completion": "42"}
    sample = {"id": 7, "epoch": 2, "input": "p", "target": "42", "output": output, **more}
    return json.dumps({"version": 2, "eval": {}, "samples": [sample]}, indent=2)


@each(
    ("more", "expected"),
    [
        ({}, ("42", None, "stop", None)),
        ({"error": {"message": "boom", "traceback": "..."}, "output": {"completion": "", "choices": []}},
         (None, None, "", "boom")),
        ({"limit": {"type": "token", "limit": 10}}, ("42", None, "truncated", None)),
        ({"output": {"completion": "42", "choices": [{"stop_reason": "max_tokens", "message": {"content": [
            {"type": "reasoning", "reasoning": "Hm."}, {"type": "text", "text": "42"}]}}]}},
         ("42", "Hm.", "truncated", None)),
        ({"output": {"choices": []}}, (None, None, "", None)),
    ],
)  # fmt: skip
def test_a_sample_yields_its_text_reasoning_finish_and_error(
    read: Read, more: dict[str, Any], expected: tuple[Any, ...]
) -> None:
    answer = only(read(inspect(**more)))
    assert (answer.id, answer.sample, answer.prompt_sha256) == ("7", 1, prompt_digest("p"))
    assert parts(answer) == expected


def test_inputs_are_chats_too_and_attachments_are_resolved(read: Read) -> None:
    logged = [{"id": "m1", **CHAT[0]}, {"role": "user", "content": [{"type": "text", "text": "u"}]}]
    far = "attachment://0f"
    for told, attachments, digest in (
        (logged, None, prompt_digest(CHAT)), (logged[1:], None, prompt_digest("u")), ([{"role": "user"}], None, None),
        (far, {"0f": "p"}, prompt_digest("p")), (far, {}, None), (far, None, None),
    ):  # fmt: skip
        assert only(read(inspect(input=told, attachments=attachments))).prompt_sha256 == digest


# lighteval ------------------------------------------------------------------------------------------------------------


PARTS = [("doc", "model_response"), ("__doc__", "__model_response__")]


def details(parts: tuple[str, str], specific: Any, name: str = "3", **response: Any) -> pa.Table:
    doc = {"query": "p", "choices": ["42", "7"], "gold_index": [0], "id": name, "specific": specific}
    return pa.Table.from_pylist([{parts[0]: doc, "metric": {"em": 0}, parts[1]: {"text": ["a", "b"], **response}}])


@each("parts", PARTS)
def test_details_yield_an_answer_per_sample_with_its_id_or_position(tmp_path: Path, parts: tuple[str, str]) -> None:
    path = tmp_path / "details.parquet"
    pq.write_table(details(parts, None, reasonings=[None, "Hm."]), path)
    records = list(read_answers(path))
    assert [
        (r.id, r.position, r.prompt_sha256, r.sample, r.text, r.reasoning, r.reference)
        for r in records
        if isinstance(r, Answer)
    ] == [
        (None, 3, prompt_digest("p"), 0, "a", None, ("42",)),
        (None, 3, prompt_digest("p"), 1, "b", "Hm.", ("42",)),
    ]
    pq.write_table(details(parts, {"id": "x"}), path)
    assert {(r.id, r.position) for r in read_answers(path) if isinstance(r, Answer)} == {("x", None)}


def test_flat_details_are_identified_by_the_id_in_their_specifics_or_their_prompt(tmp_path: Path) -> None:
    path = tmp_path / "details.parquet"
    flat = {"example": "p", "full_prompt": "<s>p", "gold": ["42"], "gold_index": [], "predictions": ["a", "b"]}
    for specifics, name in (({"id": "x", "length": 1}, "x"), ({"length": 1}, None), (None, None)):
        pq.write_table(pa.Table.from_pylist([{**flat, "specifics": specifics}]), path)
        answers = [record for record in read_answers(path) if isinstance(record, Answer)]
        assert [(r.id, r.prompt_sha256, r.sample, r.text, r.reference) for r in answers] == [
            (name, prompt_digest("p"), 0, "a", ("42",)),
            (name, prompt_digest("p"), 1, "b", ("42",)),
        ]
    pq.write_table(pa.Table.from_pylist([{**flat, "predictions": "a", "specifics": {"id": "x"}}]), path)
    assert list(read_answers(path)) == [
        Malformed(1, "the answer is not text: predictions is not a list; expected generated texts")
    ]


# ruler ----------------------------------------------------------------------------------------------------------------


PREFIXES = (
    " The special magic number for old-oak mentioned in the provided text is",
    " Answer: According to the chain(s) of variable assignment in the text above, 5 variables are assigned the value "
    "12345, they are: ",
    " Answer: The top 10 words that appear most often in the list are:",
    " Answer:",
)


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
