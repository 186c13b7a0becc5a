"""Bounds what compressed files may unpack to, for both packages: no small file takes the memory of the machine.

A file that unpacks to more than a thousand times its size is none that anybody packed to save space. Data files of
datasets are an exception, for prompts are near-copies of each other: of these a single line or row is bounded.
"""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow.parquet as pq

# A line, or a row, in bytes.
MAX_LINE = 256 * 2**20
MAX_RATIO = 1000
# What may come of a small file however well it is compressed.
FREE_BYTES = 64 * 2**20
# A batch of rows of a Parquet file takes at most this much, however often a page repeats a value.
_BATCH_BYTES = 512 * 2**20


def bomb(path: Path, unpacked: int, packed: int) -> str | None:
    """A sentence where so many bytes are too many to come of a file of so many, as bombs are; else None."""
    if unpacked > FREE_BYTES and unpacked > MAX_RATIO * packed:
        return (
            f"{path}: unpacks to more than {MAX_RATIO} times its {packed:,} bytes, as decompression bombs do; if you "
            "trust it, unpack it first"
        )
    return None


def long_line(path: Path, size: int) -> str | None:
    """A sentence where a line of so many bytes is longer than any row; else None."""
    if size > MAX_LINE:
        return f"{path}: a line of more than {MAX_LINE:,} bytes; expected a row a line"
    return None


def packed_group(path: Path, about: pq.FileMetaData) -> str | None:
    """A sentence where a row group of a Parquet file says that it is a bomb; else None."""
    for number in range(about.num_row_groups):
        group = about.row_group(number)
        columns = [group.column(place) for place in range(group.num_columns)]
        unpacked = sum(max(0, column.total_uncompressed_size) for column in columns)
        if (found := bomb(path, unpacked, sum(max(0, column.total_compressed_size) for column in columns))) is not None:
            return found
    return None


def batch_rows(about: pq.FileMetaData, most: int, names: Collection[str] | None = None) -> int:
    """How many rows of a Parquet file to read at once, of some columns or all, so that memory stays bounded.

    A page that is coded by a dictionary can hold a value once and mean it a million times; no value is larger than its
    column says.
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
