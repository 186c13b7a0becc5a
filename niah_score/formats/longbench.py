"""Reads the predictions of LongBench's own scripts, both versions, which are matched to rows by their order."""

from __future__ import annotations

from niah_score.formats.fields import answer_text, by_order
from niah_score.formats.record import Completion, Format, Identity, Record


def _matches(record: Record) -> bool:
    if "_id" in record:
        return ("response" in record or "response_cot" in record) and ("judge" in record or "pred" in record)
    return "pred" in record and "answers" in record and ("all_classes" in record or "length" in record)


def _identity(record: Record, index: int) -> Identity:
    return by_order(record, "_id", index, record.get("answers", record.get("answer")))


def _completions(record: Record) -> list[Completion]:
    # In the second version, `pred` is only the letter extracted from the response.
    names = ("response", "response_cot") if "_id" in record else ("pred",)
    name = next((name for name in names if name in record), names[0])
    return [Completion(answer_text(record.get(name), name))]


LONGBENCH = Format(
    name="longbench",
    what="LongBench predictions, first and second version",
    example='{"pred":"It is 42.","answers":["42"],"all_classes":null,"length":8000}',
    container="json",
    matches=_matches,
    identify=_identity,
    completions=_completions,
)
