"""Reads the rows of data files a row group at a time, and processes many row groups in worker processes.

A JSONL file counts as one row group. Results come in the order of the row groups, whichever worker finishes first.
"""

from __future__ import annotations

import gzip
import io
import json
import os
import zlib
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple, TypeVar

from niah_gen.errors import IntegrityError, NiahError, ResourceError
from niah_score.machine.processes import processes
from niah_score.machine.refusals import is_refused
from niah_score.machine.unpacking import MAX_LINE, batch_rows, long_line, packed_group

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq

Setup = TypeVar("Setup")
Result = TypeVar("Result")

# A worker takes about a second to start; one process counts this many in a few seconds.
_PARALLEL_TOKENS = 5_000_000
# The most rows of a Parquet file to read at once: our own row groups hold no more.
_MOST_ROWS = 1024


class RowGroup(NamedTuple):
    """A part of a data file that is read at once: `number` of a Parquet file, or -1 for a whole JSONL file.

    `before`: how many rows of the file precede it.
    """

    path: str
    number: int
    before: int


class ReadRow(NamedTuple):
    """A row as read from its file: its number from 1, and its value, or why it has none."""

    number: int
    value: Any
    problem: str | None = None


def row_groups_of(folder: Path, path: str) -> list[RowGroup]:
    """The row groups of a data file, in row order. A Parquet file whose footer cannot be read counts as one."""
    if not path.endswith(".parquet"):
        return [RowGroup(path, -1, 0)]
    import pyarrow as pa
    import pyarrow.parquet as pq

    groups = []
    before = 0
    try:
        with _reading(folder / path), pq.ParquetFile(pa.OSFile(os.fsencode(folder / path))) as file:
            for number in range(file.metadata.num_row_groups):
                groups.append(RowGroup(path, number, before))
                before += file.metadata.row_group(number).num_rows
    except IntegrityError:
        return [RowGroup(path, 0, 0)]  # reading it will raise this again
    return groups


def read_row_group(
    folder: Path, group: RowGroup, columns: Sequence[str] | None = None, numbers: Container[int] | None = None
) -> Iterator[ReadRow]:
    """The rows of a row group in order, or those in `numbers`; of Parquet files only `columns` are read.

    A row that is not JSON, or not UTF-8, comes with its problem. Raises IntegrityError if the file cannot be read.
    """
    rows = _lines(folder / group.path) if group.number < 0 else _group(folder / group.path, group.number, columns)
    with _reading(folder / group.path):
        for number, read in enumerate(rows, group.before + 1):
            if numbers is not None and number not in numbers:
                continue
            try:
                value = read()
            # RecursionError: brackets nested too deep.
            except (ValueError, RecursionError) as error:
                yield ReadRow(number, None, str(error))
            else:
                yield ReadRow(number, value)


def _lines(path: Path) -> Iterator[Callable[[], Any]]:
    with _opened(path) as lines:
        while line := lines.readline(MAX_LINE + 1):
            if (problem := long_line(path, len(line))) is not None:
                raise ResourceError(problem)
            yield partial(_json, line)


def _json(line: bytes) -> Any:
    # Decoded here, as json would take some bytes for UTF-16.
    return json.loads(line.decode())


def _group(path: Path, group: int, columns: Sequence[str] | None) -> Iterator[Callable[[], Any]]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    with pq.ParquetFile(pa.OSFile(os.fsencode(path))) as file:
        _refuse_bomb(path, file)
        rows = batch_rows(file.metadata, _MOST_ROWS, columns)
        for batch in file.iter_batches(rows, row_groups=[group], columns=columns and list(columns)):
            for number in range(len(batch)):
                yield partial(_record, batch, number)


def _record(batch: pa.RecordBatch, number: int) -> Any:
    return batch.slice(number, 1).to_pylist()[0]


def _refuse_bomb(path: Path, file: pq.ParquetFile) -> None:
    if (problem := packed_group(path, file.metadata)) is not None:
        raise ResourceError(problem)


def rows_in(path: Path, columns: Sequence[str] | None = None) -> Iterator[Any]:
    """The rows of a data file of any format, in order. Raises IntegrityError if it cannot be read to its end."""
    for group in row_groups_of(path.parent, path.name):
        for read in read_row_group(path.parent, group, columns):
            if read.problem is not None:
                raise _unreadable(path, f"row {read.number}: {read.problem}")
            yield read.value


