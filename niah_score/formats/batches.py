"""Reads the output of batches: OpenAI's and of every service that writes it, Anthropic's, and of Gemini models."""

from __future__ import annotations

from typing import Any

from niah_score.formats import fields
from niah_score.formats.record import Completion, Format, Identity, Record, UnreadableError


class _WithCustomId(Format):
    def identify(self, record: Record, index: int) -> Identity:
        return Identity(fields.id_text(record.get("custom_id"), "custom_id"))


class OpenAIBatch(_WithCustomId):
    name = "openai-batch"
    what = "OpenAI batch output or error file, and every service that writes this format"

    def matches(self, record: Record) -> bool:
        if "custom_id" not in record or isinstance(record.get("result"), dict):
            return False
        response = record.get("response")
        return isinstance(response, dict) or (response is None and "error" in record)

    def completions(self, record: Record) -> list[Completion]:
        """A line of an output file, or of the error file that comes with it."""
        response = fields.inner(record, "response")
        body = fields.inner(response, "body")
        status = response.get("status_code")
        failed = isinstance(status, int) and not 200 <= status < 300
        error = fields.error_line(record.get("error")) or fields.error_line(body.get("error"))
        if error or failed or not body:
            error = error or ("no response" if status is None else f"status code {status!r} without an answer")
            return [Completion(None, error=error)]
        if isinstance(body.get("output"), list):
            return [_response(body)]
        choices = body.get("choices")
        if not isinstance(choices, list) or not all(isinstance(choice, dict) for choice in choices):
            raise UnreadableError("response.body holds neither `choices` nor `output`, lists of objects")
        return [choice_completion(one) for one in choices] or [Completion(None, error="no choices in the response")]


class VllmBatch(OpenAIBatch):
    name = "vllm-batch"
    what = "vLLM run-batch output"

    def matches(self, record: Record) -> bool:
        return super().matches(record) and str(record.get("id", "")).startswith("vllm-")


class OpenAIResponses(OpenAIBatch):
    name = "openai-responses"
    what = "OpenAI batch output of /v1/responses"

    def matches(self, record: Record) -> bool:
        body = fields.inner(record, "response.body")
        return super().matches(record) and (body.get("object") == "response" or isinstance(body.get("output"), list))


def choice_completion(choice: dict[str, Any]) -> Completion:
    """One of the `choices` of a chat completion or a text completion. Raises UnreadableError."""
    finish = choice.get("finish_reason")
    message = choice.get("message")
    if not isinstance(message, dict):
        text = fields.answer_text(choice.get("text"), "choices.text")
        return Completion(text, None, fields.finish_of(finish), fields.failure_of(finish))
    text = fields.answer_text(message.get("content"), "choices.message.content")
    reasoning = fields.optional_text(message.get("reasoning")) or fields.optional_text(message.get("reasoning_content"))
    refused = bool(fields.optional_text(message.get("refusal")))
    return Completion(text, reasoning, "refused" if refused else fields.finish_of(finish), fields.failure_of(finish))


def _response(body: dict[str, Any]) -> Completion:
    """A body of /v1/responses."""
    items = [fields.as_object(item) for item in body["output"]]
    contents = [fields.as_list(item.get("content")) for item in items if item.get("type") == "message"]
    parts = [fields.as_object(part) for content in contents for part in content]
    texts = _texts(parts, "output_text", "text")
    thoughts: list[str] = []
    for item in items:
        if item.get("type") == "reasoning":
            thoughts += _texts(item.get("content"), "reasoning_text") or _texts(item.get("summary"), "summary_text")
    refused = any(part.get("type") == "refusal" for part in parts)
    finish = fields.finish_of(fields.at(body, "incomplete_details.reason")) or fields.finish_of(body.get("status"))
    error = f"status {body['status']}" if body.get("status") in ("failed", "cancelled") else None
    text = "".join(texts) if texts or (contents and not refused) else None
    return Completion(text, "\n".join(thoughts) or None, "refused" if refused else finish, error)


