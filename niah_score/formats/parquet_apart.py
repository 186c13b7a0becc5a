"""Reads Parquet answer files in a separate process, because a damaged footer can crash the library that reads it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import orjson

from niah_score.errors import IntegrityError, ResourceError, ScoreError
from niah_score.formats.containers import parquet
from niah_score.formats.containers.streams import opened
from niah_score.formats.record import Answer, FieldNames, Format, Malformed, NoAnswersError
from niah_score.formats.registry import FORMATS

_FORMATS = [form for form in FORMATS.values() if form.container == "parquet"]
_ERRORS = {kind.__name__: kind for kind in (ScoreError, IntegrityError, ResourceError, NoAnswersError)}
# Records are sent in lists of up to this many, or that hold about this many characters of text.
_RECORDS = 1024
_CHARACTERS = 2**20


def read(
    path: Path, name: Path, names: FieldNames, forced: Format | None
) -> tuple[Format, Iterator[Answer | Malformed]]:
    """The format of a Parquet file, and its records, still unread. name: what messages call the file.

    Raises ScoreError, also if the file crashes its reader, and ResourceError if the reader was killed.
    """
    from niah_score.machine.apart import items_apart

    arguments = str(path), str(name), *names, None if forced is None else forced.name
    values = _values(items_apart(items_of, *arguments, crashed=partial(parquet.reader_crashed, name)))
    return FORMATS[next(values)], _records(values)


def _records(values: Iterator[Any]) -> Iterator[Answer | Malformed]:
    for records in values:
        for fields in records:
            if len(fields) == len(Malformed._fields):
                yield Malformed(*fields)
            else:
                answer = Answer(*fields)
                yield answer if answer.reference is None else answer._replace(reference=tuple(answer.reference))


def _values(items: Iterator[bytes]) -> Iterator[Any]:
    """What the other process sends. Raises the error that it may end with."""
    error: ScoreError | None = None
    for item in items:  # to the end, because a process is not used again after an abandoned call
        value = orjson.loads(item)
        if isinstance(value, dict):
            error = _ERRORS[value["error"]](*value["arguments"])
        else:
            yield value
    if error is not None:
        raise error


def items_of(path: str, name: str, id_field: str | None, text_field: str | None, forced: str | None) -> Iterator[bytes]:
    """Run in the separate process: yields the name of the format, lists of records, and finally an error, if any."""
    names = FieldNames(id_field, text_field)
    try:
        with opened(Path(path), Path(name)) as source:
            fields = parquet.fields_of(source, _FORMATS, names, None if forced is None else FORMATS[forced])
            yield orjson.dumps(fields.form.name)
            held: list[Answer | Malformed] = []
            characters = 0
            for record in parquet.read(source, fields, names):
                held.append(record)
                characters += len((record.text or "") if isinstance(record, Answer) else record.message)
                if len(held) >= _RECORDS or characters >= _CHARACTERS:
                    yield orjson.dumps([tuple(one) for one in held])
                    held, characters = [], 0
            if held:
                yield orjson.dumps([tuple(one) for one in held])
    except ScoreError as error:
        yield json.dumps({"error": type(error).__name__, "arguments": error.args}).encode()
