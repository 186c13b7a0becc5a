"""JSON documents in, Answers and Malformed out: arrays of records, and the files that stacks write as one object."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from niah_score.errors import ScoreError
from niah_score.formats.benchmark import HELMET, helmet_records
from niah_score.formats.containers.json_lines import NOT_AN_OBJECT, kind_of, read_record
from niah_score.formats.containers.streams import opened, whole
from niah_score.formats.containers.strict_json import (
    BrokenError,
    EncodingError,
    Repeated,
    first_repeated,
    parse,
    twice,
)
from niah_score.formats.fields import keys_of
from niah_score.formats.harness import INSPECT_JSON, OPENCOMPASS, inspect_samples, opencompass_records
from niah_score.formats.record import Answer, Choice, Format, InexactError, LineError, Malformed, UnreadableError

_OBJECTS: tuple[tuple[Format, Callable[[object], list[Any] | None]], ...] = (
    (INSPECT_JSON, inspect_samples),
    (OPENCOMPASS, opencompass_records),
    (HELMET, helmet_records),
)


class Document(NamedTuple):
    """A parsed document: its records, and their format if the document as a whole tells it."""

    kind: Format | None
    records: list[Any]


def split(value: object) -> Document | None:
    """A document's records; None for an object that no stack writes as a whole."""
    if isinstance(value, list):
        return Document(None, value)
    for kind, records_of in _OBJECTS:
        records = records_of(value)
        if records is not None:
            return Document(kind, records)
    return None


def load(path: Path, *, exact: bool = False) -> Document:
    """Parse a document. Raises ScoreError if it is none, with its line."""
    data = whole(path, opened(path).chunks)
    try:
        value = parse(data, exact=exact, tolerant=True)
    except EncodingError as error:
        line = data.count(b"\n", 0, error.offset) + 1
        start = data.rfind(b"\n", 0, error.offset) + 1
        raise LineError(str(path), line, str(EncodingError(error.offset - start, error.byte, False))) from None
    except BrokenError as error:
        raise LineError(str(path), error.line, f"{error}; a JSON document is read whole or not at all") from None
    except UnreadableError as error:
        raise ScoreError(f"{path}: {error}") from None
    if isinstance(value, Repeated):
        raise ScoreError(f"{path}: {twice(value)}")
    found = split(value)
    if found is None:
        raise ScoreError(
            f"{path}: one JSON object over several lines, which no known stack writes ({keys_of(value)}); expected "
            "one object a line (jq -c .) or an array of them"
        )
    return found


def kind_in(path: Path, document: Document, kinds: Sequence[Format], choice: Choice) -> Format:
    """The format of a document's records. Raises ScoreError if they are of none."""
    if document.kind is not None:
        return document.kind
    if not document.records:
        raise ScoreError(f"{path}: no predictions in it; expected an array of records")
    objects = [record for record in document.records if isinstance(record, dict)]
    for record in objects:
        kind = kind_of(record, kinds, choice)
        if kind is not None:
            return kind
    first = f"the first record has the fields {keys_of(objects[0])}" if objects else NOT_AN_OBJECT
    raise ScoreError(
        f"{path}: no record with an answer; {first}; expected a format that `niah-score formats` lists, or name the "
        "fields with --id-field and --text-field"
    )


def read(
    path: Path, document: Document, kind: Format, kinds: Sequence[Format], choice: Choice
) -> Iterator[Answer | Malformed]:
    """All records of a document; `line` is the record's number from 1."""
    others = [other for other in kinds if other.by_id]
    exact: list[Any] | None = None
    for index, record in enumerate(document.records):
        try:
            if not isinstance(record, dict):
                raise UnreadableError(NOT_AN_OBJECT)
            repeated = first_repeated(record)
            if repeated is not None:
                raise UnreadableError(twice(repeated))
            try:
                found = read_record(kind, others, record, index + 1, index, choice)
            except InexactError:
                exact = load(path, exact=True).records if exact is None else exact
                found = read_record(kind, others, exact[index], index + 1, index, choice)
        except UnreadableError as error:
            yield Malformed(index + 1, str(error))
        else:
            yield from found
