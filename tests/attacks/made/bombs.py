"""Small files that unpack to a thousand times their size or more."""

from __future__ import annotations

import gzip
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import zstandard

MIB = 2**20


def zst(path: Path, size: int = 1024 * MIB) -> Path:
    """A line that never ends: 1 GiB in 32 KB."""
    with path.open("wb") as file, zstandard.ZstdCompressor().stream_writer(file) as out:
        out.write(b'{"id":"x","text":"')
        for _ in range(size // MIB):
            out.write(b"a" * MIB)
    return path


def lines_zst(path: Path, lines: int = 1024) -> Path:
    """1 GiB in lines of 1 MiB, each a record."""
    line = b'{"id":"x","text":"' + b"a" * MIB + b'"}\n'
    with path.open("wb") as file, zstandard.ZstdCompressor().stream_writer(file) as out:
        for _ in range(lines):
            out.write(line)
    return path


def gz(path: Path, size: int = 160 * MIB) -> Path:
    """160 MiB in as few bytes as gzip allows, about a thousandth."""
    with gzip.GzipFile(path, "wb", 9, mtime=0) as out:
        out.write(b'{"id":"x","prediction":"')
        for _ in range(size // MIB):
            out.write(b"a" * MIB)
    return path


def parquet(path: Path, columns: tuple[str, ...], rows: int = 1024) -> Path:
    """1 GiB in about a thousand bytes: a page stores a text of 1 MiB once, and every row refers to it."""
    indices = pa.array([0] * rows, pa.int32())
    column = pa.DictionaryArray.from_arrays(indices, pa.array(["a" * MIB]))
    table = pa.table({"id": pa.array([f"r{n}" for n in range(rows)]), **dict.fromkeys(columns, column)})
    pq.write_table(
        table, path, compression="zstd", store_schema=False, use_dictionary=True, write_statistics=False,
        dictionary_pagesize_limit=2 * MIB,
    )  # fmt: skip
    return path
