"""Reads the logs of Inspect: a JSON document or a zip of samples."""

from __future__ import annotations

from typing import Any

from niah_score.formats.fields import (
    answer_text,
    as_list,
    as_object,
    echoed,
    epoch_number,
    error_line,
    finish_of,
    first_item,
    id_text,
    references,
)
from niah_score.formats.record import Completion, Format, Identity, Record, ZipMembers


def _matches(record: Record) -> bool:
    return "id" in record and "epoch" in record and isinstance(record.get("output"), dict)


def _identity(record: Record, index: int) -> Identity:
    # Inspect numbers samples without an id 1, 2, ...; then the input identifies the row.
    return Identity(
        id_text(record.get("id"), "id"),
        echoed(_input(record)),
        None,
        references(record.get("target")),
        epoch_number(record.get("epoch"), "epoch"),
    )


def _input(record: Record) -> object:
    """The prompt of the sample; a long text may be among the attachments."""
    value = record.get("input")
    if isinstance(value, str) and value.startswith("attachment://"):
        return as_object(record.get("attachments")).get(value.removeprefix("attachment://"))
    return value


def _completions(record: Record) -> list[Completion]:
    output = as_object(record.get("output"))
    choice = as_object(first_item(output.get("choices")))
    content = as_object(choice.get("message")).get("content")
    text = answer_text(output.get("completion", content), "output.completion")
    thoughts = [part["reasoning"] for part in as_list(content) if isinstance(as_object(part).get("reasoning"), str)]
    error = error_line(record.get("error")) or error_line(output.get("error"))
    finish = finish_of(choice.get("stop_reason"))
    if record.get("limit") and finish != "refused":
        finish = "truncated"
    # A failed sample has an empty completion.
    return [Completion(None if error and not text else text, "\n".join(thoughts) or None, finish, error)]


def _samples(document: object) -> list[Any] | None:
    """The samples of an Inspect log in JSON; None if the document is not one."""
    if isinstance(document, dict) and isinstance(document.get("eval"), dict):
        samples = document.get("samples")
        if isinstance(samples, list):
            return samples
        return [] if "version" in document and samples is None else None
    return None


INSPECT_JSON = Format(
    name="inspect-json",
    what="Inspect log in JSON (--log-format json)",
    example=(
        '{"version":2,"status":"success","eval":{},"samples":[{"id":"X","epoch":1,"input":"...","target":"42",'
        '"output":{"completion":"It is 42.","choices":[{"stop_reason":"stop"}]}}]}'
    ),
    container="json",
    matches=_matches,
    identify=_identity,
    completions=_completions,
    documents=_samples,
)
INSPECT_EVAL = Format(
    name="inspect-eval",
    what="Inspect log in its own format: a zip with samples/*.json",
    example=(
        '{"id":"X","epoch":1,"input":"...","target":"42","output":{"completion":"It is 42.","choices":'
        '[{"stop_reason":"stop"}]}}'
    ),
    container="zip",
    matches=_matches,
    identify=_identity,
    completions=_completions,
    members=ZipMembers("samples/", ("header.json", "_journal/start.json"), "Inspect log", "inspect log convert"),
)
