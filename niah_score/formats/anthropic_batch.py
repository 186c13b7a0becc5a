"""Reads the results of Anthropic message batches."""

from __future__ import annotations

from niah_score.formats.fields import answer_text, as_list, as_object, error_line, finish_of, id_text
from niah_score.formats.record import Completion, Format, Identity, Record


def _identity(record: Record, index: int) -> Identity:
    return Identity(id_text(record.get("custom_id"), "custom_id"))


def _matches(record: Record) -> bool:
    return "custom_id" in record and isinstance(as_object(record.get("result")).get("type"), str)


def _completions(record: Record) -> list[Completion]:
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
    container="json",
    matches=_matches,
    identify=_identity,
    completions=_completions,
    by_id=True,
)
