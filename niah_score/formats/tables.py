"""Reads tables: CSV and TSV as the standard library does, every field as text; Parquet a batch of rows at a time."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from niah_score.errors import ResourceError, ScoreError
from niah_score.formats.fields import field_of
from niah_score.formats.record import FieldNames, Format, NoAnswersError, UnreadableError, brief, keys_of
from niah_score.formats.streams import MAX_LINE, Source, batch_rows, refuse_bomb, refuse_packed_groups
from niah_score.formats.strict_json import not_utf8
from niah_score.machine.files import is_refused

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq

# The lines of records, and their values or why they have none.
Records = Iterator[tuple[int, Any]]
_BATCH_ROWS = 1024
_QUOTES = "quote texts with separators, quotes or line ends, close every quote, and double those inside a quoted text"


def table_in(source: Source, formats: Sequence[Format], names: FieldNames) -> tuple[Format, Records] | None:
    """The format and the rows of a table; None if the first line is no header with a column of texts.

    Raises ScoreError for a header with a column twice, or with carriage returns for line ends.
    """
    first = next((line for _, line in source.lines() if line.strip()), b"")
    header = first.decode(errors="replace").rstrip("\r\n")
    for form in formats:
        for separator in form.separators:
            fields = next(csv.reader([header.partition("\r")[0]], delimiter=separator), [])
            needed = {names.text_field or field_of(fields, form.texts), names.id_field or next(iter(fields), None)}
            signed = not form.signs or field_of(fields, form.signs) is not None
            if len(fields) < 2 or not signed or not needed <= set(fields):
                continue
            _refuse_twice(source.path, fields)
            return form, _rows(source, separator)
    return None


def _refuse_twice(path: Path, columns: list[str]) -> None:
    again = next((name for place, name in enumerate(columns) if name in columns[:place]), None)
    if again is not None:
        raise ScoreError(f"{path}: column {brief(again)} appears twice; keep the right one")


def _rows(source: Source, separator: str) -> Records:
    """The rows after the header, each with the line where it begins."""
    csv.field_size_limit(MAX_LINE)
    reader = csv.reader(_texts(source), delimiter=separator, strict=True)
    header: list[str] = []
    while True:
        line = reader.line_num + 1
        try:
            row = next(reader, None)
        except csv.Error as error:
            if "field limit" in str(error):
                raise ResourceError(
                    f"{source.path}:{line}: a text of more than {MAX_LINE:,} characters; its quote may never be closed"
                ) from None
            yield line, UnreadableError(f"not CSV ({error}); {_QUOTES}")
            continue
        if row is None:
            return
        if not header:
            header = row
        elif len(row) == len(header):
            yield line, dict(zip(header, row, strict=True))
        elif "".join(row).strip():
            yield line, UnreadableError(f"{len(row)} columns, the header has {len(header)}; {_QUOTES}")


def _texts(source: Source) -> Iterator[str]:
    for number, line in source.lines():
        try:
            yield line.decode()
        except UnicodeDecodeError as error:
            raise ScoreError(f"{source.path}:{number}: {not_utf8(error)}") from None


# Parquet --------------------------------------------------------------------------------------------------------------


def parquet_in(source: Source, formats: Sequence[Format], names: FieldNames) -> tuple[Format, Records]:
    """The format and the rows of a Parquet file, numbered from 1. Raises ScoreError if it has no answers in it."""
    with parquet(source) as file:
        columns = list(file.schema_arrow.names)
        leaves = [file.schema.column(place).path for place in range(len(file.schema))]
    named = [name if name in columns else name.split(".")[0] for name in names if name is not None]
    for name in named:
        if name not in columns:
            raise NoAnswersError(source.path, f"no column {name!r}; found {keys_of(columns)}")
    for form in formats:
        for layout in form.layouts:
            if {leaf.split(".")[0] for leaf in layout} <= set(columns):
                wanted = [leaf for leaf in leaves if leaf.startswith(layout) or leaf.split(".")[0] in named]
                return form, parquet_rows(source, _BATCH_ROWS, wanted)
    form = formats[-1]
    if not (names.text_field or field_of(columns, form.texts)):
        raise NoAnswersError(
            source.path,
            f"no column with the answer's text; found {keys_of(columns)}; expected one of {', '.join(form.texts)}, or "
            "name it with --text-field",
        )
    tops = {*named, *(field_of(columns, group) for group in form.read)}
    return form, parquet_rows(source, _BATCH_ROWS, [leaf for leaf in leaves if leaf.split(".")[0] in tops])


def parquet_rows(source: Source, most: int, columns: Sequence[str] | None = None) -> Records:
    """The rows of a Parquet file, numbered from 1, at most `most` of them in memory at once.

    `columns`: paths of those to read, or of what they nest; None reads all. Raises what `parquet` and `batches` do.
    """
    with parquet(source) as file:
        rows = (row for batch in batches(source, file, most, columns) for row in batch.to_pylist())
        yield from enumerate(rows, 1)


@contextmanager
def parquet(source: Source) -> Iterator[pq.ParquetFile]:
    """An open Parquet file. Whatever the reader raises in the block for a damaged one becomes one sentence.

    Raises ScoreError, also for a column that is there twice, and ResourceError for a decompression bomb.
    """
    import polars as pl
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        # Checksums find flipped bits where the writer wrote some. With a buffer, column chunks are read piece by piece.
        how = {"page_checksum_verification": True, "pre_buffer": False, "buffer_size": 2**20}
        with pq.ParquetFile(source.file, **how) as file:
            _refuse_twice(source.path, file.schema_arrow.names)
            refuse_packed_groups(source.path, file.metadata)
            yield file
    # A damaged column name may not be text, and polars panics over data that Arrow accepts.
    except (pa.ArrowException, OSError, ValueError, OverflowError, pl.exceptions.PanicException) as error:
        if is_refused(error):
            raise
        reason = " ".join(str(error).split())[:200]
        raise source.damaged(f"the Parquet file is damaged or cut off ({reason})") from None


def batches(
    source: Source, file: pq.ParquetFile, most: int, columns: Sequence[str] | None = None, group: int | None = None
) -> Iterator[pa.RecordBatch]:
    """Some columns of a Parquet file, or of one row group, at most `most` rows at a time, every value written out.

    Raises ResourceError if they unpack to far more than the file holds, ScoreError if they have fewer rows than stated.
    """
    import pyarrow as pa

    names = file.schema_arrow.names if columns is None else {column.split(".")[0] for column in columns}
    rows, unpacked, size = 0, 0, batch_rows(file.metadata, most, names)
    groups = [group] if group is not None else range(file.num_row_groups)
    for packed in file.iter_batches(size, groups, columns, use_threads=False):
        arrays = [one.dictionary_decode() if pa.types.is_dictionary(one.type) else one for one in packed.columns]
        batch = pa.RecordBatch.from_arrays(arrays, packed.schema.names)
        # Prompts of a dataset are near-copies of each other.
        sizes = zip(batch.schema.names, batch.columns, strict=True)
        unpacked += sum(one.nbytes for name, one in sizes if name != "prompt" or not source.of_dataset)
        refuse_bomb(source.path, unpacked, source.size)
        yield batch
        rows += batch.num_rows
    # Batches end with the shortest column.
    stated = sum(file.metadata.row_group(number).num_rows for number in groups)
    if rows != stated:
        raise source.damaged(f"holds {rows} rows instead of {stated}")
