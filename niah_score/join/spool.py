"""Keeps frames in a temporary file and reads each back from its place there.

This is for what does not fit into memory: rows of a large dataset, answers, scores. Texts are compressed, so that the
file is several times smaller than its contents. It is deleted with its folder.
"""

from __future__ import annotations

import io
import tempfile
import weakref
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from niah_score.errors import ResourceError
from niah_score.machine.scratch import scratch_folder

if TYPE_CHECKING:
    import polars as pl


class Extent(NamedTuple):
    """Where a frame is in a file: its first byte, and how many bytes it has."""

    start: int
    size: int


class Scratch:
    """A temporary folder, made for its first file and deleted with the last object that refers to it."""

    def __init__(self) -> None:
        self._folder: Path | None = None

    def path(self, name: str) -> Path:
        """The path for a file of that name. Raises ResourceError if no folder can be made."""
        if self._folder is None:
            entered = scratch_folder()
            try:
                self._folder = entered.__enter__()
            except OSError as error:
                raise full_disk(Path(tempfile.gettempdir()), error) from None
            weakref.finalize(self, entered.__exit__, None, None, None)
        return self._folder / name


class Spool:
    """A file that frames are added to. `path`: for other processes that read it."""

    def __init__(self, scratch: Scratch, name: str) -> None:
        self.path = scratch.path(name)
        # The folder exists as long as this reference to it.
        self._scratch = scratch
        self._end = 0
        try:
            self._file = self.path.open("xb", buffering=0)
        except OSError as error:
            raise full_disk(self.path, error) from None

    def put(self, frame: pl.DataFrame) -> Extent:
        """Add a frame. Raises ResourceError if there is no room for it."""
        import polars as pl

        held = io.BytesIO()
        # In the newest layout, a slice of a frame would be written with the texts of the whole frame.
        frame.write_ipc_stream(held, compression="zstd", compat_level=pl.CompatLevel.oldest())
        where = Extent(self._end, held.tell())
        left = held.getbuffer()
        try:
            while left:
                left = left[self._file.write(left) :]
        except OSError as error:
            raise full_disk(self.path, error) from None
        self._end += where.size
        return where

    def get(self, where: Extent) -> pl.DataFrame:
        """The frame at that place."""
        return read_extent(self.path, where)

    def drop(self) -> None:
        """Close and remove the file."""
        self._file.close()
        self.path.unlink(missing_ok=True)


def read_extent(path: Path, where: Extent) -> pl.DataFrame:
    """The frame at that place in a spool's file, from any process."""
    import polars as pl

    with path.open("rb") as file:
        file.seek(where.start)
        return pl.read_ipc_stream(io.BytesIO(file.read(where.size)))


def own_copy(frame: pl.DataFrame) -> pl.DataFrame:
    """A copy that holds only its own texts; otherwise some rows of a frame keep the texts of all its rows in memory."""
    import polars as pl

    return pl.DataFrame(frame.to_arrow(compat_level=pl.CompatLevel.oldest()), schema=frame.schema)


def full_disk(path: Path, error: OSError) -> ResourceError:
    """The error if a temporary file cannot be written."""
    return ResourceError(
        f"{path}: cannot be written to ({error.strerror or error}); data that does not fit in memory is kept in "
        f"temporary files in {tempfile.gettempdir()}, which need about as much space as the answers; free some there, "
        "or set TMPDIR to another folder"
    )
