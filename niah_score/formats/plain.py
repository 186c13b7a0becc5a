"""Reads records that people write themselves: an id, a text, and anything else under its usual name."""

from __future__ import annotations

from functools import partial

import orjson

from niah_score.formats.fields import (
    answer_text,
    echoed,
    epoch_number,
    error_line,
    failure_of,
    field_of,
    finish_of,
    id_text,
    optional_text,
    references,
    sample_number,
)
from niah_score.formats.record import Completion, Format, Identity, Record, TableColumns, UnreadableError, brief

# The first of these in a record counts. Never answer, answers, target, gold or outputs: those are references.
ID_FIELDS = ("id", "custom_id", "sample_id", "key", "uid", "idx")
TEXT_FIELDS = ("prediction", "pred", "completion", "response", "output", "generated_text", "generation", "text")
FINISH_FIELDS = ("finish_reason", "stop_reason")
REASONING_FIELDS = ("reasoning", "reasoning_content")
SAMPLE_FIELD = "sample"
EPOCH_FIELD = "epoch"
ERROR_FIELD = "error"
PROMPT_FIELD = "prompt"
# Used only if nothing but the order identifies the row.
_REFERENCE_FIELDS = ("answers", "answer", "outputs", "target", "gold")


def _is_answered(record: Record) -> bool:
    return _is_ordered(record) or error_line(record.get(ERROR_FIELD)) is not None


def _is_plain(record: Record) -> bool:
    return _is_answered(record) and (field_of(record, ID_FIELDS) is not None or PROMPT_FIELD in record)


def _is_ordered(record: Record) -> bool:
    name = field_of(record, TEXT_FIELDS)
    # An object means that another stack has wrapped its answer.
    return name is not None and not isinstance(record[name], dict)


def _identity(record: Record, index: int) -> Identity:
    name = field_of(record, ID_FIELDS)
    if SAMPLE_FIELD in record:
        sample = sample_number(record[SAMPLE_FIELD], SAMPLE_FIELD)
    else:
        sample = epoch_number(record.get(EPOCH_FIELD), EPOCH_FIELD)
    prompt = echoed(record.get(PROMPT_FIELD))
    return Identity(None if name is None else id_text(record[name], name), prompt, None, None, sample)


def _cell_identity(record: Record, index: int) -> Identity:
    """The identity of a row in a table of texts, where a chat can only be JSON or some program's print-out of it.

    A print-out does not show what was sent, so it is not compared.
    """
    prompt = record.get(PROMPT_FIELD)
    if not isinstance(prompt, str) or not prompt.startswith("[{"):
        return _identity(record, index)
    try:
        chat = orjson.loads(prompt)
    except ValueError:
        chat = None
    return _identity({**record, PROMPT_FIELD: chat}, index)


def _ordered_identity(record: Record, index: int) -> Identity:
    identity = _identity(record, index)
    if identity.id is not None or identity.prompt is not None:
        return identity
    name = field_of(record, _REFERENCE_FIELDS)
    return identity._replace(position=index, reference=None if name is None else references(record[name]))


def _completions(record: Record) -> list[Completion]:
    error = error_line(record.get(ERROR_FIELD))
    name = field_of(record, TEXT_FIELDS)
    if name is None and error is None:
        named = field_of(record, ID_FIELDS)
        with_id = "" if named is None else f" with id {brief(record[named])}"
        raise UnreadableError(
            f"the record{with_id} has no field with the answer's text; expected one of {', '.join(TEXT_FIELDS)}, or "
            "name it with --text-field"
        )
    text = None if name is None else answer_text(record[name], name)
    finish = field_of(record, FINISH_FIELDS)
    reasoning = field_of(record, REASONING_FIELDS)
    return [
        Completion(
            None if error is not None and not text else text,
            None if reasoning is None else optional_text(record[reasoning]),
            "" if finish is None else finish_of(record[finish]),
            error or (None if finish is None else failure_of(record[finish])),
        )
    ]


PLAIN = Format(
    name="plain",
    what="JSONL or a JSON array with an id (or the prompt) and a text",
    example='{"id":"X","prediction":"It is 42.","finish_reason":"stop"}',
    matches=_is_plain,
    identify=_identity,
    completions=_completions,
    by_id=True,
    custom_fields=True,
)
ORDERED = Format(
    name="ordered",
    what="JSONL or a JSON array with a text and no id: its order is the dataset's",
    example='{"prediction":"It is 42."}',
    matches=_is_ordered,
    identify=_ordered_identity,
    completions=_completions,
)
_table = partial(
    Format,
    matches=_is_plain,
    completions=_completions,
    by_id=True,
    columns=TableColumns(
        ids=ID_FIELDS,
        texts=TEXT_FIELDS,
        prompt=PROMPT_FIELD,
        error=ERROR_FIELD,
        others=(FINISH_FIELDS, REASONING_FIELDS, (SAMPLE_FIELD, EPOCH_FIELD)),
        by_order=_ordered_identity,
    ),
)
CSV = _table(
    name="csv",
    what="CSV with a header, comma or semicolon",
    example="X,It is 42.",
    container="separated",
    identify=_cell_identity,
    separators=(",", ";"),
)
TSV = _table(
    name="tsv",
    what="the same with tabs",
    example="X\tIt is 42.",
    container="separated",
    identify=_cell_identity,
    separators=("\t",),
)
PARQUET = _table(
    name="parquet",
    what="Parquet with a column of ids and one of texts",
    example="id: string, prediction: string",
    container="parquet",
    identify=_identity,
)
