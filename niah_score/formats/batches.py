"""Reads the output of batches: OpenAI's and of every service that writes it, Anthropic's, and of Gemini models."""

from __future__ import annotations

from functools import partial
from typing import Any

from niah_score.contract import Message
from niah_score.formats.fields import (
    answer_text,
    as_list,
    as_object,
    echoed,
    error_line,
    failure_of,
    finish_of,
    id_text,
    optional_text,
)
from niah_score.formats.record import Completion, Format, Identity, Record, UnreadableError


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


_openai = partial(Format, identify=_custom_id, completions=_openai_completions, by_id=True)
OPENAI_RESPONSES = _openai(
    name="openai-responses",
    what="OpenAI batch output of /v1/responses",
    example=(
        '{"custom_id":"X","response":{"status_code":200,"body":{"object":"response","status":"completed","output":'
        '[{"type":"message","content":[{"type":"output_text","text":"It is 42."}]}]}},"error":null}'
    ),
    matches=_is_responses,
)
_CHAT = (
    '"custom_id":"X","response":{"status_code":200,"body":{"object":"chat.completion","choices":[{"index":0,"message":'
    '{"content":"It is 42."},"finish_reason":"stop"}]}},"error":null}'
)
VLLM_BATCH = _openai(
    name="vllm-batch", what="vLLM run-batch output", example='{"id":"vllm-1",' + _CHAT, matches=_is_vllm
)
OPENAI_BATCH = _openai(
    name="openai-batch",
    what="OpenAI batch output or error file, and every service that writes this format",
    example="{" + _CHAT,
    matches=_is_openai,
)


# Anthropic ------------------------------------------------------------------------------------------------------------


def _is_anthropic(record: Record) -> bool:
    return "custom_id" in record and isinstance(as_object(record.get("result")).get("type"), str)


def _anthropic_completions(record: Record) -> list[Completion]:
    result = as_object(record.get("result"))
    if result.get("type") != "succeeded":
        return [Completion(None, error=error_line(result.get("error")) or str(result.get("type") or "no result"))]
    message = as_object(result.get("message"))
    content = message.get("content")
    thoughts = [part["thinking"] for part in as_list(content) if isinstance(as_object(part).get("thinking"), str)]
    text = answer_text(content, "result.message.content")
    return [Completion(text, "\n".join(thoughts) or None, finish_of(message.get("stop_reason")))]


ANTHROPIC_BATCH = Format(
    name="anthropic-batch",
    what="Anthropic message batch results",
    example=(
        '{"custom_id":"X","result":{"type":"succeeded","message":{"content":[{"type":"text","text":"It is 42."}],'
        '"stop_reason":"end_turn"}}}'
    ),
    matches=_is_anthropic,
    identify=_custom_id,
    completions=_anthropic_completions,
    by_id=True,
)


# Gemini ---------------------------------------------------------------------------------------------------------------


def _is_vertex(record: Record) -> bool:
    return (
        isinstance(record.get("request"), dict)
        and "custom_id" not in record
        and (isinstance(record.get("response"), dict) or isinstance(record.get("status"), str))
    )


def _is_gemini(record: Record) -> bool:
    response = record.get("response")
    if isinstance(response, dict):
        return any(name in response for name in ("candidates", "promptFeedback", "prompt_feedback", "usageMetadata"))
    return "key" in record and isinstance(record.get("error"), dict) and response is None


def _gemini_identity(record: Record, index: int) -> Identity:
    if "key" in record:
        return Identity(id_text(record["key"], "key"))
    # Answers to requests without keys come in the order of the requests.
    return Identity(position=index)


def _vertex_identity(record: Record, index: int) -> Identity:
    prompt = echoed(_messages(as_object(record.get("request"))))
    return Identity(id_text(record["key"], "key") if "key" in record else None, prompt)


def _messages(request: dict[str, Any]) -> list[Message] | None:
    """The prompt in a request; None if it holds anything but text."""
    system = request.get("systemInstruction") or request.get("system_instruction")
    turns = [("system", system)] if isinstance(system, dict) else []
    turns += [(as_object(turn).get("role") or "user", turn) for turn in as_list(request.get("contents"))]
    messages = []
    for role, turn in turns:
        texts = [as_object(part).get("text") for part in as_list(as_object(turn).get("parts"))]
        if not texts or not all(isinstance(text, str) for text in texts):
            return None
        messages.append(Message(role="assistant" if role == "model" else str(role), content="".join(map(str, texts))))
    return messages


def _gemini_completions(record: Record) -> list[Completion]:
    response = as_object(record.get("response"))
    error = error_line(record.get("error")) or error_line(record.get("status"))
    if error or not response:
        return [Completion(None, error=error or "no response")]
    feedback = as_object(response.get("promptFeedback") or response.get("prompt_feedback"))
    candidates = as_list(response.get("candidates"))
    if not candidates:
        reason = feedback.get("blockReason") or feedback.get("block_reason")
        blocked = Completion(None, finish="refused")
        return [blocked if reason else Completion(None, error="no candidates in the response")]
    return [_candidate(as_object(candidate)) for candidate in candidates]


def _candidate(candidate: dict[str, Any]) -> Completion:
    content = as_object(candidate.get("content"))
    parts = [part for part in map(as_object, as_list(content.get("parts"))) if "text" in part]
    if not all(isinstance(part["text"], str) for part in parts):
        raise UnreadableError(
            "the answer is not text: response.candidates.content.parts holds a `text` that is not a string"
        )
    texts = [part["text"] for part in parts if not part.get("thought")]
    thoughts = [part["text"] for part in parts if part.get("thought")]
    finish = finish_of(candidate.get("finishReason") or candidate.get("finish_reason"))
    return Completion("".join(texts) if texts else None, "".join(thoughts) or None, finish)


_gemini = partial(Format, completions=_gemini_completions, by_id=True)
_CANDIDATES = '"response":{"candidates":[{"content":{"parts":[{"text":"It is 42."}]},"finishReason":"STOP"}]}}'
VERTEX_BATCH = _gemini(
    name="vertex-batch",
    what="Vertex AI batch prediction output of Gemini models",
    example='{"status":"","request":{"contents":[{"role":"user","parts":[{"text":"..."}]}]},' + _CANDIDATES,
    matches=_is_vertex,
    identify=_vertex_identity,
)
GEMINI_BATCH = _gemini(
    name="gemini-batch",
    what="Gemini API batch output file",
    example='{"key":"X",' + _CANDIDATES,
    matches=_is_gemini,
    identify=_gemini_identity,
)
