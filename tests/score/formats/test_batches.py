"""Batches of OpenAI, vLLM, Anthropic and Gemini: how answers end, what failed, their reasoning, and whose they are."""

from __future__ import annotations

from typing import Any

from answer_files import ReadRecords, batch, chat, only, parts
from each import each

from niah_score.contract import Message, prompt_digest
from niah_score.formats import Answer

CHOICES: list[tuple[dict[str, Any], tuple[Any, ...]]] = [
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
]
FAILED: list[tuple[dict[str, Any], str]] = [
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
    ({"result": {"type": "errored",
      "error": {"type": "error", "error": {"type": "invalid_request", "message": "Too long."}}}},
     "invalid_request: Too long."),
    ({"result": {"type": "canceled"}}, "canceled"),
    ({"result": {"type": "expired"}}, "expired"),
]  # fmt: skip
RESPONSE = [
    {"type": "reasoning", "summary": [{"type": "summary_text", "text": text} for text in ("Hm. Hm.", "So.")]},
    {"type": "message", "content": [{"type": "output_text", "text": "4 "}, {"type": "output_text", "text": "2"}]},
]
RESPONSES: list[tuple[dict[str, Any], tuple[Any, ...]]] = [
    ({"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}},
     ("4 2", "Hm. Hm.\nSo.", "truncated", None)),
    ({"status": "completed", "incomplete_details": None}, ("4 2", "Hm. Hm.\nSo.", "stop", None)),
    ({"status": "completed", "output": [{"type": "message", "content": [{"type": "refusal", "refusal": "No."}]}]},
     (None, None, "refused", None)),
    ({"status": "incomplete", "incomplete_details": {"reason": "content_filter"}, "output": []},
     (None, None, "refused", None)),
    ({"status": "failed", "error": {"code": "server_error", "message": "Oh."}}, (None, None, "", "server_error: Oh.")),
]  # fmt: skip
MESSAGES: list[tuple[list[dict[str, Any]], str, tuple[Any, ...]]] = [
    ([{"type": "thinking", "thinking": "Hm."}, {"type": "text", "text": "42"}], "max_tokens",
     ("42", "Hm.", "truncated", None)),
    ([], "refusal", ("", None, "refused", None)),
    ([{"type": "text", "text": "4"}], "model_context_window_exceeded", ("4", None, "truncated", None)),
]  # fmt: skip
GEMINI: list[tuple[dict[str, Any], tuple[Any, ...]]] = [
    ({"response": {"candidates": [{"content": {"parts": [{"text": "4"}, {"text": "2"}]}, "finishReason":
      "MAX_TOKENS"}]}}, ("42", None, "truncated", None)),
    ({"response": {"candidates": [{"content": {"role": "model"}, "finishReason": "MAX_TOKENS"}]}},
     (None, None, "truncated", None)),
    ({"response": {"candidates": [{"finishReason": "SAFETY"}]}}, (None, None, "refused", None)),
    ({"response": {"promptFeedback": {"blockReason": "OTHER"}}}, (None, None, "refused", None)),
    ({"error": {"code": 429, "message": "Quota."}}, (None, None, "", "429: Quota.")),
    ({"response": {"usageMetadata": {}}}, (None, None, "", "no candidates in the response")),
]  # fmt: skip
LINES = [
    *((batch(choice), expected) for choice, expected in CHOICES),
    *(({"id": "vllm-1", "custom_id": "x", **line}, (None, None, "", error)) for line, error in FAILED),
    *(({"custom_id": "x", "response": {"status_code": 200, "body": {"object": "response", "output": RESPONSE, **body}}},
       expected) for body, expected in RESPONSES),
    *(({"custom_id": "x", "result": {"type": "succeeded", "message": {"content": content, "stop_reason": reason}}},
       expected) for content, reason, expected in MESSAGES),
    *(({"key": "x", **line}, expected) for line, expected in GEMINI),
]  # fmt: skip


@each(("line", "expected"), LINES)
def test_a_line_yields_its_id_text_reasoning_finish_and_error(
    read_records: ReadRecords, line: dict[str, Any], expected: tuple[Any, ...]
) -> None:
    answer = only(read_records(line))
    assert (answer.id, *parts(answer)) == ("x", *expected)


def test_each_of_several_choices_is_a_sample(read_records: ReadRecords) -> None:
    records = read_records(batch(chat("a"), chat("b", "length"), chat("c")))
    assert [(record.sample, record.text, record.finish) for record in records if isinstance(record, Answer)] == [
        (0, "a", "stop"),
        (1, "b", "truncated"),
        (2, "c", "stop"),
    ]
    assert {record.line for record in records} == {1}


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
