"""Keeps frames in a temporary file, of which each is read back by the place where it lies.

What does not fit into memory waits here: rows of a large dataset, answers that were read, scores that are computed.
Texts are packed, so that the file is several times smaller than what it holds. It goes with the folder that it is in.
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
    """Where a frame lies in a file: its first byte, and how many there are."""

    start: int
    size: int


class Scratch:
    """A temporary folder, made when a file is first put into it, which goes with the last object that refers to it."""

    def __init__(self) -> None:
        self._folder: Path | None = None

    def path(self, name: str) -> Path:
        """Where a file of that name belongs. Raises ResourceError where no folder can be made."""
        if self._folder is None:
            entered = scratch_folder()
            try:
                self._folder = entered.__enter__()
            except OSError as error:
                raise full_disk(Path(tempfile.gettempdir()), error) from None
            weakref.finalize(self, entered.__exit__, None, None, None)
        return self._folder / name


class Spool:
    """A file that frames are added to. `path`: where it is, for other processes to read from."""

    def __init__(self, scratch: Scratch, name: str) -> None:
        self.path = scratch.path(name)
        # Its folder stays as long as this does.
        self._scratch = scratch
        self._end = 0
        try:
            self._file = self.path.open("xb", buffering=0)
        except OSError as error:
            raise full_disk(self.path, error) from None

    def put(self, frame: pl.DataFrame) -> Extent:
        """Add a frame. Raises ResourceError where there is no room for it."""
        import polars as pl

        held = io.BytesIO()
        # With the newest layout, a part of a frame would bring along the texts of the whole.
        frame.write_ipc_stream(held, compression="zstd", compat_level=pl.CompatLevel.oldest())
        found = Extent(self._end, held.tell())
        left = held.getbuffer()
        try:
            while left:
                left = left[self._file.write(left) :]
        except OSError as error:
            raise full_disk(self.path, error) from None
        self._end += found.size
        return found

    def get(self, where: Extent) -> pl.DataFrame:
        """The frame that lies there."""
        return read_extent(self.path, where)

    def drop(self) -> None:
        """Close and remove the file: what it held is no longer needed."""
        self._file.close()
        self.path.unlink(missing_ok=True)


def read_extent(path: Path, where: Extent) -> pl.DataFrame:
    """The frame that lies there in a spool's file, in any process."""
    import polars as pl

    with path.open("rb") as file:
        file.seek(where.start)
        return pl.read_ipc_stream(io.BytesIO(file.read(where.size)))


def apart(frame: pl.DataFrame) -> pl.DataFrame:
    """A copy that holds no texts but its own; some rows of a frame keep all texts that they were taken from."""
    import polars as pl

    return pl.DataFrame(frame.to_arrow(compat_level=pl.CompatLevel.oldest()), schema=frame.schema)


def full_disk(path: Path, error: OSError) -> ResourceError:
    """What is said where a temporary file cannot be written."""
    return ResourceError(
        f"{path}: cannot be written to ({error.strerror or error}); what does not fit into memory is kept in temporary "
        f"files in {tempfile.gettempdir()}, which need about as much room as the answers: make room there, or name "
        "another folder in TMPDIR"
    )
