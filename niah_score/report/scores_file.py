"""Writes scores to a Parquet file as they come, and reads parts of a large one, some rows at a time."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from niah_score.contract import file_sha256
from niah_score.errors import IntegrityError, ResourceError
from niah_score.join.spool import Scratch, own_copy
from niah_score.machine.files import file_state
from niah_score.machine.refusals import naming
from niah_score.machine.unpacking import packed_group
from niah_score.statistics.columns import CodedColumns, ColumnCoder

if TYPE_CHECKING:
    import polars as pl
    import pyarrow as pa

_GROUP_ROWS = 100_000
# Bytes of answers in a row group, exceeded by those of one chunk at most.
_GROUP_BYTES = 64_000_000
# Columns that hold the texts of answers.
_LONG = ("prediction", "extracted", "reasoning")
# Columns that no figure is computed from.
_NOT_COUNTED = ("id", "prediction", "reasoning", "error", "extracted", "sample", "samples")
# Parts of metrics that figures are computed from.
_COUNTED_PARTS = ("keyword.needles", "keyword.groups")


def about_run(dataset: str, digest8: str, model: str) -> dict[str, str]:
    """The metadata of a file of scores."""
    return {"dataset": dataset, "digest8": digest8, "model": model}


class ScoresWriter:
    """Writes frames to one file, in row groups of 100,000 rows; the schema's metadata says what was scored.

    If answers are long, row groups have fewer rows. Raises OSError, naming the file, if it cannot be written.
    """

    def __init__(self, path: Path, columns: Mapping[str, pl.DataType], about: Mapping[str, str]) -> None:
        import polars as pl
        import pyarrow.parquet as pq

        self._empty = pl.DataFrame(schema=dict(columns))
        metadata = {"niah_score": json.dumps(dict(about))}
        self._schema: pa.Schema = self._empty.to_arrow().schema.with_metadata(metadata)
        self._path = path
        self._held: list[pl.DataFrame] = []
        self._bytes = 0
        with naming(path):
            # A Python file, because its errors are the system's own.
            self._file = path.open("wb")
            self._writer = pq.ParquetWriter(
                self._file, self._schema, compression="zstd", compression_level=1, write_page_checksum=True
            )

    def add(self, frame: pl.DataFrame) -> None:
        """Add the next rows; columns that the frame does not have are null."""
        self._held.append(frame)
        self._bytes += sum(int(frame[name].str.len_bytes().sum() or 0) for name in _LONG if name in frame.columns)
        while sum(held.height for held in self._held) >= _GROUP_ROWS or self._bytes >= _GROUP_BYTES:
            self._write()

    def end(self) -> Path:
        """Write the rest, close the file and return its path."""
        while any(frame.height for frame in self._held):
            self._write()
        with naming(self._path):
            self._writer.close()
            self._file.close()
        return self._path

    def _write(self) -> None:
        import polars as pl

        whole = pl.concat([self._empty, *self._held], how="diagonal", rechunk=False)
        self._bytes = 0
        self._held = [whole.slice(_GROUP_ROWS)] if whole.height > _GROUP_ROWS else []
        with naming(self._path):
            self._writer.write_table(whole.head(_GROUP_ROWS).to_arrow().cast(self._schema))


class HashedFile(NamedTuple):
    """A file's sha256, and its state before it was hashed."""

    sha256: str
    state: tuple[int, ...]


def hashed_file(path: Path) -> HashedFile:
    """Hash a file. As long as its state stays the same, what is read later is what was hashed."""
    state = file_state(path)
    return HashedFile(file_sha256(path), state)


