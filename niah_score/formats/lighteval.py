"""Reads the details that lighteval saves as Parquet, in the layouts of all its releases."""

from __future__ import annotations

from typing import Any

from niah_score.formats.fields import (
    answer_text,
    as_object,
    echoed,
    id_text,
    optional_text,
    place_number,
    references,
)
from niah_score.formats.record import Completion, Format, Identity, Record, UnreadableError

# The names of a record's two parts: as written from release 0.11 on, and as in the documentation.
_PARTS = (("doc", "model_response"), ("__doc__", "__model_response__"))
# The columns by which flat details, from releases 0.8 to 0.10, are recognised.
_FLAT = ("example", "predictions", "specifics")


def _matches(record: Record) -> bool:
    return any(doc in record and response in record for doc, response in _PARTS) or all(
        name in record for name in _FLAT
    )


def _part(record: Record, place: int) -> tuple[str, dict[str, Any]]:
    """The name and the value of the document (0) or of the model's response (1); empty in flat records."""
    name = next((names[place] for names in _PARTS if names[place] in record), _PARTS[0][place])
    return name, as_object(record.get(name))


def _identity(record: Record, index: int) -> Identity:
    name, doc = _part(record, 0)
    # The prompt of the task. What was sent may be in a chat template, which only older releases record.
    prompt = echoed(doc.get("query", record.get("example")))
    reference = _gold(doc) or references(record.get("gold"))
    specific = as_object(doc.get("specific", record.get("specifics")))
    if specific.get("id") is not None:
        return Identity(id_text(specific["id"], f"{name}.specific.id"), prompt, None, reference)
    named = doc.get("id")
    if isinstance(named, str) and named and not named.isdigit():
        return Identity(named, prompt, None, reference)
    # lighteval's own ids are the places of the rows.
    return Identity(None, prompt, place_number(named, f"{name}.id") if named not in (None, "") else index, reference)


def _gold(doc: dict[str, Any]) -> tuple[str, ...] | None:
    choices, gold = doc.get("choices"), doc.get("gold_index")
    if not isinstance(choices, list):
        return None
    places = gold if isinstance(gold, list) else [gold]
    return references([choices[place] for place in places if isinstance(place, int) and 0 <= place < len(choices)])


def _completions(record: Record) -> list[Completion]:
    name, response = _part(record, 1)
    field = "predictions" if "predictions" in record else f"{name}.text"
    texts = record.get("predictions", response.get("text"))
    if not isinstance(texts, list):
        raise UnreadableError(f"the answer is not text: {field} is not a list; expected generated texts")
    thoughts = response.get("reasonings")
    if not isinstance(thoughts, list) or len(thoughts) != len(texts):
        thoughts = [None] * len(texts)
    return [
        Completion(answer_text(text, field), optional_text(thought))
        for text, thought in zip(texts, thoughts, strict=True)
    ] or [Completion(None)]


def _layout(doc: str, response: str) -> tuple[str, ...]:
    return (
        f"{doc}.id",
        f"{doc}.query",
        f"{doc}.specific.id",
        f"{doc}.choices",
        f"{doc}.gold_index",
        f"{response}.text.",
        f"{response}.reasonings.",
    )


LIGHTEVAL = Format(
    name="lighteval",
    what="lighteval details in Parquet (--save-details)",
    example='{"doc":{"query":"...","id":"0","specific":{"id":"X"}},"model_response":{"text":["It is 42."]}}',
    container="parquet",
    matches=_matches,
    identify=_identity,
    completions=_completions,
    layouts=(*(_layout(*names) for names in _PARTS), ("example", "predictions", "gold.", "specifics.id")),
)
