"""Reads the batch output of OpenAI and of every service that writes its format, such as vLLM."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import orjson

from niah_score.formats.containers.strict_json import MAX_DEPTH, colons_escaped
from niah_score.formats.fields import (
    FINISHES_OR_NONE,
    answer_text,
    as_list,
    as_object,
    error_line,
    failure_of,
    finish_of,
    id_text,
    optional_text,
)
from niah_score.formats.record import (
    Answer,
    Completion,
    Format,
    Identity,
    LineBlock,
    Malformed,
    ReadLine,
    Record,
    UnreadableError,
)


def _custom_id(record: Record, index: int) -> Identity:
    return Identity(id_text(record.get("custom_id"), "custom_id"))


def _is_openai(record: Record) -> bool:
    if "custom_id" not in record or isinstance(record.get("result"), dict):
        return False
    response = record.get("response")
    return isinstance(response, dict) or (response is None and "error" in record)


def _is_responses(record: Record) -> bool:
    if not _is_openai(record):
        return False
    body = as_object(as_object(record.get("response")).get("body"))
    return body.get("object") == "response" or isinstance(body.get("output"), list)


def _is_vllm(record: Record) -> bool:
    return _is_openai(record) and str(record.get("id", "")).startswith("vllm-")


def _openai_completions(record: Record) -> list[Completion]:
    """A line of an output file, or of the error file that comes with it."""
    response = as_object(record.get("response"))
    body = as_object(response.get("body"))
    status = response.get("status_code")
    failed = isinstance(status, int) and not 200 <= status < 300
    error = error_line(record.get("error")) or error_line(body.get("error"))
    if error or failed or not body:
        error = error or ("no response" if status is None else f"status code {status!r} without an answer")
        return [Completion(None, error=error)]
    if isinstance(body.get("output"), list):
        return [_response(body)]
    choices = body.get("choices")
    if not isinstance(choices, list) or not all(isinstance(choice, dict) for choice in choices):
        raise UnreadableError(
            "response.body holds neither `choices` nor `output`; expected the answer of /v1/chat/completions, "
            "/v1/completions or /v1/responses"
        )
    return [choice_completion(choice) for choice in choices] or [Completion(None, error="no choices in the response")]


def choice_completion(choice: dict[str, Any]) -> Completion:
    """One of the `choices` of a chat completion or a text completion. Raises UnreadableError."""
    finish = choice.get("finish_reason")
    message = choice.get("message")
    if not isinstance(message, dict):
        text = answer_text(choice.get("text"), "choices.text")
        return Completion(text, None, finish_of(finish), failure_of(finish))
    text = answer_text(message.get("content"), "choices.message.content")
    reasoning = optional_text(message.get("reasoning")) or optional_text(message.get("reasoning_content"))
    refused = bool(optional_text(message.get("refusal")))
    return Completion(text, reasoning, "refused" if refused else finish_of(finish), failure_of(finish))


def _response(body: dict[str, Any]) -> Completion:
    """A body of /v1/responses."""
    texts: list[str] = []
    thoughts: list[str] = []
    refused = messages = False
    for item in body["output"]:
        if as_object(item).get("type") == "reasoning":
            thoughts += _texts(item.get("content"), ("reasoning_text",)) or _texts(
                item.get("summary"), ("summary_text",)
            )
        elif as_object(item).get("type") == "message":
            messages = True
            texts += _texts(item.get("content"), ("output_text", "text"))
            refused = refused or any(as_object(part).get("type") == "refusal" for part in as_list(item.get("content")))
    finish = finish_of(as_object(body.get("incomplete_details")).get("reason")) or finish_of(body.get("status"))
    error = f"status {body['status']}" if body.get("status") in ("failed", "cancelled") else None
    text = "".join(texts) if texts or (messages and not refused) else None
    return Completion(text, "\n".join(thoughts) or None, "refused" if refused else finish, error)


def _texts(parts: object, kinds: tuple[str, ...]) -> list[str]:
    """The texts of the parts of some types. Raises UnreadableError if one of these has no text."""
    texts = [part.get("text") for part in as_list(parts) if as_object(part).get("type") in kinds]
    if not all(isinstance(text, str) for text in texts):
        raise UnreadableError(f"the answer is not text: a part of type {' or '.join(kinds)} has no string `text`")
    return [text for text in texts if isinstance(text, str)]


def _read_chat_completions(blocks: Iterable[LineBlock], read_line: ReadLine) -> Iterator[Answer | Malformed]:
    """Read chat completions with one choice that is text; every other line goes to `read_line`."""
    number = 0
    loads, dumps, ends = orjson.loads, orjson.dumps, FINISHES_OR_NONE
    for block, cut in blocks:
        for line in block:
            number += 1
            try:
                record = loads(line)
                response = record["response"]
                (choice,) = response["body"]["choices"]
                message = choice["message"]
                name = record["custom_id"]
                text = message["content"]
                finish = ends[choice["finish_reason"]]
                usual = (
                    type(name) is str
                    and type(text) is str
                    and name
                    and response.get("status_code", 200) == 200
                    and not record.get("error")
                    and not response["body"].get("error")
                    and not message.get("refusal")
                    and "output" not in response["body"]
                )
                reasoning = message.get("reasoning") or message.get("reasoning_content") or None
            except (ValueError, KeyError, TypeError, AttributeError):
                yield from read_line(line, number, cut)
                continue
            if (
                usual
                and (reasoning is None or type(reasoning) is str)
                and (colons := line.count(b":")) + line.count(b"[") < MAX_DEPTH
                and colons == dumps(record).count(b":")
                and not colons_escaped(line)
            ):
                yield Answer(name, text, reasoning, finish, None, None, None, 0, number, None)
            else:
                yield from read_line(line, number, cut)


OPENAI_RESPONSES = Format(
    name="openai-responses",
    what="OpenAI batch output of /v1/responses",
    example=(
        '{"custom_id":"X","response":{"status_code":200,"body":{"object":"response","status":"completed","output":'
        '[{"type":"message","content":[{"type":"output_text","text":"It is 42."}]}]}},"error":null}'
    ),
    container="json",
    matches=_is_responses,
    identify=_custom_id,
    completions=_openai_completions,
    by_id=True,
)
VLLM_BATCH = Format(
    name="vllm-batch",
    what="vLLM run-batch output",
    example=(
        '{"id":"vllm-1","custom_id":"X","response":{"status_code":200,"body":{"object":"chat.completion","choices":'
        '[{"index":0,"message":{"content":"It is 42."},"finish_reason":"stop"}]}},"error":null}'
    ),
    container="json",
    matches=_is_vllm,
    identify=_custom_id,
    completions=_openai_completions,
    by_id=True,
    read_usual=_read_chat_completions,
)
OPENAI_BATCH = Format(
    name="openai-batch",
    what="OpenAI batch output or error file, and every service that writes this format",
    example=(
        '{"custom_id":"X","response":{"status_code":200,"body":{"object":"chat.completion","choices":'
        '[{"index":0,"message":{"content":"It is 42."},"finish_reason":"stop"}]}},"error":null}'
    ),
    container="json",
    matches=_is_openai,
    identify=_custom_id,
    completions=_openai_completions,
    by_id=True,
    read_usual=_read_chat_completions,
)
