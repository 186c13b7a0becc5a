"""Limits what is read as a whole and what compressed files may unpack to, so that no file takes all of the memory.

Scoring takes up to eighteen times the memory of a long line or JSON document; with these limits it stays below 2 GB.

A file that unpacks to more than a thousand times its size was not compressed to save space. Data files of datasets are
an exception, because prompts are near-copies of each other: there, the size of each line or row is limited.
"""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow.parquet as pq

# A line, a row, or a JSON document, in bytes, unpacked.
MAX_LINE = 100 * 2**20
# Values of a JSON document; each takes up to 300 bytes.
MAX_VALUES = 4_000_000
MAX_RATIO = 1000
# Bytes that even a small file may unpack to, however well it is compressed.
FREE_BYTES = 64 * 2**20
# The most bytes that a batch of rows of a Parquet file may take, however often a page repeats a value.
_BATCH_BYTES = 512 * 2**20


def bomb(path: Path, unpacked: int, packed: int) -> str | None:
    """A sentence if `unpacked` bytes from a file of `packed` bytes look like a decompression bomb; else None."""
    if unpacked > FREE_BYTES and unpacked > MAX_RATIO * packed:
        return (
            f"{path}: unpacks to more than {MAX_RATIO} times its {packed:,} bytes, as decompression bombs do; if you "
            "trust it, unpack it first"
        )
    return None


def long_line(path: Path, size: int) -> str | None:
    """A sentence if a line of `size` bytes is longer than any row; else None."""
    if size > MAX_LINE:
        return f"{path}: a line of more than {MAX_LINE:,} bytes; expected one row per line"
    return None


def long_document(path: Path, size: int, values: int) -> str | None:
    """A sentence if a JSON document of `size` bytes and up to `values` values is too large to be parsed; else None."""
    if size <= MAX_LINE and values <= MAX_VALUES:
        return None
    return (
        f"{path}: a JSON document is read as a whole and may have {MAX_LINE:,} bytes and {MAX_VALUES:,} values (commas "
        "and opening brackets); write it as JSONL, one record per line, which may have any size (jq -c '.[]')"
    )


def packed_group(path: Path, about: pq.FileMetaData) -> str | None:
    """A sentence if a row group of a Parquet file looks like a bomb by its metadata; else None."""
    for number in range(about.num_row_groups):
        group = about.row_group(number)
        columns = [group.column(place) for place in range(group.num_columns)]
        unpacked = sum(max(0, column.total_uncompressed_size) for column in columns)
        packed = sum(max(0, column.total_compressed_size) for column in columns)
        if (problem := bomb(path, unpacked, packed)) is not None:
            return problem
    return None


def batch_rows(about: pq.FileMetaData, most: int, names: Collection[str] | None = None) -> int:
    """How many rows of a Parquet file to read at once, with all columns or those in `names`, within bounded memory.

    A dictionary-encoded page can store a value once and repeat it a million times, but no value is larger than the size
    that its column states.
    """
    largest = 0
    for number in range(about.num_row_groups):
        group = about.row_group(number)
        columns = (group.column(place) for place in range(group.num_columns))
        coded = sum(
            max(0, column.total_uncompressed_size)
            for column in columns
            if (names is None or column.path_in_schema.partition(".")[0] in names)
            and any("DICTIONARY" in coding for coding in column.encodings)
        )
        largest = max(largest, coded)
    return max(1, min(most, _BATCH_BYTES // max(1, largest)))
