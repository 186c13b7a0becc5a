"""Recognises an answer file by its content, never by its name, and reads its records: JSON, zips and tables."""

from __future__ import annotations

import os
import struct
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from niah_score.errors import ResourceError, ScoreError
from niah_score.formats.fields import answer_text, at, id_text
from niah_score.formats.record import (
    Answer,
    Completion,
    Container,
    FieldNames,
    Format,
    Identity,
    Malformed,
    NoAnswersError,
    Record,
    UnreadableError,
    brief,
    keys_of,
)
from niah_score.formats.streams import MAX_LINE, MAX_RATIO, Source, is_bomb
from niah_score.formats.strict_json import BrokenError, not_utf8, parse
from niah_score.formats.tables import Records, parquet_in, table_in
from niah_score.formats.usage import prompt_tokens_read
from niah_score.machine.files import is_refused

NOT_AN_OBJECT = "not a JSON object; expected one object per record"
_CUT = "the line breaks off in the middle of a record; the writer was killed or the copy is incomplete: answer it again"
# How much of a text is looked at before its lines.
_HEAD = 2**20
_BINARY = (
    "UTF-16, binary, or packed twice; save the answers as JSONL, CSV or Parquet, plain, .gz or .zst, texts as UTF-8 "
    "(PowerShell: Out-File -Encoding utf8)"
)
_KINDS: dict[bytes, tuple[Container, ...]] = {b"PAR1": ("parquet",), b"PK\x03\x04": ("zip",)}
# Where the header of a member of a zip says how long its name and its extra field are.
_NAME_LENGTHS = 26
_ZSTD_METHOD = 93
_DAMAGED = (zipfile.BadZipFile, zlib.error, EOFError, OSError, ValueError, struct.error, RuntimeError)


def read(source: Source, formats: Sequence[Format], names: FieldNames) -> tuple[Format, Iterator[Answer | Malformed]]:
    """The format of an open file, and its answers, still unread. Raises ScoreError if it cannot be read."""
    kinds = _KINDS.get(source.first, ("json", "separated"))
    fitting = [form for form in formats if form.container in kinds]
    reading = {"parquet": parquet_in, "zip": _members_in}.get(kinds[0], _text_in)
    form, records = reading(source, fitting, names)
    return form, answers_in(form, records, names)


def _text_in(source: Source, formats: Sequence[Format], names: FieldNames) -> tuple[Format, Records]:
    head = source.head(_HEAD)
    if head[:400].count(0) * 6 > len(head[:400]):
        raise ScoreError(f"{source.path}: {_BINARY}")
    if head and head[:1] not in b"[{":
        table = table_in(source, formats, names)
        if table is not None:
            return table
        if b"\n{" not in head:
            if "\ufffd" in (head.rpartition(b"\n")[0] or head).decode(errors="replace"):
                raise ScoreError(f"{source.path}: {_BINARY}")
            raise NoAnswersError(
                source.path,
                "neither JSON nor a table whose header has a column with the answer's text; expected a format that "
                "`niah-score formats` lists, or name the column with --text-field",
            )
    return _json_in(source, [form for form in formats if form.container == "json"], names)


# JSON -----------------------------------------------------------------------------------------------------------------


def _json_in(source: Source, formats: Sequence[Format], names: FieldNames) -> tuple[Format, Records]:
    form, values = json_document(source, formats) if _is_document(source, formats) else (None, None)

    def records() -> Records:
        return json_lines(source) if values is None else iter(enumerate(values, 1))

    return form or _format_in(source, records(), formats, names), records()


def _is_document(source: Source, formats: Sequence[Format]) -> bool:
    """Whether a file is one array or object: it spans lines, or a stack writes such files."""
    lines = (line.strip() for _, line in source.lines() if line.strip())
    first = next(lines, b"")
    if not first.startswith(b"{"):
        return first.startswith(b"[")
    try:
        value = parse(first)
    except (UnreadableError, UnicodeDecodeError):
        return not next(lines, b"").startswith(b"{")  # which would begin the next line of JSON Lines
    return any(form.documents(value) is not None for form in formats)


