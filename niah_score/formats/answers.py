"""Recognises the format of parsed records and turns them into Answers."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Any

from niah_score.formats.fields import answer_text, id_text
from niah_score.formats.record import (
    Answer,
    Completion,
    FieldNames,
    Format,
    Identity,
    Malformed,
    Record,
    UnreadableError,
    brief,
)

NOT_AN_OBJECT = "not a JSON object; expected one object per record"


def format_of(record: Record, formats: Iterable[Format], names: FieldNames) -> Format | None:
    """The first format that matches a record, or the one for custom fields if the record has those the user names."""
    form = next((form for form in formats if form.matches(record)), None)
    named = [field for field in names if field is not None]
    if form is None and named and all(_at(record, field) is not _MISSING for field in named):
        form = next((form for form in formats if form.custom_fields), None)
    return form


def answers_in(
    form: Format, others: Sequence[Format], records: Iterable[tuple[int, Any]], names: FieldNames
) -> Iterator[Answer | Malformed]:
    """The answers of a file of some format; a record that matches only one of `others` is read as that one.

    records: the line of each, and its value, or an UnreadableError that says why it has none.
    """
    for index, (line, record) in enumerate(records):
        try:
            if isinstance(record, UnreadableError):
                raise record
            if not isinstance(record, dict):
                raise UnreadableError(NOT_AN_OBJECT)
            answers = _answers_among(form, others, record, line, index, names)
        except UnreadableError as error:
            yield Malformed(line, str(error))
        else:
            yield from answers


def _answers_among(
    form: Format, others: Sequence[Format], record: Record, line: int, index: int, names: FieldNames
) -> list[Answer]:
    other = None if form.matches(record) else next((other for other in others if other.matches(record)), None)
    answers = answers_of(other or form, record, line, index, names)
    if other is not None and any(answer.id is None and answer.prompt_sha256 is None for answer in answers):
        raise UnreadableError(f"a record of format {other.name} without an id in a file of format {form.name}")
    return answers


def answers_of(form: Format, record: Record, line: int, index: int, names: FieldNames) -> list[Answer]:
    """The answers of one record; `index`: its place among the file's records. Raises UnreadableError."""
    id_field, text_field = names
    samples = form.completions(record) if text_field is None else [_named_completion(form, record, text_field)]
    if not samples:
        return []
    identity = form.identify(record, index) if id_field is None else _named_identity(form, record, index, id_field)
    name, prompt, position, reference, first, cell = identity
    if name is None and prompt is None and position is None and cell is None:
        raise UnreadableError(
            f"no id: the record has no field that usually holds it; found {keys_of(record)}; name it with --id-field"
        )
    sha256, chat, templated = prompt or (None, None, None)
    return [
        Answer(name, *completion, sha256, position, first + number, line, reference, chat, templated, cell)
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
        if isinstance(value, dict):
            value = value.get(part, _MISSING)
        elif isinstance(value, list) and part.isascii() and part.isdigit() and len(part) < 10:
            value = next(iter(value[int(part) :]), _MISSING)
        else:
            return _MISSING
    return value


def keys_of(record: Collection[str]) -> str:
    """The first 20 fields of a record, or columns of a table, for a message."""
    shown = ", ".join(brief(key) for key in list(record)[:20])
    return f"{shown}, ..." if len(record) > 20 else shown or "no fields"
