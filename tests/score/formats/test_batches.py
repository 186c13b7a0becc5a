"""Batches of OpenAI, vLLM, Anthropic and Gemini: how answers end, what failed, their reasoning, and whose they are."""

from __future__ import annotations

from typing import Any

import pytest
from answer_files import ReadRecords, batch, chat, only, parts

from niah_score.contract import Message, prompt_digest
from niah_score.formats import Answer


@pytest.mark.parametrize(
    ("choice", "expected"),
    [
        (chat(), ("42", None, "stop", None)),
        (chat(finish=None), ("42", None, "", None)),
        (chat(finish="length"), ("42", None, "truncated", None)),
        (chat("", "content_filter"), ("", None, "refused", None)),
        (chat(None, refusal="I cannot."), (None, None, "refused", None)),
        (chat(None, "tool_calls", tool_calls=[{}]), (None, None, "stop", None)),
        (chat("42", "abort"), ("42", None, "", "finish reason 'abort'")),
        (chat(reasoning="Hm."), ("42", "Hm.", "stop", None)),
        (chat(reasoning_content="Hm."), ("42", "Hm.", "stop", None)),
        (chat(reasoning=None, reasoning_content=""), ("42", None, "stop", None)),
        (chat([{"type": "text", "text": "4"}, {"type": "text", "text": "2"}]), ("42", None, "stop", None)),
        ({"index": 0, "text": "42", "finish_reason": "stop"}, ("42", None, "stop", None)),
    ],
)
def test_a_completion_yields_its_text_reasoning_finish_and_error(
    read_records: ReadRecords, choice: dict[str, Any], expected: tuple[Any, ...]
) -> None:
    assert parts(only(read_records(batch(choice)))) == expected


@pytest.mark.parametrize(
    ("line", "error"),
    [
        ({"response": None, "error": {"code": "batch_expired", "message": "Too\nlate."}}, "batch_expired: Too late."),
        ({"response": {"status_code": 429, "body": {"error": {"message": "Slow down.", "type": "rate"}}}},
         "rate: Slow down."),
        ({"response": {"status_code": 400, "body": None}, "error": {"error": {"message": "Too long.", "code": 400}}},
         "400: Too long."),
        ({"response": {"status_code": 500, "body": None}, "error": None}, "status code 500 without an answer"),
        ({"response": {"status_code": 502, "body": {"choices": [chat("half an answer")]}}},
         "status code 502 without an answer"),
        ({"response": None, "error": "timeout"}, "timeout"),
        ({"response": None, "error": None}, "no response"),
        ({"response": {"status_code": 200, "body": {"choices": []}}, "error": None}, "no choices in the response"),
    ],
)  # fmt: skip
def test_a_failed_line_has_an_error_and_no_text(read_records: ReadRecords, line: dict[str, Any], error: str) -> None:
    answers = read_records({"id": "vllm-1", "custom_id": "x", **line}, batch(chat()))
    assert [answer.id for answer in answers if isinstance(answer, Answer)] == ["x", "x"]
    first = answers[0]
    assert isinstance(first, Answer)
    assert parts(first) == (None, None, "", error)


def test_each_of_several_choices_is_a_sample(read_records: ReadRecords) -> None:
    records = read_records(batch(chat("a"), chat("b", "length"), chat("c")))
    assert [(record.sample, record.text, record.finish) for record in records if isinstance(record, Answer)] == [
        (0, "a", "stop"),
        (1, "b", "truncated"),
        (2, "c", "stop"),
    ]
    assert {record.line for record in records} == {1}


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ({"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}},
         ("4 2", "Hm. Hm.\nSo.", "truncated", None)),
        ({"status": "completed", "incomplete_details": None}, ("4 2", "Hm. Hm.\nSo.", "stop", None)),
        ({"status": "completed", "output": [{"type": "message", "content": [{"type": "refusal", "refusal": "No."}]}]},
         (None, None, "refused", None)),
        ({"status": "incomplete", "incomplete_details": {"reason": "content_filter"}, "output": []},
         (None, None, "refused", None)),
        ({"status": "failed", "error": {"code": "server_error", "message": "Oh."}},
         (None, None, "", "server_error: Oh.")),
    ],
)  # fmt: skip
def test_a_response_yields_its_text_reasoning_finish_and_error(
    read_records: ReadRecords, body: dict[str, Any], expected: tuple[Any, ...]
) -> None:
    output = [
        {"type": "reasoning", "summary": [{"type": "summary_text", "text": text} for text in ("Hm. Hm.", "So.")]},
        {"type": "message", "content": [{"type": "output_text", "text": "4 "}, {"type": "output_text", "text": "2"}]},
    ]
    line = {
        "custom_id": "x",
        "response": {"status_code": 200, "body": {"object": "response", "output": output, **body}},
    }
    assert parts(only(read_records(line))) == expected


# anthropic batch ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("result", "expected"),
    [
        ({"type": "succeeded", "message": {"content": [{"type": "thinking", "thinking": "Hm."},
          {"type": "text", "text": "42"}], "stop_reason": "max_tokens"}}, ("42", "Hm.", "truncated", None)),
        ({"type": "succeeded", "message": {"content": [], "stop_reason": "refusal"}}, ("", None, "refused", None)),
        ({"type": "succeeded", "message": {"content": [{"type": "text", "text": "4"}],
          "stop_reason": "model_context_window_exceeded"}}, ("4", None, "truncated", None)),
        ({"type": "errored", "error": {"type": "error", "error": {"type": "invalid_request", "message": "Too long."}}},
         (None, None, "", "invalid_request: Too long.")),
        ({"type": "canceled"}, (None, None, "", "canceled")),
        ({"type": "expired"}, (None, None, "", "expired")),
    ],
)  # fmt: skip
def test_a_result_yields_its_text_reasoning_finish_and_error(
    read_records: ReadRecords, result: dict[str, Any], expected: tuple[Any, ...]
) -> None:
    assert parts(only(read_records({"custom_id": "x", "result": result}))) == expected


# gemini batch ---------------------------------------------------------------------------------------------------------


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