def columns_in(path: Path, names: Sequence[str]) -> Iterator[Mapping[str, Any]]:
    """Some columns of every row of a data file, in order; None for a column that is not there.

    Of a Parquet file nothing else is read. Raises IntegrityError if it cannot be read to its end.
    """
    if path.suffix == ".parquet":
        import pyarrow as pa
        import pyarrow.parquet as pq

        with _reading(path), pq.ParquetFile(pa.OSFile(os.fsencode(path))) as file:
            _refuse_bomb(path, file)
            there = [name for name in names if name in file.schema_arrow.names]
            size = batch_rows(file.metadata, _MOST_ROWS, there)
            rows: Iterator[Any] = (row for batch in file.iter_batches(size, columns=there) for row in batch.to_pylist())
            yield from ({name: row.get(name) for name in names} for row in rows)
        return
    for number, row in enumerate(rows_in(path), 1):
        if not isinstance(row, dict):
            raise _unreadable(path, f"row {number}: not an object")
        yield {name: row.get(name) for name in names}


def row_at(path: Path, number: int) -> Any:
    """One row of a data file, numbered from 1; of a Parquet file only one row group is read.

    Raises IntegrityError if it cannot be read or holds fewer rows.
    """
    return next(rows_at(path, [number]))


def rows_at(path: Path, numbers: Sequence[int]) -> Iterator[Any]:
    """The rows of a data file with these numbers, from 1, ascending, each once; no Parquet row group is read twice.

    Raises IntegrityError if it cannot be read or holds fewer rows.
    """
    groups = row_groups_of(path.parent, path.name)
    count = 0
    for group, following in zip(groups, [*groups[1:], None], strict=True):
        end = following.before if following else max(numbers, default=0)
        wanted = {number for number in numbers if group.before < number <= end}
        if not wanted:
            continue
        for read in read_row_group(path.parent, group, None, wanted):
            if not isinstance(read.value, dict):
                raise _unreadable(path, f"row {read.number}: {read.problem or 'not an object'}")
            yield read.value
            count += 1
    if count < len(numbers):
        raise _unreadable(path, f"row {numbers[count]}: it has fewer rows")


def _unreadable(path: Path, problem: object) -> IntegrityError:
    return IntegrityError(f"{path}: cannot be read ({problem}); verify the dataset, and build it again")


@contextmanager
def _reading(path: Path) -> Iterator[None]:
    """Turn whatever the readers raise for a broken data file into an IntegrityError of one sentence."""
    import pyarrow as pa
    import zstandard

    try:
        yield
    except FileNotFoundError:
        raise IntegrityError(f"{path}: missing; verify the dataset, and build it again") from None
    except (ValueError, OSError, EOFError, zlib.error, pa.ArrowException, zstandard.ZstdError) as error:
        if is_refused(error):
            raise
        raise _unreadable(path, error) from None


def _opened(path: Path) -> BinaryIO:
    """A .jsonl file, compressed or not, opened to be read line by line."""
    if path.suffix == ".gz":
        return io.BufferedReader(gzip.GzipFile(path))
    if path.suffix == ".zst":
        import zstandard

        return io.BufferedReader(zstandard.ZstdDecompressor().stream_reader(path.open("rb"), closefd=True))
    return path.open("rb")


def jobs_for(tokens: int) -> int:
    """How many processes to use for this many prompt tokens: one, or one per processor of the machine."""
    return 1 if tokens < _PARALLEL_TOKENS else os.cpu_count() or 1


def over_row_groups(
    start: Callable[[Setup], Callable[[RowGroup], Result]], setup: Setup, groups: Sequence[RowGroup], jobs: int
) -> Iterator[Result]:
    """The results of a function for each row group, in order, with `jobs` processes.

    start: makes the function from `setup`, once per process; a module-level function, as it is pickled by name. One
    job runs in this process. Raises NiahError for jobs below 1, ResourceError if a process dies, and what the function
    raises.
    """
    if jobs < 1:
        raise NiahError(f"jobs is {jobs}; expected at least 1")
    count = min(jobs, len(groups))
    if count <= 1:
        yield from map(start(setup), groups)
        return
    with processes(count, _start_worker, (start, setup), raising=ResourceError) as workers:
        yield from workers.map(_work, groups)


# What a worker does with each row group; made when it starts.
_function: Callable[[RowGroup], Any] | None = None


def _start_worker(start: Callable[[Any], Callable[[RowGroup], Any]], setup: object) -> None:
    global _function
    _function = start(setup)


def _work(group: RowGroup) -> Any:
    if _function is None:
        raise RuntimeError("the worker was not started")
    return _function(group)
