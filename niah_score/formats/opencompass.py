"""Reads the prediction files of OpenCompass, finished or temporary."""

from __future__ import annotations

from typing import Any

from niah_score.contract import Message
from niah_score.formats.fields import (
    answer_text,
    as_object,
    echoed,
    id_text,
    place_number,
    references,
)
from niah_score.formats.record import Completion, Format, Identity, Record

_ROLES = {"HUMAN": "user", "BOT": "assistant", "SYSTEM": "system"}


def _matches(record: Record) -> bool:
    return "origin_prompt" in record and "prediction" in record


def _identity(record: Record, index: int) -> Identity:
    place = record["idx"] if "idx" in record else record.get("index", index)
    prompt = record.get("origin_prompt")
    prompt = _messages(prompt) if isinstance(prompt, list) else prompt
    gold = record.get("gold")
    if isinstance(gold, dict) and gold.get("id") is not None:
        # As in our exports for OpenCompass; other datasets have no ids.
        return Identity(id_text(gold["id"], "gold.id"), echoed(prompt), None, references(gold.get("answers")))
    return Identity(None, echoed(prompt), place_number(place, "idx"), references(gold))


def _messages(turns: list[Any]) -> list[Message] | None:
    """The prompt as chat messages; None if a turn holds anything but text."""
    messages = []
    for turn in turns:
        role, text = as_object(turn).get("role"), as_object(turn).get("prompt")
        if not isinstance(role, str) or not isinstance(text, str):
            return None
        messages.append(Message(role=_ROLES.get(role, role), content=text))
    return messages


def _completions(record: Record) -> list[Completion]:
    prediction = record.get("prediction")
    if isinstance(prediction, list) and prediction and all(isinstance(text, str) for text in prediction):
        return [Completion(text) for text in prediction]
    return [Completion(answer_text(prediction, "prediction"))]


def _records(document: object) -> list[Any] | None:
    """The records of an OpenCompass prediction file, their keys as `idx`; None if the document is not one."""
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
