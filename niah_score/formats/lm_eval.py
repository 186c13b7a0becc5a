"""Reads the samples that lm-evaluation-harness logs."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import orjson

from niah_score.formats.containers.strict_json import EncodingError, parse
from niah_score.formats.fields import (
    answer_text,
    as_object,
    echoed,
    first_item,
    id_text,
    place_number,
    references,
)
from niah_score.formats.record import Completion, Format, Identity, LineBlock, Record, UnreadableError


def _matches(record: Record) -> bool:
    return "doc_id" in record and "doc" in record and ("resps" in record or "filtered_resps" in record)


def _identity(record: Record, index: int) -> Identity:
    doc = as_object(record.get("doc"))
    prompt = echoed(_first_argument(record.get("arguments")))
    reference = references(record.get("target"))
    if "id" in doc:
        return Identity(id_text(doc["id"], "doc.id"), prompt, None, reference)
    return Identity(None, prompt, place_number(record.get("doc_id"), "doc_id"), reference)


def _first_argument(arguments: object) -> object:
    """The prompt as it was sent: under a name, or in lists in older releases. Chats are JSON in a list."""
    if isinstance(arguments, dict):
        prompt = as_object(arguments.get("gen_args_0")).get("arg_0")
    else:
        prompt = first_item(first_item(arguments))
    chat = first_item(prompt)
    if isinstance(chat, str):
        try:
            return orjson.loads(chat)
        except ValueError:
            return None
    return prompt


def _completions(record: Record) -> list[Completion]:
    """All samples of the filter `none`, which itself keeps only the first; the output of another filter, unchanged."""
    raw, filtered = first_item(record.get("resps")), first_item(record.get("filtered_resps"))
    # Generated answers are texts, log-likelihoods are pairs.
    generated = isinstance(raw, list) and all(isinstance(text, str) for text in raw)
    if generated and len(raw) > 1 and record.get("filter", "none") == "none":
        texts = raw
    elif generated and isinstance(filtered, list):
        texts = filtered
    elif filtered is not None:
        texts = [filtered]
    else:
        texts = [first_item(raw)]
    return [Completion(answer_text(text, "filtered_resps")) for text in texts] or [Completion(None)]


def _filter_of(record: object) -> str | None:
    """The filter that a record belongs to; None for a record of another format."""
    if isinstance(record, dict) and _matches(record):
        return str(record.get("filter", "none"))
    return None


def _answer_records(blocks: Iterable[LineBlock]) -> Callable[[object], bool]:
    """Selects the lines of one filter, since several repeat the same answers: `none` if there is one, else the first.

    Most files begin with `none`, so that one line is enough. Otherwise all lines are scanned before any is read: `none`
    may come last, and a file may have too many answers to hold back until then.
    """
    chosen = _chosen_filter(blocks)
    return lambda record: chosen is None or (_filter_of(record) or chosen) == chosen


def _chosen_filter(blocks: Iterable[LineBlock]) -> str | None:
    first: str | None = None
    for lines, _ in blocks:
        for line in lines:
            # Once the first filter is known, only a line that spells `none` matters.
            if line is None or (first is not None and b'"none"' not in line):
                continue
            try:
                name = _filter_of(parse(line))
            except (UnreadableError, EncodingError):
                continue
            if name == "none":
                return name
            first = first or name
    return first


LM_EVAL = Format(
    name="lm-eval",
    what="lm-evaluation-harness samples_*.jsonl (--log_samples)",
    example=(
        '{"doc_id":0,"doc":{"id":"X"},"target":"42","arguments":{"gen_args_0":{"arg_0":"..."}},'
        '"resps":[["It is 42."]],"filtered_resps":["It is 42."],"filter":"none"}'
    ),
    container="json",
    matches=_matches,
    identify=_identity,
    completions=_completions,
    by_id=True,
    answer_records=_answer_records,
)
