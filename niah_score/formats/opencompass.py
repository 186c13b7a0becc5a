"""Reads the prediction files of OpenCompass, finished and temporary ones."""

from __future__ import annotations

from typing import Any

from niah_score.contract import Message
from niah_score.formats.fields import (
    answer_text,
    as_object,
    chat_sha256,
    messages_digest,
    place_number,
    prompt_sha256,
    references,
)
from niah_score.formats.record import Completion, Format, Identity, Record

_ROLES = {"HUMAN": "user", "BOT": "assistant", "SYSTEM": "system"}


def _matches(record: Record) -> bool:
    return "origin_prompt" in record and "prediction" in record


def _identity(record: Record, index: int) -> Identity:
    place = record["idx"] if "idx" in record else record.get("index", index)
    prompt, chat = _origin_prompts(record.get("origin_prompt"))
    return Identity(None, prompt, place_number(place, "idx"), references(record.get("gold")), 0, chat)


def _origin_prompts(value: object) -> tuple[str | None, str | None]:
    """The digests of an echoed prompt: as it stands, and as one message of the user."""
    if not isinstance(value, list):
        return prompt_sha256(value), chat_sha256(value)
    messages = []
    for turn in value:
        role, text = as_object(turn).get("role"), as_object(turn).get("prompt")
        if not isinstance(role, str) or not isinstance(text, str):
            return None, None
        messages.append(Message(role=_ROLES.get(role, role), content=text))
    alone = messages[0]["content"] if len(messages) == 1 and messages[0]["role"] == "user" else None
    return messages_digest(messages), chat_sha256(alone)


def _completions(record: Record) -> list[Completion]:
    found = record.get("prediction")
    if isinstance(found, list) and found and all(isinstance(text, str) for text in found):
        return [Completion(text) for text in found]
    return [Completion(answer_text(found, "prediction"))]


def _records(document: object) -> list[Any] | None:
    """The records of an OpenCompass prediction file, their keys as `idx`; None if the document is none."""
    if not isinstance(document, dict) or not document:
        return None
    if not all(key.isascii() and key.isdigit() and len(key) < 16 for key in document):
        return None
    if not any(isinstance(value, dict) and _matches(value) for value in document.values()):
        return None
    return [{**value, "idx": int(key)} if isinstance(value, dict) else value for key, value in document.items()]


OPENCOMPASS = Format(
    name="opencompass",
    what="OpenCompass predictions/<model>/<dataset>.json, shards and tmp_ files as well",
    example='{"0":{"origin_prompt":[{"role":"HUMAN","prompt":"..."}],"prediction":"It is 42.","gold":"42"}}',
    container="json",
    matches=_matches,
    identify=_identity,
    completions=_completions,
    documents=_records,
)
