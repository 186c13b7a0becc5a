"""Finds the files that hold a dataset's rows, and reads each only if it is the file that its manifest lists.

Threads hash files ahead of the one that is being read. A file that changes after it was hashed, before or while it is
read, is refused.
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
from niah_score.machine.refusals import reading
from niah_score.text.visible import without_surrogates

Read = TypeVar("Read")

# More would hardly be faster, and slower on a spinning disk.
_MOST_THREADS = 4


class ListedFile(NamedTuple):
    """A file with rows, and the dataset whose manifest lists it; None if none does."""

    path: Path
    dataset: Dataset | None = None
    listed: DataFile | None = None


@dataclass(frozen=True)
class DatasetFiles:
    """The files of a dataset in row order. `manifest`: of the dataset, if these are all its rows; `name`: its name.

    `parts`: of the dataset that the files belong to, even if they are not all its rows.
    """

    files: tuple[ListedFile, ...]
    name: str
    manifest: Manifest | None
    parts: tuple[PartEntry, ...] = ()


def find_files(dataset: Path) -> DatasetFiles:
    """The files that hold the rows of a dataset folder, or a single file.

    Raises ScoreError if there is nothing, ContractError if the folder is not a dataset.
    """
    if not dataset.exists():
        raise ScoreError(f"{dataset}: no such dataset; expected a folder with a {MANIFEST}, or a Parquet or JSONL file")
    if dataset.is_dir():
        opened = open_dataset(dataset)
        files = tuple(ListedFile(file.path, opened, file) for file in opened.files())
        return DatasetFiles(files, opened.manifest.name, opened.manifest, opened.manifest.parts)
    owner = dataset_of(dataset)
    if owner is None:
        return DatasetFiles((ListedFile(dataset),), _stem(dataset), None)
    opened, file = owner
    alone = len(opened.files(file.format)) == 1
    name = opened.manifest.name if alone else _stem(dataset)
    manifest = opened.manifest if alone else None
    return DatasetFiles((ListedFile(dataset, opened, file),), name, manifest, opened.manifest.parts)


def _stem(file: Path) -> str:
    return without_surrogates(file.name.partition(".")[0])


def each_intact(files: DatasetFiles, read: Callable[[Path], Iterable[Read]]) -> Iterator[Read]:
    """What `read` yields for each file, in order; it is called once the file's sha256 is known to be the manifest's.

    Do not rely on the results before the end: raises IntegrityError if a file is missing, damaged, or changed while it
    was read.
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
    """The state of a file, to notice later changes. Raises IntegrityError if it is not what its manifest says."""
    before = _state(file)
    if file.dataset is not None and file.listed is not None:
        with reading(file.path):
            problem = file_problem(file.dataset.folder, file.listed.entry)
        if problem:
            raise IntegrityError(
                f"{file.dataset.folder}: {problem}; the file is damaged or another dataset's: copy the dataset again, "
                "or build it again"
            )
    return before


def _state(file: ListedFile) -> tuple[int, ...]:
    try:
        return file_state(file.path)
    except OSError:
        return ()  # missing, which its reader reports
