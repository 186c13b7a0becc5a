"""Reads CSV and TSV strictly by RFC 4180; every field is text and stays as it is.

A quote that is never closed is reported at the line that opens it, unlike in Python's csv module.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from niah_score.errors import ResourceError, ScoreError
from niah_score.formats.answers import answers_of
from niah_score.formats.containers.streams import MAX_LINE, Source
from niah_score.formats.fields import field_of
from niah_score.formats.record import (
    Answer,
    FieldNames,
    Format,
    LineBlock,
    LineError,
    Malformed,
    Record,
    TableColumns,
    UnreadableError,
    brief,
)


class TableHeader(NamedTuple):
    """The header of a table: its format, its separator, the names of its columns, and which of them are read."""

    form: Format
    separator: str
    names: tuple[str, ...]
    columns: TableColumns


class _TableRow(NamedTuple):
    line: int
    fields: list[str] | None
    problem: str = ""


def header_of(
    source: Source, formats: Sequence[Format], names: FieldNames, forced: Format | None
) -> TableHeader | None:
    """The header, if the first line of a file is one: it has a column of texts, or the columns that the user names.

    Raises ScoreError for a header with a column twice, or with carriage returns for line ends.
    """
    path = str(source.path)
    line = next((line for line in source.head.split(b"\n") if line.strip()), b"")
    try:
        text = line.decode()
    except UnicodeDecodeError:
        if forced is None:
            return None
        raise LineError(path, 1, "the header is not UTF-8; save the file as UTF-8") from None
    texts: tuple[str, ...] = ()
    for form, separator, columns in _tables(formats if forced is None else [forced]):
        texts = texts or columns.texts
        rows = list(_rows([([text.removesuffix("\r").partition("\r")[0].encode()], False)], separator, path))
        fields = rows[0].fields if rows else None
        if fields is None or (len(fields) < 2 and forced is None):
            continue
        if columns.signs and field_of(fields, columns.signs) is None and forced is None:
            continue
        needed = [names.text_field or field_of(fields, columns.texts)]
        if names.id_field is not None:
            needed.append(names.id_field)
        if not all(name is not None and name in fields for name in needed):
            continue
        if "\r" in text.removesuffix("\r"):
            raise ScoreError(f"{path}: lines end with a carriage return alone; save the file with line feeds")
        again = next((name for place, name in enumerate(fields) if name in fields[:place]), None)
        if again is not None:
            raise LineError(path, 1, f"column {brief(again)} appears twice in the header; keep the right one")
        return TableHeader(form, separator, tuple(fields), columns)
    if forced is not None:
        raise LineError(
            path,
            1,
            f"the header has no column with the answer's text: found {brief(text)}; expected one of "
            f"{', '.join(texts)}, or name it with --text-field",
        )
    return None


def _tables(formats: Iterable[Format]) -> Iterator[tuple[Format, str, TableColumns]]:
    for form in formats:
        for separator in form.separators:
            if form.columns is not None:
                yield form, separator, form.columns


def read(source: Source, header: TableHeader, names: FieldNames) -> Iterator[Answer | Malformed]:
    """All rows after the header; `line` is where the row begins. Raises LineError for bytes that are not UTF-8."""
    columns = header.columns
    named = names.id_field or field_of(header.names, (*columns.ids, columns.prompt))
    form = header.form if named is not None else header.form._replace(identify=columns.by_order)
    width = len(header.names)
    rows = _rows(source.blocks(), header.separator, str(source.path))
    next(rows, None)
    for index, row in enumerate(rows):
        if row.fields is None:
            yield Malformed(row.line, row.problem)
            continue
        if len(row.fields) != width:
            yield Malformed(
                row.line,
                f"{len(row.fields)} columns, the header has {width}; a text that contains {_name(header.separator)}, a "
                "quote or a line end must be quoted",
            )
            continue
        record: Record = dict(zip(header.names, row.fields, strict=True))
        try:
            answers = answers_of(form, record, row.line, index, names)
        except UnreadableError as error:
            yield Malformed(row.line, str(error))
        else:
            yield from answers


def _name(separator: str) -> str:
    return "a tab" if separator == "\t" else repr(separator)


def _rows(blocks: Iterable[LineBlock], separator: str, path: str) -> Iterator[_TableRow]:
    """The rows of a table; blank lines between them are skipped."""
    row = _OpenRow(separator)
    number = 0
    for block, _ in blocks:
        for line in block:
            number += 1
            if line is None:
                raise ResourceError(
                    f"{path}:{number}: a line of more than {MAX_LINE:,} bytes; expected one row per line"
                )
            if not row.quoted:
                if not line.strip(b" \r"):
                    continue
                row = _OpenRow(separator, number)
            try:
                text = line.decode()
            except UnicodeDecodeError as error:
                raise LineError(
                    path, number, f"byte {error.start + 1} (0x{line[error.start]:02x}) is not UTF-8; save it as UTF-8"
                ) from None
            try:
                row.feed(text)
            except UnreadableError as error:
                yield _TableRow(row.line, None, str(error))
                row = _OpenRow(separator)
                continue
            if not row.quoted:
                yield _TableRow(row.line, row.fields)
            elif row.held > MAX_LINE:
                raise ResourceError(
                    f"{path}:{row.line}: a row of more than {MAX_LINE:,} characters; its quote may never be closed"
                )
    if row.quoted:
        yield _TableRow(
            row.line,
            None,
            f"the quote that opens column {len(row.fields) + 1} is never closed, so all lines from here to the end "
            "were read as its text; close it, or write the file again",
        )


class _OpenRow:
    """A row that is being read, line by line."""

    def __init__(self, separator: str, line: int = 0) -> None:
        self.line = line
        self.fields: list[str] = []
        self.quoted = False
        self.held = 0
        self._separator = separator
        self._parts: list[str] = []

    def feed(self, text: str) -> None:
        """Take the next line. Raises UnreadableError if it breaks the rules of quoting."""
        if not self.quoted and '"' not in text:
            self._unquoted(text.removesuffix("\r").split(self._separator))
            return
        place = 0
        while True:
            if not self.quoted:
                if not text.startswith('"', place):
                    end = text.find(self._separator, place)
                    last = end < 0
                    self._unquoted([text[place:].removesuffix("\r") if last else text[place:end]])
                    if last:
                        return
                    place = end + 1
                    continue
                self.quoted = True
                place += 1
            place = self._closing(text, place)
            if place < 0:
                return
            rest = text[place : place + 1]
            if rest == self._separator:
                place += 1
            elif text[place:] in ("", "\r"):
                return
            else:
                raise UnreadableError(
                    f"column {len(self.fields)} goes on after its closing quote; double every quote inside a quoted "
                    "text"
                )

    def _unquoted(self, fields: list[str]) -> None:
        for field in fields:
            if '"' in field:
                raise UnreadableError(
                    f"column {len(self.fields) + 1} holds a quote but does not begin with one; expected the whole text "
                    "in quotes, and every quote inside it doubled"
                )
            if "\r" in field:
                raise UnreadableError(
                    f"column {len(self.fields) + 1} holds a carriage return outside quotes; expected the text in quotes"
                )
            self.fields.append(field)

    def _closing(self, text: str, place: int) -> int:
        """Read a quoted text up to its closing quote and return the place after that; -1 if the line ends first."""
        while True:
            end = text.find('"', place)
            if end < 0:
                self._parts.append(text[place:])
                self._parts.append("\n")
                self.held += len(text) - place + 1
                return -1
            if not text.startswith('"', end + 1):
                self._parts.append(text[place:end])
                self.fields.append("".join(self._parts))
                self._parts = []
                self.quoted = False
                return end + 1
            self._parts.append(text[place : end + 1])
            place = end + 2
