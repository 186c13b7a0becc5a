"""Reads the outputs of HELMET's own script, which are matched to rows by their order."""

from __future__ import annotations

from typing import Any

from niah_score.formats.fields import answer_text, by_order, optional_text
from niah_score.formats.record import Completion, Format, Identity, Record, UnreadableError


def _matches(record: Record) -> bool:
    return "output" in record and ("output_len" in record or "parsed_output" in record)


def _identity(record: Record, index: int) -> Identity:
    return by_order(record, "id", index, record.get("answer"))


def _completions(record: Record) -> list[Completion]:
    if "output" not in record:
        raise UnreadableError("no field 'output'; expected the answer's text in it")
    return [Completion(answer_text(record["output"], "output"), optional_text(record.get("thoughts")))]


def _records(document: object) -> list[Any] | None:
    """The records of a HELMET output; None if the document is not one."""
    if isinstance(document, dict) and ("args" in document or "metrics" in document):
        data = document.get("data")
        return data if isinstance(data, list) else None
    return None


HELMET = Format(
    name="helmet",
    what="HELMET output/<model>/*.json",
    example='{"args":{},"data":[{"input_text":"...","output":"It is 42.","answer":"42","output_len":5}],"metrics":{}}',
    container="json",
    matches=_matches,
    identify=_identity,
    completions=_completions,
    documents=_records,
)
