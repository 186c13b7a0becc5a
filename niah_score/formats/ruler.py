"""Reads the predictions of RULER's own script, which are matched to rows by their order."""

from __future__ import annotations

from niah_score.formats.fields import answer_text, by_order
from niah_score.formats.record import Completion, Format, Identity, Record


def _matches(record: Record) -> bool:
    return "pred" in record and isinstance(record.get("outputs"), list)


def _identity(record: Record, index: int) -> Identity:
    # Not the record's `index`: the scripts reuse that variable, so it is not a row number.
    return by_order(record, "id", index, record.get("outputs"))


def _completions(record: Record) -> list[Completion]:
    return [Completion(answer_text(record.get("pred"), "pred"))]


RULER = Format(
    name="ruler",
    what="RULER predictions (pred/<task>.jsonl)",
    example='{"index":0,"pred":"It is 42.","input":"...","outputs":["42"],"others":{},"truncation":-1,"length":8000}',
    container="json",
    matches=_matches,
    identify=_identity,
    completions=_completions,
)
