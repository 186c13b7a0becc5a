"""Limits what is read as a whole and what compressed files may unpack to, so that no file takes all of the memory.

Scoring takes up to eighteen times the memory of a long line or JSON document; with these limits it stays below 2 GB.
"""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING

from niah_score.errors import ResourceError

if TYPE_CHECKING:
    import pyarrow.parquet as pq

# Bytes of a line, a row, or a JSON document, unpacked.
MAX_LINE = 100 * 2**20
# A file that unpacks to more than a thousand times its size was not compressed to save space. Data files of datasets
# are an exception, because prompts are near-copies of each other: there, the size of each line or row is limited.
MAX_RATIO = 1000
# Bytes that even a small file may unpack to, however well it is compressed.
FREE_BYTES = 64 * 2**20
# The most bytes that a batch of rows of a Parquet file may take, however often a page repeats a value.
_BATCH_BYTES = 256 * 2**20


def is_bomb(unpacked: int, packed: int) -> bool:
    """Whether `unpacked` bytes from a file of `packed` bytes look like a decompression bomb."""
    return unpacked > FREE_BYTES and unpacked > MAX_RATIO * packed


def refuse_bomb(path: Path, unpacked: int, packed: int) -> None:
    """Raise ResourceError if what a file of `packed` bytes holds looks like a decompression bomb."""
    if is_bomb(unpacked, packed):
        raise ResourceError(
            f"{path}: unpacks to more than {MAX_RATIO} times its {packed:,} bytes, as decompression bombs do; if you "
            "trust it, unpack it first"
        )


def refuse_packed_groups(path: Path, about: pq.FileMetaData) -> None:
    """Raise ResourceError if a row group of a Parquet file looks like a bomb by its metadata."""
    for group in _groups(about):
        unpacked = sum(max(0, column.total_uncompressed_size) for column in group)
        refuse_bomb(path, unpacked, sum(max(0, column.total_compressed_size) for column in group))


def batch_rows(about: pq.FileMetaData, most: int, names: Collection[str]) -> int:
    """How many rows of some columns of a Parquet file to read at once within bounded memory.

    A dictionary-encoded page can store a value once and repeat it a million times, but no value is larger than the size
    that its column states.
    """
    coded: list[int] = [
        sum(
            column.total_uncompressed_size
            for column in group
            if column.path_in_schema.partition(".")[0] in names and "DICTIONARY" in str(column.encodings)
        )
        for group in _groups(about)
    ]
    return max(1, min(most, _BATCH_BYTES // max(1, *coded, 1)))


def _groups(about: pq.FileMetaData) -> list[list[pq.ColumnChunkMetaData]]:
    """The columns of each row group."""
    groups = map(about.row_group, range(about.num_row_groups))
    return [[group.column(place) for place in range(group.num_columns)] for group in groups]
