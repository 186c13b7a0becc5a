"""Reads JSON documents: arrays of records, and files that stacks write as one object."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from niah_score.errors import ScoreError
from niah_score.formats.answers import NOT_AN_OBJECT, answers_among, format_of, keys_of, no_answer
from niah_score.formats.containers.streams import Source, whole
from niah_score.formats.containers.strict_json import (
    BrokenError,
    EncodingError,
    Repeated,
    first_repeated,
    parse,
    twice,
)
from niah_score.formats.record import (
    Answer,
    FieldNames,
    Format,
    InexactError,
    LineError,
    Malformed,
    NoAnswersError,
    UnreadableError,
)


class JsonDocument(NamedTuple):
    """A parsed document: its records, and their format if the document as a whole shows it."""

    form: Format | None
    records: list[Any]


def split(value: object, formats: Sequence[Format]) -> JsonDocument | None:
    """A document's records; None for an object that no stack writes as one document."""
    if isinstance(value, list):
        return JsonDocument(None, value)
    for form in formats:
        records = None if form.documents is None else form.documents(value)
        if records is not None:
            return JsonDocument(form, records)
    return None


def begins(source: Source, formats: Sequence[Format]) -> bool:
    """Whether a file that begins with a brace is one object: it spans lines, or a stack writes such files."""
    filled = (line for block, _ in source.blocks() for line in block if line is None or line.strip())
    first = next(filled, None)
    if first is None:
        return False
    try:
        return split(parse(first, tolerant=True), formats) is not None
    except BrokenError:
        return bool(first.rstrip().endswith((b"{", b"[", b",", b":")))
    except (UnreadableError, EncodingError):
        return False


def load(source: Source, formats: Sequence[Format], *, exact: bool = False) -> JsonDocument:
    """Parse a document. Raises ScoreError if it is not one, with the line if that is known."""
    path = source.path
    data = whole(path, source.chunks())
    try:
        value = parse(data, exact=exact, tolerant=True)
    except EncodingError as error:
        line = data.count(b"\n", 0, error.offset) + 1
        start = data.rfind(b"\n", 0, error.offset) + 1
        raise LineError(str(path), line, str(EncodingError(error.offset - start, error.byte, False))) from None
    except BrokenError as error:
        raise LineError(str(path), error.line, f"{error}; a JSON document must be complete to be read") from None
    except UnreadableError as error:
        raise ScoreError(f"{path}: {error}") from None
    if isinstance(value, Repeated):
        raise ScoreError(f"{path}: {twice(value)}")
    document = split(value, formats)
    if document is None:
        raise NoAnswersError(
            str(path),
            f"one JSON object over several lines, which no known stack writes ({keys_of(value)}); expected one object "
            "a line (jq -c .) or an array of them",
        )
    return document


def format_in(source: Source, document: JsonDocument, formats: Sequence[Format], names: FieldNames) -> Format:
    """The format of a document's records. Raises ScoreError if no format matches."""
    if document.form is not None:
        return document.form
    if not document.records:
        raise NoAnswersError(str(source.path), "no predictions in it; expected an array of records")
    objects = [record for record in document.records if isinstance(record, dict)]
    for record in objects:
        form = format_of(record, formats, names)
        if form is not None:
            return form
    first = f"the first record has the fields {keys_of(objects[0])}" if objects else NOT_AN_OBJECT
    raise NoAnswersError(str(source.path), no_answer(first))


def read(
    source: Source, document: JsonDocument, form: Format, formats: Sequence[Format], names: FieldNames
) -> Iterator[Answer | Malformed]:
    """All records of a document; `line` is the record's number from 1."""
    others = [other for other in formats if other.by_id]
    exact: list[Any] | None = None
    for index, record in enumerate(document.records):
        try:
            if not isinstance(record, dict):
                raise UnreadableError(NOT_AN_OBJECT)
            repeated = first_repeated(record)
            if repeated is not None:
                raise UnreadableError(twice(repeated))
            try:
                answers = answers_among(form, others, record, index + 1, index, names)
            except InexactError:
                exact = load(source, formats, exact=True).records if exact is None else exact
                answers = answers_among(form, others, exact[index], index + 1, index, names)
        except UnreadableError as error:
            yield Malformed(index + 1, str(error))
        else:
            yield from answers
