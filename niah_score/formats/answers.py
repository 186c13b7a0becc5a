"""Recognises the format of parsed records and turns them into Answers."""

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

NOT_AN_OBJECT = "not a JSON object; expected one object per record"


def no_answer(first: str) -> str:
    """The message for a file in which no record matches a format. first: a clause about the first record."""
    return (
        f"no record with an answer; {first}; expected a format that `niah-score formats` lists, or name the fields "
        "with --id-field and --text-field"
    )


def format_of(record: Record, formats: Sequence[Format], names: FieldNames) -> Format | None:
    """The first format that matches a record, or the one for custom fields if the record has those the user names."""
    form = next((form for form in formats if form.matches(record)), None)
    if form is not None and not (form.by_order_only and names.id_field is not None):
        return form
    named = [field for field in names if field is not None]
    if form is None and not (named and all(_at(record, field) is not _MISSING for field in named)):
        return None
    return next((form for form in formats if form.custom_fields), form)


def answers_among(
    form: Format, others: Iterable[Format], record: Record, line: int, index: int, names: FieldNames
) -> list[Answer]:
    """The answers of a record in a file of some format; a record that matches only another format is read as that one.

    Raises UnreadableError.
    """
    if form.matches(record):
        return answers_of(form, record, line, index, names)
    other = next((other for other in others if other.matches(record)), None)
    if other is None:
        return answers_of(form, record, line, index, names)
    answers = answers_of(other, record, line, index, names)
    if any(answer.id is None and answer.prompt_sha256 is None for answer in answers):
        raise UnreadableError(f"a record of format {other.name} without an id in a file of format {form.name}")
    return answers


def answers_of(form: Format, record: Record, line: int, index: int, names: FieldNames) -> list[Answer]:
    """The answers of one record; `index`: its place among the file's records. Raises UnreadableError."""
    id_field, text_field = names
    samples = form.completions(record) if text_field is None else [_named_completion(form, record, text_field)]
    if not samples:
        return []
    identity = form.identify(record, index) if id_field is None else _named_identity(form, record, index, id_field)
    if identity.id is None and identity.prompt is None and identity.position is None and identity.coordinates is None:
        raise UnreadableError(
            f"no id: the record has no field that usually holds it; found {keys_of(record)}; name it with --id-field"
        )
    prompt, chat, templated = identity.prompt or (None, None, None)
    return [
        Answer(
            identity.id,
            completion.text,
            completion.reasoning,
            completion.finish,
            completion.error,
            prompt,
            identity.position,
            identity.sample + number,
            line,
            identity.reference,
            chat,
            templated,
            identity.coordinates,
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
    name = id_text(at(record, field), field)
    try:
        return form.identify(record, index)._replace(id=name, position=None, coordinates=None)
    except UnreadableError:
        return Identity(name)


_MISSING = object()


def at(record: Record, path: str) -> Any:
    """The value at a dotted path such as `choices.0.message.content`. Raises UnreadableError if there is none."""
    value = _at(record, path)
    if value is _MISSING:
        raise UnreadableError(f"no field {path!r}; found {keys_of(record)}")
    return value


def _at(record: Record, path: str) -> Any:
    """The value at a dotted path; `_MISSING` if there is none."""
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
    """The first 20 fields of a record, for a message."""
    shown = ", ".join(brief(key) for key in list(record)[:20])
    return f"{shown}, ..." if len(record) > 20 else shown or "no fields"
