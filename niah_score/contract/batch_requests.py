"""Writes chat messages as request lines for the batch services of OpenAI, Anthropic and Google.

Lines follow each service's documented batch format; niah_score.formats reads the output files under the same format
names. Nothing is sent anywhere.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

from niah_score.contract.rows import Message

# Scripts from this code point on have no spaces between words: Chinese, Japanese, Korean, and full-width punctuation.
_UNSPACED = "\u2e80"


def continuation_of(prompt: str | Sequence[Message], answer: str, answer_prefix: str | None) -> tuple[str, str]:
    """The text between prompt and answer, such as `The code is`, and the answer as it continues them.

    If the answer begins with the prefix, the second is its rest, unchanged. Otherwise prefix and answer each get a
    leading space if the characters on both sides of the gap are neither white space nor of a script without spaces.
    In a chat they begin a message, so the first of them gets no space.
    """
    before = prompt if isinstance(prompt, str) else ""
    prefix = ""
    if answer_prefix:
        prefix = _spaced(before, answer_prefix)
        if answer.startswith(answer_prefix) and len(answer) > len(answer_prefix):
            return prefix, answer[len(answer_prefix) :]
    return prefix, _spaced(prefix or before, answer)


def _spaced(before: str, text: str) -> str:
    last, first = before[-1:], text[:1]
    if not last or not first or last.isspace() or first.isspace() or max(last, first) >= _UNSPACED:
        return text
    return f" {text}"


# The most requests and bytes that one batch file may hold; None where the service publishes no limit. Keyed like
# BATCH_REQUESTS, plus two stacks that take the same requests. A megabyte is read as 1,000,000 bytes, the smaller
# meaning. Limits documented as of 2026:
# OpenAI, API reference, "Create batch", input_file_id: up to 50,000 requests and 200 MB in a file.
# Anthropic, guide "Batch processing", "Batch limitations": 100,000 requests or 256 MB, whichever is reached first.
# Gemini API, guide "Rate limits", "Batch API rate limits": an input file of at most 2 GB; no limit on requests.
# Vertex AI, guide "Batch inference with Gemini", "Request Limits": 200,000 requests a job, and 1 GB a file in Cloud
# Storage. vLLM's run_batch reads any file whole.
BATCH_LIMITS: dict[str, tuple[int | None, int | None]] = {
    "openai-batch": (50_000, 200_000_000),
    "openai-responses": (50_000, 200_000_000),
    "anthropic-batch": (100_000, 256_000_000),
    "gemini-batch": (None, 2_000_000_000),
    "vertex-batch": (200_000, 1_000_000_000),
    "vllm-batch": (None, None),
}
# The limits that suit all of them.
MAX_BATCH_REQUESTS = min(requests for requests, _ in BATCH_LIMITS.values() if requests is not None)
MAX_BATCH_BYTES = min(size for _, size in BATCH_LIMITS.values() if size is not None)


class RequestSettings(NamedTuple):
    """The settings that all requests of a batch share.

    `max_tokens`: limit of a reply. `temperature`: None leaves it out, as models must be asked that refuse any.
    `fields`: merged into the request body, tables recursively; None removes a field.
    """

    model: str
    max_tokens: int
    temperature: float | None = None
    fields: Mapping[str, Any] = MappingProxyType({})


def _openai_chat(name: str, messages: Sequence[Message], settings: RequestSettings) -> dict[str, Any]:
    body = {
        "model": settings.model, "messages": list(messages), "max_completion_tokens": settings.max_tokens,
        "temperature": settings.temperature,
    }  # fmt: skip
    return {"custom_id": name, "method": "POST", "url": "/v1/chat/completions", "body": _body(body, settings)}


def _openai_responses(name: str, messages: Sequence[Message], settings: RequestSettings) -> dict[str, Any]:
    system, turns = _without_system(messages)
    # A single user message may be a plain string.
    prompt = turns[0]["content"] if len(turns) == 1 and turns[0]["role"] == "user" else turns
    body = {
        "model": settings.model, "instructions": system, "input": prompt, "max_output_tokens": settings.max_tokens,
        "temperature": settings.temperature,
    }  # fmt: skip
    return {"custom_id": name, "method": "POST", "url": "/v1/responses", "body": _body(body, settings)}


def _anthropic(name: str, messages: Sequence[Message], settings: RequestSettings) -> dict[str, Any]:
    system, turns = _without_system(messages)
    params = {
        "model": settings.model, "max_tokens": settings.max_tokens, "temperature": settings.temperature,
        "system": system, "messages": turns,
    }  # fmt: skip
    return {"custom_id": name, "params": _body(params, settings)}


def _gemini(name: str, messages: Sequence[Message], settings: RequestSettings) -> dict[str, Any]:
    system, turns = _without_system(messages)
    roles = {"assistant": "model"}
    contents = [{"role": roles.get(turn["role"], "user"), "parts": [{"text": turn["content"]}]} for turn in turns]
    request = {
        "systemInstruction": {"parts": [{"text": system}]} if system else None, "contents": contents,
        "generationConfig": {"maxOutputTokens": settings.max_tokens, "temperature": settings.temperature},
    }  # fmt: skip
    return {"key": name, "request": _body(request, settings)}


def _body(fields: Mapping[str, Any], settings: RequestSettings) -> dict[str, Any]:
    """The body of a request: its fields, except those that are None, and those of the settings."""
    return _overlaid(_overlaid({}, fields), settings.fields)


def _overlaid(body: Mapping[str, Any], fields: Mapping[str, Any]) -> dict[str, Any]:
    """A copy of a body with fields merged into it, tables recursively; None removes a field."""
    merged = dict(body)
    for name, value in fields.items():
        if isinstance(value, Mapping):
            below = merged.get(name)
            value = _overlaid(below if isinstance(below, Mapping) else {}, value)
        merged[name] = value
    return {name: value for name, value in merged.items() if value is not None}


def _without_system(messages: Sequence[Message]) -> tuple[str | None, list[Message]]:
    """The text of the system messages, None if there is none, and the other messages."""
    system = "\n\n".join(message["content"] for message in messages if message["role"] == "system")
    return system or None, [message for message in messages if message["role"] != "system"]


# Make a request line from an id, its messages and the settings; keyed by the format name of the output file.
BATCH_REQUESTS: dict[str, Callable[[str, Sequence[Message], RequestSettings], dict[str, Any]]] = {
    "openai-batch": _openai_chat,
    "openai-responses": _openai_responses,
    "anthropic-batch": _anthropic,
    "gemini-batch": _gemini,
}
