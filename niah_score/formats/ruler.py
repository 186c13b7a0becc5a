"""Reads the predictions of RULER's own script, which echo the prompt, in newer releases with its answer prefix."""

from __future__ import annotations

from niah_score.contract import sha256_hex
from niah_score.formats.fields import answer_text, by_order, echoed
from niah_score.formats.record import Completion, Format, Identity, Record

# How the answer prefixes of all tasks begin. None has a line end.
_PREFIXES = (" The special magic ", " Answer:")


def _matches(record: Record) -> bool:
    return "pred" in record and isinstance(record.get("outputs"), list)


def _identity(record: Record, index: int) -> Identity:
    # Not the record's `index`: the scripts reuse that variable, so it is not a row number.
    identity = by_order(record, "id", index, record.get("outputs"))
    sent = record.get("input")
    prompt = echoed(sent)
    if prompt is not None and isinstance(sent, str):
        at = max(map(sent.rfind, _PREFIXES))
        if at > 0 and "\n" not in sent[at:]:
            prompt = prompt._replace(chat_sha256=sha256_hex(sent[:at].encode()))
    return identity._replace(prompt=prompt)


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
