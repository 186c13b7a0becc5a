"""Records that people write themselves: an id, a text, and what else is known under its usual name."""

from __future__ import annotations

from functools import partial

from niah_score.formats.fields import (
    answer_text,
    chat_sha256,
    error_line,
    failure_of,
    finish_of,
    id_text,
    optional_text,
    prompt_sha256,
    references,
    sample_number,
)
from niah_score.formats.record import Format, Identity, Record, Said, UnreadableError, brief

# The first of these that a record has. Never answer, answers, target, gold or outputs: those are references.
ID_FIELDS = ("id", "custom_id", "sample_id", "key", "uid", "idx")
TEXT_FIELDS = ("prediction", "pred", "completion", "response", "output", "generated_text", "generation", "text")
FINISH_FIELDS = ("finish_reason", "stop_reason")
REASONING_FIELDS = ("reasoning", "reasoning_content")
SAMPLE_FIELDS = ("sample", "epoch")
ERROR_FIELD = "error"
PROMPT_FIELD = "prompt"
# Looked at only where the order alone tells whose answer it is.
_REFERENCE_FIELDS = ("answers", "answer", "outputs", "target", "gold")


def field_of(record: Record, names: tuple[str, ...]) -> str | None:
    """The first of some fields that a record has."""
    return next((name for name in names if name in record), None)


def _is_answered(record: Record) -> bool:
    return _is_ordered(record) or error_line(record.get(ERROR_FIELD)) is not None


def _is_plain(record: Record) -> bool:
    return _is_answered(record) and (field_of(record, ID_FIELDS) is not None or PROMPT_FIELD in record)


def _is_ordered(record: Record) -> bool:
    name = field_of(record, TEXT_FIELDS)
    # An object is what another stack wraps its answer in.
    return name is not None and not isinstance(record[name], dict)


def _identity(record: Record, index: int) -> Identity:
    name = field_of(record, ID_FIELDS)
    sample = field_of(record, SAMPLE_FIELDS)
    return Identity(
        None if name is None else id_text(record[name], name),
        prompt_sha256(record.get(PROMPT_FIELD)),
        None,
        None,
        0 if sample is None else sample_number(record[sample], sample),
        chat_sha256(record.get(PROMPT_FIELD)) if name is None else None,
    )


def _ordered_identity(record: Record, index: int) -> Identity:
    found = _identity(record, index)
    if found.id is not None or found.prompt_sha256 is not None:
        return found
    name = field_of(record, _REFERENCE_FIELDS)
    return found._replace(position=index, reference=None if name is None else references(record[name]))


def _said(record: Record) -> list[Said]:
    error = error_line(record.get(ERROR_FIELD))
    name = field_of(record, TEXT_FIELDS)
    if name is None and error is None:
        named = field_of(record, ID_FIELDS)
        whose = "" if named is None else f" of id {brief(record[named])}"
        raise UnreadableError(
            f"the record{whose} has no field with the answer's text; expected {TEXT_FIELDS[0]!r} (or another one that "
            "docs/formats.md lists), or name it with --text-field"
        )
    text = None if name is None else answer_text(record[name], name)
    finish = field_of(record, FINISH_FIELDS)
    reasoning = field_of(record, REASONING_FIELDS)
    return [
        Said(
            None if error is not None and not text else text,
            None if reasoning is None else optional_text(record[reasoning]),
            "" if finish is None else finish_of(record[finish]),
            error or (None if finish is None else failure_of(record[finish])),
        )
    ]


SPECIAL_FIELDS = frozenset((*REASONING_FIELDS, *SAMPLE_FIELDS, ERROR_FIELD, PROMPT_FIELD))

_format = partial(Format, matches=_is_plain, identify=_identity, said=_said, by_id=True)

PLAIN = _format(
    "plain",
    "JSONL or a JSON array with an id (or the prompt) and a text",
    '{"id":"X","prediction":"It is 42.","finish_reason":"stop"}',
    "json",
)
ORDERED = Format(
    "ordered",
    "JSONL or a JSON array with a text and no id: its order is the dataset's",
    '{"prediction":"It is 42."}',
    "json",
    _is_ordered,
    _ordered_identity,
    _said,
)
CSV = _format("csv", "CSV with a header, comma or semicolon", "X,It is 42.", "separated")
TSV = _format("tsv", "the same with tabs", "X\tIt is 42.", "separated")
PARQUET = _format(
    "parquet", "Parquet with a column of ids and one of texts", "id: string, prediction: string", "parquet"
)
