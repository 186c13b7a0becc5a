"""Reads the rows of data files of any format, a few at a time, and works on many files in worker processes."""

from __future__ import annotations

import io
import json
import os
import zlib
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from niah_gen.errors import IntegrityError, NiahError, ResourceError
from niah_score.machine.files import is_refused
from niah_score.machine.limits import MAX_LINE, batch_rows, refuse_long_line, refuse_packed_groups
from niah_score.machine.processes import processes

Setup = TypeVar("Setup")
Result = TypeVar("Result")

# A worker takes about a second to start; one process counts this many in a few seconds.
_PARALLEL_TOKENS = 5_000_000
# The most rows of a Parquet file to read at once: our own row groups hold no more.
_MOST_ROWS = 1024


def rows_in(path: Path, columns: Collection[str] | None = None) -> Iterator[dict[str, Any]]:
    """The rows of a data file, in order, with all columns or those in `columns` that are there.

    Of a Parquet file nothing else is read. Raises IntegrityError if it cannot be read to its end.
    """
    return (row for _, row in _numbered(path, columns, None))


def columns_in(path: Path, names: Sequence[str]) -> Iterator[Mapping[str, Any]]:
    """Some columns of every row of a data file, as `rows_in` reads them; None for a column that is not there."""
    return ({name: row.get(name) for name in names} for row in rows_in(path, names))


def rows_at(path: Path, numbers: Sequence[int]) -> Iterator[dict[str, Any]]:
    """The rows of a data file with these numbers, from 1, ascending, each once; no Parquet row group is read twice.

    Raises IntegrityError if it cannot be read or holds fewer rows.
    """
    found = 0
    for _, row in _numbered(path, None, numbers):
        yield row
        found += 1
    if found < len(numbers):
        raise _unreadable(path, f"row {numbers[found]}: it has fewer rows")


def _numbered(
    path: Path, columns: Collection[str] | None, wanted: Sequence[int] | None
) -> Iterator[tuple[int, dict[str, Any]]]:
    """The rows of a data file, or those in `wanted`, with their numbers from 1."""
    chosen = None if wanted is None else {*wanted}
    with _reading(path):
        if path.suffix == ".parquet":
            yield from _of_parquet(path, columns, chosen)
            return
        import pyarrow as pa

        raw, packing = pa.OSFile(os.fsencode(path)), {".gz": "gzip", ".zst": "zstd"}.get(path.suffix)
        with io.BufferedReader(pa.CompressedInputStream(raw, packing) if packing else raw) as lines:
            for number, line in enumerate(iter(lambda: lines.readline(MAX_LINE + 1), b""), 1):
                refuse_long_line(path, number, len(line))
                if chosen is not None and number not in chosen:
                    continue
                try:
                    row = json.loads(line.decode())  # decoded here, as json would take some bytes for UTF-16
                except (ValueError, RecursionError) as error:
                    raise _unreadable(path, f"row {number}: {error}") from None
                if not isinstance(row, dict):
                    raise _unreadable(path, f"row {number}: not an object")
                yield number, row if columns is None else {name: row[name] for name in columns if name in row}


def _of_parquet(
    path: Path, columns: Collection[str] | None, wanted: set[int] | None
) -> Iterator[tuple[int, dict[str, Any]]]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    with pq.ParquetFile(pa.OSFile(os.fsencode(path))) as file:
        about = file.metadata
        refuse_packed_groups(path, about)
        names = [name for name in file.schema_arrow.names if columns is None or name in columns]
        size, before = batch_rows(about, _MOST_ROWS, names), 0
        for group in range(about.num_row_groups):
            numbers = range(before + 1, before + 1 + about.row_group(group).num_rows)
            before += len(numbers)
            if wanted is not None and wanted.isdisjoint(numbers):
                continue
            batches = file.iter_batches(size, row_groups=[group], columns=names)
            rows = (batch.slice(at, 1) for batch in batches for at in range(len(batch)))
            for number, row in zip(numbers, rows, strict=True):
                if wanted is None or number in wanted:
                    yield number, row.to_pylist()[0]


def _unreadable(path: Path, problem: object) -> IntegrityError:
    return IntegrityError(f"{path}: cannot be read ({problem}); verify the dataset, and build it again")


@contextmanager
def _reading(path: Path) -> Iterator[None]:
    """Turn whatever the readers raise for a broken data file into an IntegrityError of one sentence."""
    import pyarrow as pa

    try:
        yield
    except FileNotFoundError:
        raise IntegrityError(f"{path}: missing; verify the dataset, and build it again") from None
    except (ValueError, OSError, EOFError, zlib.error, pa.ArrowException) as error:
        if is_refused(error):
            raise
        raise _unreadable(path, error) from None


def jobs_for(tokens: int) -> int:
    """How many processes to use for this many prompt tokens: one, or one per processor of the machine."""
    return 1 if tokens < _PARALLEL_TOKENS else os.cpu_count() or 1


def over_files(
    start: Callable[[Setup], Callable[[str], Result]], setup: Setup, paths: Sequence[str], jobs: int
) -> Iterator[Result]:
    """The results of a function for each data file, in order, with `jobs` processes.

    start: makes the function from `setup`, once per process; a module-level function, as it is pickled by name. One
    job runs in this process. Raises NiahError for jobs below 1, ResourceError if a process dies, and what the function
    raises.
    """
    if jobs < 1:
        raise NiahError(f"jobs is {jobs}; expected at least 1")
    if min(jobs, len(paths)) <= 1:
        yield from map(start(setup), paths)
        return
    with processes(min(jobs, len(paths)), _start_worker, (start, setup), raising=ResourceError) as workers:
        yield from workers.map(_work, paths)


# What a worker does with each data file; made when it starts.
_function: Callable[[str], Any] | None = None


def _start_worker(start: Callable[[Any], Callable[[str], Any]], setup: object) -> None:
    global _function
    _function = start(setup)


def _work(path: str) -> Any:
    assert _function is not None
    return _function(path)
