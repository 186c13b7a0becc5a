"""Opens answer files, unpacks .gz and .zst, recognised by their first bytes, and reads their lines.

A compressed file must end with a whole frame. Only a line feed ends a line, because answers contain every other
character that some systems take for a line end.
"""

from __future__ import annotations

import io
import os
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, BinaryIO

from niah_score.contract import open_regular
from niah_score.errors import IntegrityError, ResourceError, ScoreError
from niah_score.machine.files import reading, unchanged

if TYPE_CHECKING:
    import pyarrow.parquet as pq

# Limits on what is read as a whole and on what compressed files may unpack to, so that no file takes all of the memory.
# Scoring takes up to eighteen times the memory of a long line or JSON document; with these limits it stays below 2 GB.

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


_CHUNK = 2**20
# Values of a JSON document, each of which takes up to 300 bytes.
_MAX_VALUES = 4_000_000
BOM = b"\xef\xbb\xbf"
_GZIP, _ZSTD, _ZSTD_SKIPPED = b"\x1f\x8b", b"\x28\xb5\x2f\xfd", b"\x2a\x4d\x18"


class Source:
    """An open answer file. Each reading of its text begins anew, so that only one can be in use at a time.

    `path`: its name in messages. `first`: its first bytes, as they are in the file; `size`: in bytes.
    `of_dataset`: whether it holds rows of a dataset: they may unpack to any size, because prompts are near-copies of
    each other, and a damaged file is an IntegrityError.
    """

    def __init__(self, path: Path, file: BinaryIO, *, of_dataset: bool = False) -> None:
        self.path, self.file, self.of_dataset = path, file, of_dataset
        file.seek(0)
        self.first = file.read(4)
        self.size = os.fstat(file.fileno()).st_size

    def damaged(self, what: str) -> ScoreError:
        """The error for a file that is damaged."""
        if self.of_dataset:
            return IntegrityError(f"{self.path}: {what}; copy it again, or build it again")
        return ScoreError(f"{self.path}: {what}; get it again, or what there is in it")

    @contextmanager
    def _text(self) -> Iterator[BinaryIO]:
        """The unpacked text. Reading it in the block raises ScoreError if the file is damaged."""
        import pyarrow as pa

        self.file.seek(0)
        text = self.file
        if self.first.startswith((_GZIP, _ZSTD)) or self.first[1:4] == _ZSTD_SKIPPED:
            # Arrow closes what it has read; this file is read again.
            packed = pa.PythonFile(SimpleNamespace(read=text.read, close=bool, closed=False), "r")
            packing = "gzip" if self.first.startswith(_GZIP) else "zstd"
            text = io.BufferedReader(pa.CompressedInputStream(packed, packing), _CHUNK)
        try:
            yield text
        except OSError as error:
            if error.errno is not None:
                raise
            raise self.damaged(f"the compressed file is damaged or cut off ({error})") from None

    def _refuse_bomb(self, unpacked: int) -> None:
        if not self.of_dataset:
            refuse_bomb(self.path, unpacked, self.size)

    def head(self, size: int) -> bytes:
        """The first bytes of the text, without white space before them."""
        with self._text() as text:
            return text.read(size).removeprefix(BOM).lstrip()

    def lines(self) -> Iterator[tuple[int, bytes]]:
        """Every line with its number from 1.

        Raises ScoreError if the file is damaged, ResourceError for a long line and for a decompression bomb.
        """
        unpacked = 0
        with self._text() as text:
            for number in count(1):
                line = text.readline(MAX_LINE + 1)
                unpacked += len(line)
                self._refuse_bomb(unpacked)
                if len(line) > MAX_LINE:
                    raise ResourceError(
                        f"{self.path}:{number}: a line of more than {MAX_LINE:,} bytes; one record per line is expected"
                    )
                if not line:
                    return
                yield number, line.removeprefix(BOM) if number == 1 else line

    def whole(self) -> bytes:
        """All of the text. Raises what `lines` does, and ResourceError if it is too large to be parsed at once."""
        with self._text() as text:
            data = text.read(MAX_LINE + 1)
        self._refuse_bomb(len(data))
        if len(data) > MAX_LINE or data.count(b",") + data.count(b"[") + data.count(b"{") > _MAX_VALUES:
            raise ResourceError(
                f"{self.path}: a JSON document may have {MAX_LINE:,} bytes and {_MAX_VALUES:,} values (commas and "
                "opening brackets); write it as JSONL, one record per line, which may have any size (jq -c '.[]')"
            )
        return data.removeprefix(BOM)


@contextmanager
def opened(path: Path) -> Iterator[Source]:
    """Open an answer file. Raises ScoreError if it is not a file, OSError if the system refuses to read it.

    Raises IntegrityError if the file has changed by the time the block ends or raises a ScoreError.
    """
    with reading(path), open_regular(path) as file, unchanged(path):
        yield Source(path, file)
