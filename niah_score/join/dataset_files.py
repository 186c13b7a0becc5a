"""Finds the files that hold a dataset's rows, and lets each be read only if it is the file that its manifest lists.

Files are hashed by threads, some ahead of the one that is being read. What is read is what was hashed: a file that has
changed in between is refused, and so is one that changes while it is read.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, TypeVar

from niah_score.contract import MANIFEST, DataFile, Dataset, Manifest, PartEntry, dataset_of, file_problem, open_dataset
from niah_score.errors import IntegrityError, ScoreError
from niah_score.machine.files import file_state
from niah_score.text.visible import without_surrogates

Read = TypeVar("Read")

# More would hardly be faster, and slower on a disk that turns.
_MOST_THREADS = 4


class ListedFile(NamedTuple):
    """A file with rows, and the dataset whose manifest lists it; None for one that no manifest lists."""

    path: Path
    dataset: Dataset | None = None
    listed: DataFile | None = None


@dataclass(frozen=True)
class DatasetFiles:
    """The files of a dataset in row order. `manifest`: of the dataset, if these are all its rows; `name`: its name.

    `parts`: those of the dataset that the files belong to, also where they are not all its rows.
    """

    files: tuple[ListedFile, ...]
    name: str
    manifest: Manifest | None
    parts: tuple[PartEntry, ...] = ()


def find_files(dataset: Path) -> DatasetFiles:
    """The files that hold the rows of a dataset folder, or one file by itself.

    Raises ScoreError if there is nothing, ContractError for a folder that is no dataset.
    """
    if not dataset.exists():
        raise ScoreError(f"{dataset}: no such dataset; expected a folder with a {MANIFEST}, or a Parquet or JSONL file")
    if dataset.is_dir():
        opened = open_dataset(dataset)
        files = tuple(ListedFile(file.path, opened, file) for file in opened.files())
        return DatasetFiles(files, opened.manifest.name, opened.manifest, opened.manifest.parts)
    found = dataset_of(dataset)
    if found is None:
        return DatasetFiles((ListedFile(dataset),), _stem(dataset), None)
    opened, file = found
    alone = len(opened.files(file.format)) == 1
    name = opened.manifest.name if alone else _stem(dataset)
    manifest = opened.manifest if alone else None
    return DatasetFiles((ListedFile(dataset, opened, file),), name, manifest, opened.manifest.parts)


def _stem(file: Path) -> str:
    return without_surrogates(file.name.partition(".")[0])


def read_intact(files: DatasetFiles, read: Callable[[Path], Iterable[Read]]) -> list[Read]:
    """All that `each_intact` gives. Raises what it does."""
    return list(each_intact(files, read))


def each_intact(files: DatasetFiles, read: Callable[[Path], Iterable[Read]]) -> Iterator[Read]:
    """What `read` makes of each file, in order; it is called once the file's sha256 is known to be the manifest's.

    Nothing of it may be relied on before the end: raises IntegrityError for a file that is missing, damaged, or changed
    while it was read.
    """
    threads = ThreadPoolExecutor(min(len(files.files), os.cpu_count() or 1, _MOST_THREADS) or 1)
    try:
        hashed = [threads.submit(_checked, file) for file in files.files]
        for file, state in zip(files.files, hashed, strict=True):
            before = state.result()
            yield from read(file.path)
            if _state(file) != before:
                raise IntegrityError(f"{file.path}: changed while it was read; score again once nobody writes to it")
    finally:
        threads.shutdown(cancel_futures=True)


def _checked(file: ListedFile) -> tuple[int, ...]:
    """What tells whether the file changes from now on. Raises IntegrityError where it is not what its manifest says."""
    before = _state(file)
    if file.dataset is not None and file.listed is not None:
        try:
            problem = file_problem(file.dataset.folder, file.listed.entry)
        except OSError as error:
            raise ScoreError(f"{file.path}: cannot be read ({error.strerror or error})") from None
        if problem:
            raise IntegrityError(
                f"{file.dataset.folder}: {problem}; the file is damaged or not this dataset's: copy the dataset again, "
                "or build it again"
            )
    return before


def _state(file: ListedFile) -> tuple[int, ...]:
    try:
        return file_state(file.path)
    except OSError:
        return ()  # missing: its reader says so
