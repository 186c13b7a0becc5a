"""Reads the batch output of Gemini models, from the Gemini API and from Vertex AI."""

from __future__ import annotations

from typing import Any

from niah_score.contract import Message
from niah_score.formats.fields import as_list, as_object, echoed, error_line, finish_of, id_text
from niah_score.formats.record import Completion, Format, Identity, Record, UnreadableError


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


VERTEX_BATCH = Format(
    name="vertex-batch",
    what="Vertex AI batch prediction output of Gemini models",
    example=(
        '{"status":"","request":{"contents":[{"role":"user","parts":[{"text":"..."}]}]},"response":{"candidates":'
        '[{"content":{"parts":[{"text":"It is 42."}]},"finishReason":"STOP"}]}}'
    ),
    container="json",
    matches=_is_vertex,
    identify=_vertex_identity,
    completions=_gemini_completions,
    by_id=True,
)
GEMINI_BATCH = Format(
    name="gemini-batch",
    what="Gemini API batch output file",
    example=(
        '{"key":"X","response":{"candidates":[{"content":{"parts":[{"text":"It is 42."}]},"finishReason":"STOP"}]}}'
    ),
    container="json",
    matches=_is_gemini,
    identify=_gemini_identity,
    completions=_gemini_completions,
    by_id=True,
)
