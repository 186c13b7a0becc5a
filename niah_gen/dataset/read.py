"""Reads the rows of data files of any format, a few at a time, and works on many files in worker processes."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from niah_gen.errors import IntegrityError, NiahError, ResourceError
from niah_score.errors import ResourceError as LimitError
from niah_score.errors import ScoreError
from niah_score.formats.data_files import PARQUET, opened_rows, records_of
from niah_score.formats.streams import Source
from niah_score.formats.tables import batches, parquet
from niah_score.machine.processes import processes

Setup = TypeVar("Setup")
Result = TypeVar("Result")

# A worker takes about a second to start; one process counts this many in a few seconds.
_PARALLEL_TOKENS = 5_000_000
# Rows of a Parquet file to hold at once; each may have a million tokens.
_MOST_ROWS = 16


def rows_in(path: Path, columns: Collection[str] | None = None) -> Iterator[dict[str, Any]]:
    """The rows of a data file, in order, with all columns or those in `columns` that are there.

    Of a Parquet file nothing else is read. Raises IntegrityError if it cannot be read to its end.
    """
    with _opened(path) as source:
        for _, row in records_of(source, columns, _MOST_ROWS):
            yield row


def columns_in(path: Path, names: Sequence[str]) -> Iterator[Mapping[str, Any]]:
    """Some columns of every row of a data file, as `rows_in` reads them; None for a column that is not there."""
    return ({name: row.get(name) for name in names} for row in rows_in(path, names))


def rows_at(path: Path, numbers: Sequence[int]) -> Iterator[dict[str, Any]]:
    """The rows of a data file with these numbers, from 1, ascending, each once; no Parquet row group is read twice.

    Raises IntegrityError if it cannot be read or holds fewer rows.
    """
    wanted, found = {*numbers}, 0
    with _opened(path) as source:
        if source.first == PARQUET:
            rows = _in_groups(source, wanted)
        else:
            every = enumerate(records_of(source, None, _MOST_ROWS), 1)
            rows = (row for number, (_, row) in every if number in wanted)
        for row in rows:
            yield row
            found += 1
        if found < len(numbers):
            raise source.damaged(f"has no row {numbers[found]}")


def _in_groups(source: Source, wanted: set[int]) -> Iterator[dict[str, Any]]:
    """The rows with these numbers, of the row groups of a Parquet file that hold any."""
    with parquet(source) as file:
        before = 0
        for group in range(file.num_row_groups):
            numbers = range(before + 1, before + 1 + file.metadata.row_group(group).num_rows)
            before += len(numbers)
            if not wanted.isdisjoint(numbers):
                every = (row for batch in batches(source, file, _MOST_ROWS, group=group) for row in batch.to_pylist())
                yield from (row for number, row in zip(numbers, every, strict=True) if number in wanted)


@contextmanager
def _opened(path: Path) -> Iterator[Source]:
    """An open data file; whatever is wrong with it is an IntegrityError of one sentence."""
    try:
        with opened_rows(path) as source:
            yield source
    except LimitError:
        raise
    except ScoreError as error:
        raise IntegrityError(f"{error}; verify the dataset") from None


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
