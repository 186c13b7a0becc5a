"""Recognises an answer file by its content and reads its answers, opening the file only once.

The first MiB usually shows the format and is kept in memory. If more was needed, the open file is read again from its
beginning.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from niah_score.errors import ScoreError, suggestion
from niah_score.formats import parquet_apart, standard_input
from niah_score.formats.containers import documents, json_lines, separated, zipped
from niah_score.formats.containers.streams import FileState, Source, opened, refuse_changed, state_of
from niah_score.formats.record import Answer, Container, FieldNames, Format, LineError, Malformed, NoAnswersError
from niah_score.formats.registry import FORMATS
from niah_score.machine.files import reading

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
    """The format of an open file, its records, still unread, and whether it can be read in ranges of lines."""

    form: Format
    records: Iterator[Answer | Malformed]
    by_line: bool = False


class AnswerFile:
    """One file of answers. Each iteration opens it once and reads it in order, keeping as little in memory as possible.

    `name` is what messages call it, its path or "standard input".
    """

    def __init__(self, path: Path, field_names: FieldNames, forced: Format | None) -> None:
        self._given = path
        self.name = standard_input.NAME if str(path) == standard_input.DASH else path
        self.field_names = field_names
        self._forced = forced
        self._format = "" if forced is None else forced.name

    @cached_property
    def path(self) -> Path:
        """Where its bytes are. Standard input is kept in a temporary file for as long as this object lives."""
        if self.name is self._given:
            return self._given
        return standard_input.kept(self)

    @property
    def format(self) -> str:
        """The name of its format; empty until reading has started."""
        return self._format

    def state(self) -> FileState:
        """The state of the file, to notice changes later. Raises ScoreError if it is not there."""
        with reading(self.name, self.path, advice="expected a file with answers"):
            return state_of(self.path)

    def refuse_changed(self, before: FileState) -> None:
        """Raise IntegrityError if the file was replaced or its contents have changed."""
        refuse_changed(self.name, self.path, before)

    def splittable(self) -> bool:
        """Whether `read_lines` can read ranges of it: JSON Lines, not compressed. Recognises the format.

        In ruler, longbench and ordered files, positions count from the beginning of the range.
        """
        with opened(self.path, self.name) as source:
            if source.kind != "text":
                return False
            recognised = _recognised(self.path, source, self.field_names, self._forced)
        self._format = recognised.form.name
        return recognised.by_line

    def __iter__(self) -> Iterator[Answer | Malformed]:
        """Its records. Raises ScoreError if the file cannot be read to its end, LineError if a line is to blame."""
        with opened(self.path, self.name) as source:
            recognised = _recognised(self.path, source, self.field_names, self._forced)
            self._format = recognised.form.name
            first = next(recognised.records, None)
            if first is None:
                raise NoAnswersError(str(self.name), "no predictions in it; was the run finished?")
            yield first
            yield from recognised.records


def read_answers(
    path: Path, *, id_field: str | None = None, text_field: str | None = None, format: str | None = None
) -> AnswerFile:
    """A file of answers to iterate over; `-` is standard input, which can be iterated over again too.

    id_field, text_field: dotted paths that override the format's own fields. format: a name in FORMATS; recognised by
    default. Raises ScoreError if it is unknown.
    """
    return AnswerFile(Path(path), FieldNames(id_field, text_field), None if format is None else _known(format))


def read_lines(
    path: Path,
    start: int,
    end: int,
    *,
    format: str,
    id_field: str | None = None,
    text_field: str | None = None,
    name: Path | None = None,
) -> Iterator[Answer | Malformed]:
    """The records of a JSON Lines file from byte `start`, where a line begins, up to but not including byte `end`.

    Made for worker processes: every call opens the file again, by design. Lines, and positions where the format has
    them, count from `start`; `LineError.after` corrects the error of a range. name: what messages call the file, its
    path by default. Raises ScoreError for a format that is not read line by line.
    """
    form = _known(format)
    if form.container != "json":
        raise _no_ranges(name or path, format)
    return _lines_between(path, name or path, start, end, form, FieldNames(id_field, text_field))


def _lines_between(
    path: Path, name: Path, start: int, end: int, form: Format, names: FieldNames
) -> Iterator[Answer | Malformed]:
    with opened(path, name) as source:
        if source.kind != "text" or source.packed:
            raise _no_ranges(name, form.name)
        reader = json_lines.LineReader(source, form, _IN["json"], names)
        yield from reader.read(source.blocks_between(start, end))


def _no_ranges(path: Path, name: str) -> ScoreError:
    return ScoreError(f"{path}: format {name!r} cannot be read in ranges; read the whole file")


def _known(name: str) -> Format:
    if name not in FORMATS:
        raise ScoreError(f"format {name!r} is not known; {suggestion(name, FORMATS)}")
    return FORMATS[name]


def _recognised(path: Path, source: Source, names: FieldNames, forced: Format | None) -> _Recognised:
    if source.kind == "zip":
        _expect("zip", source, forced)
        archive = zipped.archive_of(source, _IN["zip"])
        return _Recognised(archive.form, zipped.read(archive, names))
    if source.kind == "parquet":
        _expect("parquet", source, forced)
        return _Recognised(*parquet_apart.read(path, source.path, names, forced))
    start = source.head.lstrip()[:1]
    if start and (start not in b"[{" if forced is None else forced.container == "separated"):
        header = separated.header_of(source, _IN["separated"], names, forced)
        if header is not None:
            return _Recognised(header.form, separated.read(source, header, names))
    if start:
        _expect("json", source, forced)
    if start == b"[" or (start == b"{" and documents.begins(source, _IN["json"])):
        return _document(source, names, forced, start)
    if forced is None and start and start != b"{" and b"\n{" not in source.head:
        raise NoAnswersError(
            str(source.path),
            "neither JSON nor a table whose header has a column with the answer's text; expected one of "
            f"{', '.join(_text_columns())}, or name the column with --text-field",
        )
    return _lines(source, names, forced)


def _expect(container: Container, source: Source, forced: Format | None) -> None:
    if forced is not None and forced.container != container:
        raise ScoreError(
            f"{source.path}: {_CONTAINERS[container]}, but format {forced.name!r} is {_CONTAINERS[forced.container]}; "
            "leave the format out to have it recognised"
        )


def _text_columns() -> tuple[str, ...]:
    return next(form.columns.texts for form in _IN["separated"] if form.columns is not None and not form.columns.signs)


def _document(source: Source, names: FieldNames, forced: Format | None, start: bytes) -> _Recognised:
    formats = _IN["json"]
    try:
        document = documents.load(source, formats)
    except LineError as error:
        if start == b"[":
            raise
        # Perhaps JSON Lines whose first line is broken.
        try:
            form = json_lines.format_of_lines(source, formats, names)
        except ScoreError:
            raise error from None
        return _lines(source, names, forced or form)
    form = forced or documents.format_in(source, document, formats, names)
    return _Recognised(form, documents.read(source, document, form, formats, names))


def _lines(source: Source, names: FieldNames, form: Format | None) -> _Recognised:
    form = form or json_lines.format_of_lines(source, _IN["json"], names)
    reader = json_lines.LineReader(source, form, _IN["json"], names)
    return _Recognised(form, reader.read(source.blocks()), not source.packed)
