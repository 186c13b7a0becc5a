"""Reads the details that lighteval saves as Parquet."""

from __future__ import annotations

from typing import Any

from niah_score.formats.fields import (
    answer_text,
    as_object,
    id_text,
    optional_text,
    place_number,
    prompt_sha256,
    references,
)
from niah_score.formats.record import Completion, Format, Identity, Record, UnreadableError


def _matches(record: Record) -> bool:
    return "__doc__" in record and "__model_response__" in record


def _identity(record: Record, index: int) -> Identity:
    doc = as_object(record.get("__doc__"))
    prompt = prompt_sha256(doc.get("query"))
    reference = _lighteval_gold(doc)
    specific = as_object(doc.get("specific"))
    if specific.get("id") is not None:
        return Identity(id_text(specific["id"], "__doc__.specific.id"), prompt, None, reference)
    named = doc.get("id")
    if isinstance(named, str) and named and not named.isdigit():
        return Identity(named, prompt, None, reference)
    # Its own ids are the places of the rows.
    return Identity(None, prompt, place_number(named, "__doc__.id") if named not in (None, "") else index, reference)


def _lighteval_gold(doc: dict[str, Any]) -> tuple[str, ...] | None:
    choices, gold = doc.get("choices"), doc.get("gold_index")
    if not isinstance(choices, list):
        return None
    places = gold if isinstance(gold, list) else [gold]
    return references([choices[place] for place in places if isinstance(place, int) and 0 <= place < len(choices)])


def _completions(record: Record) -> list[Completion]:
    response = as_object(record.get("__model_response__"))
    texts = response.get("text")
    if not isinstance(texts, list):
        raise UnreadableError("the answer is not text: __model_response__.text is no list; expected generated texts")
    thoughts = response.get("reasonings")
    if not isinstance(thoughts, list) or len(thoughts) != len(texts):
        thoughts = [None] * len(texts)
    return [
        Completion(answer_text(text, "__model_response__.text"), optional_text(thought))
        for text, thought in zip(texts, thoughts, strict=True)
    ] or [Completion(None)]


LIGHTEVAL = Format(
    name="lighteval",
    what="lighteval details in Parquet (--save-details)",
    example='{"__doc__":{"query":"...","id":"0","specific":{"id":"X"}},"__model_response__":{"text":["It is 42."]}}',
    container="parquet",
    matches=_matches,
    identify=_identity,
    completions=_completions,
    leaves=(
        "__doc__.id",
        "__doc__.query",
        "__doc__.specific.id",
        "__doc__.choices",
        "__doc__.gold_index",
        "__model_response__.text.",
        "__model_response__.reasonings.",
    ),
)