def json_document(source: Source, formats: Sequence[Format]) -> tuple[Format | None, list[Any]]:
    """The records of an array, or of an object that a stack writes as one document, and then their format.

    Raises ScoreError if it is not complete, or no such document.
    """
    data, path = source.whole(), source.path
    try:
        value = parse(data)
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise ScoreError(f"{path}:{line}: {not_utf8(error)}") from None
    except BrokenError as error:
        raise ScoreError(f"{path}:{error.line}: {error}; a JSON document must be complete to be read") from None
    except UnreadableError as error:
        raise ScoreError(f"{path}: {error}") from None
    if isinstance(value, list):
        return None, value
    for form in formats:
        records = form.documents(value)
        if records is not None:
            return form, records
    raise NoAnswersError(
        path,
        f"one JSON object over several lines, which no known stack writes ({keys_of(value)}); expected one object a "
        "line (jq -c .) or an array of them",
    )


def json_lines(source: Source) -> Records:
    """The records of JSON Lines. Raises ScoreError for bytes that are not UTF-8, and for a line that is too long."""
    for number, line in source.lines():
        if line.strip():
            yield number, _parsed(source, number, line)


def _parsed(source: Source, number: int, line: bytes) -> Any:
    cut = not line.endswith(b"\n")
    try:
        return parse(line.removesuffix(b"\n"))
    except UnicodeDecodeError as error:
        if cut and error.reason == "unexpected end of data":
            return UnreadableError(_CUT)
        raise ScoreError(f"{source.path}:{number}: {not_utf8(error)}") from None
    except BrokenError as error:
        return UnreadableError(_CUT) if cut else error
    except UnreadableError as error:
        return error


def _format_in(source: Source, records: Records, formats: Sequence[Format], names: FieldNames) -> Format:
    """The format of the first record that one matches. Raises ScoreError if there is none."""
    first, broken = "", False
    for line, record in records:
        if isinstance(record, dict):
            form = format_of(record, formats, names)
            if form is not None:
                return form
            first = first or f"line {line} has the fields {keys_of(record)}"
        else:
            problem = str(record) if isinstance(record, UnreadableError) else NOT_AN_OBJECT
            first, broken = first or f"line {line}: {problem}", True
    if not first:
        raise NoAnswersError(source.path, "no predictions in it; was the run finished?")
    message = (
        f"no record with an answer; {first}; expected a format that `niah-score formats` lists, or name the fields "
        "with --id-field and --text-field"
    )
    # A broken line may have held an answer.
    raise ScoreError(f"{source.path}: {message}") if broken else NoAnswersError(source.path, message)


# Zips -----------------------------------------------------------------------------------------------------------------


def _members_in(source: Source, formats: Sequence[Format], names: FieldNames) -> tuple[Format, Records]:
    """The format of a zip and its members that are records. Raises ScoreError if it is damaged or matches no format."""
    try:
        archive = zipfile.ZipFile(source.file)
    except _DAMAGED as error:
        if is_refused(error):
            raise
        raise ScoreError(f"{source.path}: the zip is damaged or was never finished ({error}); get it again") from None
    # If members share a name, the last one counts, as in every reader of zips.
    infos = {info.filename: info for info in archive.infolist()}
    for form in formats:
        if any(name.startswith(form.members) for name in infos):
            folder = form.members[0]
            records = [info for name, info in infos.items() if name.startswith(folder) and name.endswith(".json")]
            return form, _members(source, archive, records)
    raise ScoreError(f"{source.path}: a zip, but no {formats[0].what}; unpack it and score the files in it")


def _members(source: Source, archive: zipfile.ZipFile, infos: list[zipfile.ZipInfo]) -> Records:
    """The records of a zip, numbered from 1. Raises ResourceError for a decompression bomb."""
    unpacked = 0
    for number, info in enumerate(infos, 1):
        # Members may overlap, so that each one looks harmless but all of them together do not.
        unpacked += info.file_size
        if info.file_size > MAX_LINE or is_bomb(unpacked, source.size):
            raise ResourceError(
                f"{source.path}: a member unpacks to more than {MAX_LINE:,} bytes, or all of them to more than "
                f"{MAX_RATIO} times its {source.size:,}; if you trust it, write the log as JSON (inspect log convert)"
            )
        try:
            yield number, parse(_member(source, archive, info))
        except (UnreadableError, UnicodeDecodeError) as error:
            yield number, UnreadableError(f"{brief(info.filename)}: {error}")


