"""Batch lines of the Gemini API and of Vertex AI."""

from __future__ import annotations

from typing import Any

import pytest
from answer_files import ReadRecords, only, parts

from niah_score.contract import Message, prompt_digest
from niah_score.formats import Answer


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ({"response": {"candidates": [{"content": {"parts": [{"text": "4"}, {"text": "2"}]}, "finishReason":
          "MAX_TOKENS"}]}}, ("42", None, "truncated", None)),
        ({"response": {"candidates": [{"content": {"role": "model"}, "finishReason": "MAX_TOKENS"}]}},
         (None, None, "truncated", None)),
        ({"response": {"candidates": [{"finishReason": "SAFETY"}]}}, (None, None, "refused", None)),
        ({"response": {"promptFeedback": {"blockReason": "OTHER"}}}, (None, None, "refused", None)),
        ({"error": {"code": 429, "message": "Quota."}}, (None, None, "", "429: Quota.")),
        ({"response": {"usageMetadata": {}}}, (None, None, "", "no candidates in the response")),
    ],
)  # fmt: skip
def test_a_line_yields_its_text_finish_and_error(
    read_records: ReadRecords, line: dict[str, Any], expected: tuple[Any, ...]
) -> None:
    answer = only(read_records({"key": "x", **line}))
    assert answer.id == "x"
    assert parts(answer) == expected


def test_lines_without_keys_are_numbered_in_order(read_records: ReadRecords) -> None:
    line = {"response": {"candidates": [{"content": {"parts": [{"text": "42"}]}}]}}
    assert [(record.id, record.position) for record in read_records(line, line) if isinstance(record, Answer)] == [
        (None, 0),
        (None, 1),
    ]


def test_vertex_lines_are_identified_by_key_or_prompt(read_records: ReadRecords) -> None:
    request = {"contents": [{"role": "user", "parts": [{"text": "Where "}, {"text": "is it?"}]}]}
    failed = only(read_records({"status": "Bad Request: no", "request": request, "response": {}}))
    assert (failed.id, failed.prompt_sha256, failed.error) == (None, prompt_digest("Where is it?"), "Bad Request: no")
    both = only(read_records({"key": "x", "status": "no", "request": request, "response": {}}))
    assert (both.id, both.prompt_sha256) == ("x", prompt_digest("Where is it?"))
    assert both.chat_sha256 == prompt_digest([Message(role="user", content="Where is it?")])
    request["systemInstruction"] = {"parts": [{"text": "Be brief."}]}  # type: ignore[assignment]
    chat = [Message(role="system", content="Be brief."), Message(role="user", content="Where is it?")]
    assert only(read_records({"status": "no", "request": request, "response": {}})).prompt_sha256 == prompt_digest(chat)
