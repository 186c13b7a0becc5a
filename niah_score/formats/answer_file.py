"""Recognises an answer file by its content and reads its answers, both from one opening of the file.

What tells the format lies in the first MiB as a rule, which is kept. Where more had to be looked at, the open file is
read from its beginning again.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from niah_score.errors import ScoreError, suggestion
from niah_score.formats.containers import documents, json_lines, parquet, separated, zipped
from niah_score.formats.containers.streams import Source, opened
from niah_score.formats.record import Answer, Container, FieldNames, Format, LineError, Malformed
from niah_score.formats.registry import FORMATS

_CONTAINERS: dict[Container, str] = {
    "json": "JSON",
    "zip": "a zip",
    "separated": "CSV or TSV",
    "parquet": "Parquet",
}
_IN: dict[Container, list[Format]] = {
    container: [form for form in FORMATS.values() if form.container == container] for container in _CONTAINERS
}


class _Recognised(NamedTuple):
    """The format of an open file, whether it may be read by ranges of lines, and its records, not yet read."""

    form: Format
    by_line: bool
    records: Iterator[Answer | Malformed]


class AnswerFile:
    """One file of answers. Each iteration opens it once and reads it in order, holding as little of it as it can."""

    def __init__(self, path: Path, field_names: FieldNames, forced: Format | None) -> None:
        self.path = path
        self.field_names = field_names
        self._forced = forced
        self._name = "" if forced is None else forced.name

    @property
    def format(self) -> str:
        """The name of its format; empty until reading has started."""
        return self._name

    def splittable(self) -> bool:
        """Whether `read_lines` can read ranges of it: lines of JSON, not packed. Recognises the format.

        Of ruler, longbench and ordered files the positions of a range count from its beginning.
        """
        with opened(self.path) as source:
            found = _recognised(source, self.field_names, self._forced)
        self._name = found.form.name
        return found.by_line

    def __iter__(self) -> Iterator[Answer | Malformed]:
        """Its records. Raises ScoreError for what ends the file, LineError where a line is to blame."""
        with opened(self.path) as source:
            found = _recognised(source, self.field_names, self._forced)
            self._name = found.form.name
            first = next(found.records, None)
            if first is None:
                raise ScoreError(f"{self.path}: no predictions in it; was the run finished?")
            yield first
            yield from found.records


def read_answers(
    path: Path, *, id_field: str | None = None, text_field: str | None = None, format: str | None = None
) -> AnswerFile:
    """A file of answers, to be iterated over.

    id_field, text_field: dotted paths that win over what the format says. format: a name of FORMATS, instead of
    recognising it. Raises ScoreError for an unknown one.
    """
    return AnswerFile(Path(path), FieldNames(id_field, text_field), None if format is None else _known(format))


def read_lines(
    path: Path, start: int, end: int, *, format: str, id_field: str | None = None, text_field: str | None = None
) -> Iterator[Answer | Malformed]:
    """The records of a JSON Lines file from byte `start`, where a line begins, to before byte `end`.

    Made for worker processes: every call opens the file once more, by design. Lines, and positions where the format
    has them, count from `start`; the LineError of a range is put right by its `after`. Raises ScoreError for a format
    that is not read line by line.
    """
    form = _known(format)
    if form.container != "json":
        raise _no_ranges(path, format)
    return _lines_between(path, start, end, form, FieldNames(id_field, text_field))


def _lines_between(path: Path, start: int, end: int, form: Format, names: FieldNames) -> Iterator[Answer | Malformed]:
    with opened(path) as source:
        if source.kind != "text" or source.packed:
            raise _no_ranges(path, form.name)
        reader = json_lines.LineReader(source, form, _IN["json"], names)
        yield from reader.read(source.blocks_between(start, end))


def _no_ranges(path: Path, name: str) -> ScoreError:
    return ScoreError(f"{path}: format {name!r} is not read by ranges; read the whole file")


def _known(name: str) -> Format:
    found = FORMATS.get(name)
    if found is None:
        raise ScoreError(f"format {name!r} is not known; {suggestion(name, FORMATS)}")
    return found


def _recognised(source: Source, names: FieldNames, forced: Format | None) -> _Recognised:
    if source.kind == "zip":
        _expect("zip", source, forced)
        archive = zipped.archive_of(source, _IN["zip"])
        return _Recognised(archive.form, False, zipped.read(archive, names))
    if source.kind == "parquet":
        _expect("parquet", source, forced)
        fields = parquet.fields_of(source, _IN["parquet"], names, forced)
        return _Recognised(fields.form, False, parquet.read(source, fields, names))
    start = source.head.lstrip()[:1]
    if start and (start not in b"[{" if forced is None else forced.container == "separated"):
        header = separated.header_of(source, _IN["separated"], names, forced)
        if header is not None:
            return _Recognised(header.form, False, separated.read(source, header, names))
    if start:
        _expect("json", source, forced)
    if start == b"[" or (start == b"{" and documents.begins(source, _IN["json"])):
        return _document(source, names, forced, start)
    if forced is None and start and start != b"{" and b"\n{" not in source.head:
        raise ScoreError(
            f"{source.path}: neither JSON, nor a table whose header has a column with the answer's text "
            f"({_text_column()!r} or another one that docs/formats.md lists); name one with --text-field"
        )
    return _lines(source, names, forced)


def _expect(found: Container, source: Source, forced: Format | None) -> None:
    if forced is not None and forced.container != found:
        raise ScoreError(
            f"{source.path}: {_CONTAINERS[found]}, but format {forced.name!r} is {_CONTAINERS[forced.container]}; "
            "leave the format out to have it recognised"
        )


def _text_column() -> str:
    return next(form.columns.texts[0] for form in _IN["separated"] if form.columns is not None)


def _document(source: Source, names: FieldNames, forced: Format | None, start: bytes) -> _Recognised:
    formats = _IN["json"]
    try:
        document = documents.load(source, formats)
    except LineError as error:
        # A first line that is broken, among lines that are not.
        if start == b"[":
            raise
        try:
            found = json_lines.format_of_lines(source, formats, names)
        except ScoreError:
            raise error from None
        return _lines(source, names, forced or found)
    form = forced or documents.format_in(source, document, formats, names)
    return _Recognised(form, False, documents.read(source, document, form, formats, names))


def _lines(source: Source, names: FieldNames, form: Format | None) -> _Recognised:
    form = form or json_lines.format_of_lines(source, _IN["json"], names)
    reader = json_lines.LineReader(source, form, _IN["json"], names)
    return _Recognised(form, not source.packed, reader.read(source.blocks()))
