"""Data files in, their rows out, a piece at a time and many pieces at once: a Parquet row group, or a JSONL file.

Pieces are worked through by spawned processes; results come in the order of the pieces, whoever was first.
"""

from __future__ import annotations

import gzip
import io
import json
import os
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple, TypeVar

from niah_gen.dataset.processes import spawned
from niah_gen.errors import IntegrityError, NiahError

if TYPE_CHECKING:
    import pyarrow as pa

Setup = TypeVar("Setup")
Result = TypeVar("Result")

# A worker costs about a second to start; one process counts this many in a few.
_PARALLEL_TOKENS = 5_000_000


class Piece(NamedTuple):
    """A part of a data file that is read at once. `group`: its row group, -1 for a whole JSONL file.

    `before`: rows of the file that stand before it.
    """

    path: str
    group: int
    before: int


class ReadRow(NamedTuple):
    """A row as it stands in its file: its number from 1, and its value, or why it has none."""

    number: int
    value: Any
    problem: str | None = None


def pieces_of(folder: Path, path: str) -> list[Piece]:
    """The pieces of a data file, in row order. A Parquet file whose footer cannot be read is one piece."""
    if not path.endswith(".parquet"):
        return [Piece(path, -1, 0)]
    import pyarrow.parquet as pq

    found = []
    before = 0
    try:
        with _reading(folder / path), pq.ParquetFile(folder / path) as file:
            for group in range(file.metadata.num_row_groups):
                found.append(Piece(path, group, before))
                before += file.metadata.row_group(group).num_rows
    except IntegrityError:
        return [Piece(path, 0, 0)]  # reading it will say so again
    return found


def read_piece(folder: Path, piece: Piece, columns: Sequence[str] | None = None) -> Iterator[ReadRow]:
    """The rows of a piece in order; of Parquet files only `columns` are read.

    A row that is no JSON or no text comes with its problem. Raises IntegrityError where the file itself cannot be read.
    """
    rows = _lines(folder / piece.path) if piece.group < 0 else _group(folder / piece.path, piece.group, columns)
    with _reading(folder / piece.path):
        for number, read in enumerate(rows, piece.before + 1):
            try:
                value = read()
            # RecursionError: brackets nested without end.
            except (ValueError, RecursionError) as error:
                yield ReadRow(number, None, str(error))
            else:
                yield ReadRow(number, value)


def _lines(path: Path) -> Iterator[Callable[[], Any]]:
    with _opened(path) as lines:
        for line in lines:
            yield partial(_json, line)


def _json(line: bytes) -> Any:
    # Decoded here: json would take bytes for UTF-16 where they look like it.
    return json.loads(line.decode())


def _group(path: Path, group: int, columns: Sequence[str] | None) -> Iterator[Callable[[], Any]]:
    import pyarrow.parquet as pq

    with pq.ParquetFile(path) as file:
        table = file.read_row_group(group, columns=columns and list(columns))
    for number in range(len(table)):
        yield partial(_record, table, number)


def _record(table: pa.Table, number: int) -> Any:
    return table.slice(number, 1).to_pylist()[0]


def rows_in(path: Path, columns: Sequence[str] | None = None) -> Iterator[Any]:
    """The rows of a data file of any format, in order. Raises IntegrityError if it cannot be read to its end."""
    for piece in pieces_of(path.parent, path.name):
        for read in read_piece(path.parent, piece, columns):
            if read.problem is not None:
                raise IntegrityError(
                    f"{path}: cannot be read (row {read.number}: {read.problem}); "
                    "verify the dataset, and build it again"
                )
            yield read.value


@contextmanager
def _reading(path: Path) -> Iterator[None]:
    """Whatever the readers raise for a broken data file, as one sentence: IntegrityError."""
    import pyarrow as pa
    import zstandard

    try:
        yield
    except MemoryError:
        raise
    except FileNotFoundError:
        raise IntegrityError(f"{path}: missing; verify the dataset, and build it again") from None
    except (ValueError, OSError, EOFError, zlib.error, pa.ArrowException, zstandard.ZstdError) as error:
        raise IntegrityError(f"{path}: cannot be read ({error}); verify the dataset, and build it again") from None


def _opened(path: Path) -> BinaryIO:
    """A .jsonl file of any compression, opened to be read line by line."""
    if path.suffix == ".gz":
        return io.BufferedReader(gzip.GzipFile(path))
    if path.suffix == ".zst":
        import zstandard

        return io.BufferedReader(zstandard.ZstdDecompressor().stream_reader(path.open("rb"), closefd=True))
    return path.open("rb")


def jobs_for(tokens: int) -> int:
    """How many processes prompts of so many tokens are worth: one, or as many as the machine has processors."""
    return 1 if tokens < _PARALLEL_TOKENS else os.cpu_count() or 1


def over_pieces(
    start: Callable[[Setup], Callable[[Piece], Result]], setup: Setup, pieces: Sequence[Piece], jobs: int
) -> Iterator[Result]:
    """What a function makes of each piece, in order, with `jobs` processes.

    start: makes the function of a setup, once in each process; a function of a module, for it is sent by name. One job
    is done here. Raises NiahError for jobs below 1, ResourceError when a process dies, and what the function raises.
    """
    if jobs < 1:
        raise NiahError(f"jobs is {jobs}; expected at least 1")
    workers = min(jobs, len(pieces))
    if workers <= 1:
        yield from map(start(setup), pieces)
        return
    with spawned(workers, _start_worker, (start, setup)) as pool:
        yield from pool.map(_work, pieces)


_made: Callable[[Piece], Any] | None = None
_ordered: tuple[Callable[[Any], Callable[[Piece], Any]], Any] | None = None


def _start_worker(start: Callable[[Any], Callable[[Piece], Any]], setup: object) -> None:
    global _ordered
    _ordered = (start, setup)


def _work(piece: Piece) -> Any:
    # Made with the first piece: what goes wrong in an initializer is not told to anybody.
    global _made
    if _made is None:
        if _ordered is None:
            raise RuntimeError("the worker was not started")
        _made = _ordered[0](_ordered[1])
    return _made(piece)