def _texts(parts: object, *kinds: str) -> list[str]:
    """The texts of the parts of some types. Raises UnreadableError if one of these has no text."""
    texts = [part.get("text") for part in fields.as_list(parts) if fields.as_object(part).get("type") in kinds]
    if not all(isinstance(text, str) for text in texts):
        raise UnreadableError(f"the answer is not text: a part of type {' or '.join(kinds)} has no string `text`")
    return texts


class AnthropicBatch(_WithCustomId):
    name = "anthropic-batch"
    what = "Anthropic message batch results"

    def matches(self, record: Record) -> bool:
        return "custom_id" in record and isinstance(fields.at(record, "result.type"), str)

    def completions(self, record: Record) -> list[Completion]:
        result = fields.inner(record, "result")
        kind, message = result.get("type"), fields.inner(result, "message")
        if kind != "succeeded":
            return [Completion(None, error=fields.error_line(result.get("error")) or str(kind or "no result"))]
        content, finish = message.get("content"), fields.finish_of(message.get("stop_reason"))
        text = fields.answer_text(content, "result.message.content")
        return [Completion(text, fields.thoughts_in(content, "thinking"), finish)]


class GeminiBatch(Format):
    name = "gemini-batch"
    what = "Gemini API batch output file"

    def matches(self, record: Record) -> bool:
        response = record.get("response")
        if isinstance(response, dict):
            return not {"candidates", "promptFeedback", "prompt_feedback", "usageMetadata"}.isdisjoint(response)
        return "key" in record and isinstance(record.get("error"), dict) and response is None

    def identify(self, record: Record, index: int) -> Identity:
        if "key" in record:
            return Identity(fields.id_text(record["key"], "key"))
        # Answers to requests without keys come in the order of the requests.
        return Identity(position=index)

    def completions(self, record: Record) -> list[Completion]:
        response = fields.inner(record, "response")
        error = fields.error_line(record.get("error")) or fields.error_line(record.get("status"))
        if error or not response:
            return [Completion(None, error=error or "no response")]
        candidates = fields.as_list(response.get("candidates"))
        if candidates:
            return [_candidate(fields.as_object(candidate)) for candidate in candidates]
        feedback = fields.as_object(response.get("promptFeedback") or response.get("prompt_feedback"))
        if feedback.get("blockReason") or feedback.get("block_reason"):
            return [Completion(None, finish="refused")]
        return [Completion(None, error="no candidates in the response")]


class VertexBatch(GeminiBatch):
    name = "vertex-batch"
    what = "Vertex AI batch prediction output of Gemini models"

    def matches(self, record: Record) -> bool:
        answered = isinstance(record.get("response"), dict) or isinstance(record.get("status"), str)
        return isinstance(record.get("request"), dict) and "custom_id" not in record and answered

    def identify(self, record: Record, index: int) -> Identity:
        prompt = fields.echoed(_prompt(fields.inner(record, "request")))
        return Identity(fields.id_text(record["key"], "key") if "key" in record else None, prompt)


def _prompt(request: dict[str, Any]) -> list[dict[str, Any]]:
    """The chat in a request; a message without a text where it holds anything else."""
    system = request.get("systemInstruction") or request.get("system_instruction")
    turns = [("system", system)] if isinstance(system, dict) else []
    turns += [(fields.as_object(turn).get("role") or "user", turn) for turn in fields.as_list(request.get("contents"))]
    chat = []
    for role, turn in turns:
        texts = [fields.as_object(part).get("text") for part in fields.as_list(fields.as_object(turn).get("parts"))]
        text = "".join(map(str, texts)) if texts and all(isinstance(text, str) for text in texts) else None
        chat.append({"role": "assistant" if role == "model" else role, "content": text})
    return chat


def _candidate(candidate: dict[str, Any]) -> Completion:
    parts = [fields.as_object(part) for part in fields.as_list(fields.at(candidate, "content.parts"))]
    parts = [part for part in parts if "text" in part]
    if not all(isinstance(part["text"], str) for part in parts):
        raise UnreadableError("the answer is not text: content.parts holds a `text` that is not a string")
    texts = [part["text"] for part in parts if not part.get("thought")]
    thoughts = [part["text"] for part in parts if part.get("thought")]
    finish = fields.finish_of(candidate.get("finishReason") or candidate.get("finish_reason"))
    return Completion("".join(texts) if texts else None, "".join(thoughts) or None, finish)
