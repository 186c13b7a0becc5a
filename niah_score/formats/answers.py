"""Turns parsed records into Answers by their format, and tells which format a record is of."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from niah_score.formats.fields import answer_text, id_text
from niah_score.formats.record import (
    Answer,
    Completion,
    FieldNames,
    Format,
    Identity,
    Record,
    UnreadableError,
    brief,
)

NOT_AN_OBJECT = "not a JSON object; expected one object a record"


def format_of(record: Record, formats: Sequence[Format], names: FieldNames) -> Format | None:
    """The first format that a record is of; the one of custom fields for records that have those the user names."""
    found = next((form for form in formats if form.matches(record)), None)
    if found is not None and not (found.by_order_only and names.id_field is not None):
        return found
    named = [field for field in names if field is not None]
    if found is None and not (named and all(has(record, field) for field in named)):
        return None
    return next((form for form in formats if form.custom_fields), found)


def answers_among(
    form: Format, others: Iterable[Format], record: Record, line: int, index: int, names: FieldNames
) -> list[Answer]:
    """The answers of a record in a file of some format; a record of one of the others is read as such.

    Raises UnreadableError.
    """
    if form.matches(record):
        return answers_of(form, record, line, index, names)
    other = next((other for other in others if other.matches(record)), None)
    if other is None:
        return answers_of(form, record, line, index, names)
    found = answers_of(other, record, line, index, names)
    if any(answer.id is None and answer.prompt_sha256 is None for answer in found):
        raise UnreadableError(f"a record of format {other.name} without an id in a file of format {form.name}")
    return found


def answers_of(form: Format, record: Record, line: int, index: int, names: FieldNames) -> list[Answer]:
    """The answers of one record, `index` its place among the file's records. Raises UnreadableError."""
    id_field, text_field = names
    samples = form.completions(record) if text_field is None else [_named_completion(form, record, text_field)]
    if not samples:
        return []
    whose = form.identify(record, index) if id_field is None else _named_identity(form, record, index, id_field)
    if whose.id is None and whose.prompt is None and whose.position is None and whose.coordinates is None:
        raise UnreadableError(
            f"no id: none of the fields that hold one is there; found {keys_of(record)}; name it with --id-field"
        )
    prompt, chat, templated = whose.prompt or (None, None, None)
    return [
        Answer(
            whose.id,
            completion.text,
            completion.reasoning,
            completion.finish,
            completion.error,
            prompt,
            whose.position,
            whose.sample + number,
            line,
            whose.reference,
            chat,
            templated,
            whose.coordinates,
        )
        for number, completion in enumerate(samples)
    ]


def _named_completion(form: Format, record: Record, field: str) -> Completion:
    text = answer_text(at(record, field), field)
    try:
        return form.completions(record)[0]._replace(text=text)
    except (UnreadableError, IndexError):
        return Completion(text)


def _named_identity(form: Format, record: Record, index: int, field: str) -> Identity:
    chosen = id_text(at(record, field), field)
    try:
        return form.identify(record, index)._replace(id=chosen, position=None, coordinates=None)
    except UnreadableError:
        return Identity(chosen)


_MISSING = object()


def at(record: Record, path: str) -> Any:
    """The value at a dotted path such as `choices.0.message.content`. Raises UnreadableError if there is none."""
    found = _at(record, path)
    if found is _MISSING:
        raise UnreadableError(f"no field {path!r}; found {keys_of(record)}")
    return found


def has(record: Record, path: str) -> bool:
    """Whether there is a value at a dotted path."""
    return _at(record, path) is not _MISSING


def _at(record: Record, path: str) -> Any:
    if path in record:
        return record[path]
    value: Any = record
    for part in path.split("."):
        if isinstance(value, dict) and part in value:
            value = value[part]
        elif (
            isinstance(value, list) and part.isascii() and part.isdigit() and len(part) < 10 and int(part) < len(value)
        ):
            value = value[int(part)]
        else:
            return _MISSING
    return value


def keys_of(record: Record) -> str:
    """The fields of a record for a message: the first 20."""
    shown = ", ".join(brief(key) for key in list(record)[:20])
    return f"{shown}, ..." if len(record) > 20 else shown or "no fields"