class ScoresFile:
    """Scores of very many rows, which stay in their file. `hashed`: its sha256 and its earlier state, if known.

    `scratch`: the temporary folder that the file is in; None if it is a user's file. Raises ResourceError for a
    decompression bomb.
    """

    def __init__(self, path: Path, scratch: Scratch | None = None, hashed: HashedFile | None = None) -> None:
        import pyarrow as pa
        import pyarrow.parquet as pq

        self.path, self.scratch, self.sha256 = path, scratch, hashed.sha256 if hashed else None
        # Nobody else writes to a temporary file, and linking it into place changes its state.
        self._state = hashed.state if hashed else file_state(path) if scratch is None else None
        self.refuse_changed()
        about = pq.read_metadata(pa.OSFile(os.fsencode(path)))
        if (problem := packed_group(path, about)) is not None:
            raise ResourceError(problem)
        self._schema: pa.Schema = about.schema.to_arrow_schema()
        self.height: int = about.num_rows
        self._group_rows = [about.row_group(number).num_rows for number in range(about.num_row_groups)]
        self.about: dict[str, str] = json.loads((about.metadata or {}).get(b"niah_score", b"{}"))

    def refuse_changed(self) -> None:
        """Raise IntegrityError if the file has changed since it was hashed, or else since it was opened."""
        if self._state is not None and file_state(self.path) != self._state:
            raise IntegrityError(f"{self.path}: changed since it was opened; run the command again")

    def frame(self) -> pl.DataFrame:
        """All rows, in memory."""
        import polars as pl

        return pl.concat(self.frames())

    def frames(self, columns: Sequence[str] | None = None) -> Iterator[pl.DataFrame]:
        """All rows, one row group at a time. `columns`: which to read, if present. Raises as `rows` does."""
        for number in range(len(self._group_rows)):
            yield self._group(number, columns)

    def rows(self, numbers: pl.Series) -> pl.DataFrame:
        """The rows with some numbers, in that order. Raises IntegrityError if the file changed."""
        import polars as pl

        wanted = pl.DataFrame({"number": numbers.cast(pl.Int64)}).with_row_index("nth").sort("number")
        pieces, order, first = [], [], 0
        for number, rows in enumerate(self._group_rows):
            own = wanted.filter(pl.col("number").is_between(first, first + rows, closed="left"))
            if own.height:
                pieces.append(own_copy(self._group(number, None)[own["number"] - first]))
                order.append(own["nth"])
            first += rows
        return pl.concat(pieces)[pl.concat(order).arg_sort()] if pieces else self.columns

    @cached_property
    def columns(self) -> pl.DataFrame:
        """A frame with all columns and no rows."""
        import polars as pl

        empty = pl.from_arrow(self._schema.empty_table())
        assert isinstance(empty, pl.DataFrame)
        return empty

    def coded(self) -> CodedColumns:
        """What figures are computed from, in little memory. Raises IntegrityError if the file changed."""
        coder = coder_of(self.columns.schema, self.height)
        for frame in self.frames(list(coder.kinds)):
            coder.add(frame)
        return coder.end()

    def _group(self, number: int, columns: Sequence[str] | None) -> pl.DataFrame:
        import polars as pl
        import pyarrow as pa
        import pyarrow.parquet as pq

        kept = None if columns is None else [name for name in columns if name in self.columns.columns]
        self.refuse_changed()
        try:
            with (
                naming(self.path),
                pq.ParquetFile(pa.OSFile(os.fsencode(self.path)), page_checksum_verification=True) as opened,
            ):
                frame = pl.from_arrow(opened.read_row_group(number, columns=kept))
        except pa.ArrowException as error:
            # A file that changes while it is read may not even be Parquet any more.
            self.refuse_changed()
            raise IntegrityError(f"{self.path}: cannot be read as Parquet ({error}); score again") from None
        self.refuse_changed()
        assert isinstance(frame, pl.DataFrame)
        return frame if kept is None else frame.select(kept)


def coder_of(columns: Mapping[str, pl.DataType], rows: int) -> ColumnCoder:
    """A coder for the columns that figures are computed from."""
    kinds = {
        name: kind
        for name, kind in columns.items()
        if name not in _NOT_COUNTED and ("." not in name or name in _COUNTED_PARTS or name.endswith(".guess"))
    }
    return ColumnCoder(kinds, rows)