def _member(source: Source, archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> bytes:
    """A member's bytes. Raises UnreadableError if they do not match the zip's entry."""
    import pyarrow as pa

    data = b""
    try:
        if info.compress_type == _ZSTD_METHOD:  # which zipfile reads only from Python 3.14 on
            source.file.seek(info.header_offset + _NAME_LENGTHS)
            source.file.seek(sum(struct.unpack("<2H", source.file.read(4))), os.SEEK_CUR)
            packed = pa.BufferReader(source.file.read(info.compress_size))
            data = pa.CompressedInputStream(packed, "zstd").read(info.file_size + 1)
        else:
            with archive.open(info) as member:
                data = member.read(info.file_size + 1)
    except _DAMAGED as error:
        if is_refused(error):
            raise
    if len(data) != info.file_size or zlib.crc32(data) != info.CRC:
        raise UnreadableError("damaged, or compressed in a way that is not read; get the log again")
    return data


# Answers --------------------------------------------------------------------------------------------------------------


def format_of(record: Record, formats: Sequence[Format], names: FieldNames) -> Format | None:
    """The first format that matches a record, or the last one if the record has the fields that the user names."""
    form = next((form for form in formats if form.matches(record)), None)
    named = [field for field in names if field is not None]
    if form is None and named and all(at(record, field, _MISSING) is not _MISSING for field in named):
        form = formats[-1]
    return form


def answers_in(form: Format, records: Iterable[tuple[int, Any]], names: FieldNames) -> Iterator[Answer | Malformed]:
    """The answers of a file of some format.

    records: the line of each, and its value, or an UnreadableError that says why it has none.
    """
    first: str | None = None
    for index, (line, record) in enumerate(records):
        try:
            if isinstance(record, UnreadableError):
                raise record
            if not isinstance(record, dict):
                raise UnreadableError(NOT_AN_OBJECT)
            filtered = form.filter_of(record)
            first = first or filtered
            answers = answers_of(form, record, line, index, names) if filtered == first or filtered is None else []
        except UnreadableError as error:
            yield Malformed(line, str(error))
        else:
            yield from answers


def answers_of(form: Format, record: Record, line: int, index: int, names: FieldNames) -> list[Answer]:
    """The answers of one record; `index`: its place among the file's records. Raises UnreadableError."""
    id_field, text_field = names
    samples = form.completions(record) if text_field is None else [_named_completion(form, record, text_field)]
    if not samples:
        return []
    identity = form.identify(record, index) if id_field is None else _named_identity(form, record, index, id_field)
    name, prompt, position, reference, first, cell, tools = identity
    if name is None and prompt is None and position is None and cell is None:
        raise UnreadableError(
            f"no id: the record has no field that usually holds it; found {keys_of(record)}; name it with --id-field"
        )
    sha256, chat, templated = prompt or (None, None, None)
    read = prompt_tokens_read(record)
    return [
        Answer(name, *completion, sha256, position, first + number, line, reference, chat, templated, cell, tools, read)
        for number, completion in enumerate(samples)
    ]


def _named_completion(form: Format, record: Record, field: str) -> Completion:
    text = answer_text(_named(record, field), field)
    try:
        return form.completions(record)[0]._replace(text=text)
    except (UnreadableError, IndexError):
        return Completion(text)


def _named_identity(form: Format, record: Record, index: int, field: str) -> Identity:
    name = id_text(_named(record, field), field)
    try:
        return form.identify(record, index)._replace(id=name, position=None, coordinates=None)
    except UnreadableError:
        return Identity(name)


def _named(record: Record, field: str) -> Any:
    if (value := at(record, field, _MISSING)) is _MISSING:
        raise UnreadableError(f"no field {field!r}; found {keys_of(record)}")
    return value


_MISSING = object()
