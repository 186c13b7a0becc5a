"""Reads the rows of a dataset's data files, Parquet or JSON Lines, plain or packed, a few at a time."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from niah_score.contract import SCHEMA_VERSION, open_regular, strict_json
from niah_score.errors import ScoreError
from niah_score.formats.streams import Source
from niah_score.formats.strict_json import by_orjson
from niah_score.formats.tables import parquet, parquet_rows
from niah_score.machine.files import reading

if TYPE_CHECKING:
    import pyarrow.parquet as pq

# What Parquet files begin with.
PARQUET = b"PAR1"


@contextmanager
def opened_rows(file: Path) -> Iterator[Source]:
    """Open a file of rows. Raises ScoreError if it is no regular file, and OSError."""
    with reading(file), open_regular(file) as stream:
        yield Source(file, stream, of_dataset=True)


def records_of(source: Source, columns: Collection[str] | None, most: int) -> Iterator[tuple[str, dict[str, Any]]]:
    """Every row with its place (`FILE:LINE`, in Parquet `FILE: row N`), and those of some columns that it has.

    `columns`: None for all. `most`: how many rows of a Parquet file to hold at once. Raises ScoreError naming the place
    for what is not a row, IntegrityError for a damaged file.
    """
    if source.first == PARQUET:
        with parquet(source) as opened:
            names = [name for name in column_names(source, opened) if columns is None or name in columns]
        for number, record in parquet_rows(source, most, names):
            yield f"{source.path}: row {number}", record
    else:
        for number, line in source.lines():
            if line.strip():
                record = _json_object(line, f"{source.path}:{number}")
                kept = record if columns is None else {name: record[name] for name in columns if name in record}
                yield f"{source.path}:{number}", kept


def column_names(source: Source, opened: pq.ParquetFile) -> list[str]:
    """The columns of a Parquet file. Raises ScoreError for a newer schema."""
    version = (opened.metadata.metadata or {}).get(b"niah_schema_version", b"")
    if version.isdigit() and int(version) > SCHEMA_VERSION:
        raise ScoreError(
            f"{source.path}: schema version {int(version)} is newer than the {SCHEMA_VERSION} that this release reads; "
            "upgrade niah-kit"
        )
    return list(opened.schema_arrow.names)


def _json_object(line: bytes, where: str) -> dict[str, Any]:
    """The row on a line. Raises ScoreError if it is not an object, or has a key twice."""
    try:
        record = by_orjson(line) or strict_json(line)
        if not isinstance(record, dict):
            raise ValueError("found something else")
    except ValueError as error:
        raise ScoreError(f"{where}: not a JSON object ({error}); expected a row of a dataset") from None
    return record
