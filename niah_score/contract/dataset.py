"""Opens a dataset folder and lists the files that hold its rows, by format and in row order."""

from __future__ import annotations

import errno
import hashlib
import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from niah_score.contract.manifest import FileEntry, Manifest, read_manifest
from niah_score.contract.reading import open_regular
from niah_score.contract.rows import MANIFEST, SPLIT, ContractError

# The suffix of each data format and the folder of its files. Each format holds all rows.
DATA_FORMATS: dict[str, str] = {
    "parquet": "data",
    "jsonl": "jsonl",
    "jsonl.gz": "jsonl",
    "jsonl.zst": "jsonl",
}
_NAME = re.compile(rf"([^/]+)/([^/]+)/{SPLIT}-(\d{{5,9}})-of-(\d{{5,9}})\.(.+)")
_CONFIG = re.compile(r"(.*)-(\d{1,10})([km]?)")
_DIGEST8 = re.compile(r"[0-9a-f]{8}")
# Errors of paths that are not files: pipes and devices, names that no system accepts, circular links.
_NO_FILE = (errno.EINVAL, errno.ENXIO, errno.ENAMETOOLONG, errno.ELOOP)
# How many folders above a file are searched for its manifest; builds put data files two below it.
_DEEPEST = 4
_TIMES = {"": 1, "k": 1000, "m": 1_000_000}


class DataFile(NamedTuple):
    """A file with rows: file `number`, from 0, of the `of` files of its config; `of` is 0 if its name does not say so.

    `config`: the name of its folder. `entry`: its entry in the manifest.
    """

    path: Path
    entry: FileEntry
    format: str
    config: str
    number: int
    of: int

    @property
    def rows(self) -> int:
        """How many rows it holds."""
        return self.entry.rows or 0


@dataclass(frozen=True, slots=True)
class Dataset:
    """An opened dataset folder; its files may still be missing or damaged."""

    folder: Path
    manifest: Manifest

    @property
    def formats(self) -> tuple[str, ...]:
        """The formats that its rows are written in, in the order of DATA_FORMATS, unknown ones last."""
        suffixes = {entry.suffix for entry in self.manifest.files if entry.rows is not None}
        return tuple(sorted(suffixes, key=lambda suffix: (_place(suffix), suffix)))

    def files(self, format: str | None = None) -> tuple[DataFile, ...]:
        """The files of a format in row order; by default of the first of `formats`.

        Row order is that of the content digest: by language, length and file number.
        """
        wanted = format or next(iter(self.formats), None)
        entries = (entry for entry in self.manifest.files if entry.rows is not None and entry.suffix == wanted)
        return tuple(sorted((_data_file(self.folder, entry) for entry in entries), key=_in_row_order))


def open_dataset(folder: str | Path) -> Dataset:
    """Open a dataset folder.

    Raises ContractError if the folder is not a finished dataset, or has the name of another one.
    """
    folder = Path(folder)
    manifest = read_manifest(folder)
    name = Path(os.path.abspath(folder)).name
    version, _, digest8 = name.rpartition("-")
    if version == manifest.version and _DIGEST8.fullmatch(digest8) and digest8 != manifest.digest8:
        raise ContractError(
            f"{folder}: the name says dataset {digest8}, {MANIFEST} says {manifest.digest8}; the manifest is another "
            f"dataset's, or the folder was renamed: copy the dataset again, or name it {version}-{manifest.digest8}"
        )
    return Dataset(folder, manifest)


def dataset_of(file: str | Path) -> tuple[Dataset, DataFile] | None:
    """The dataset that a data file belongs to, and the file in that dataset; None if it belongs to none.

    Raises ContractError if the file has the path of a data file below a folder whose manifest cannot be read.
    """
    path = Path(os.path.abspath(file))
    for folder in path.parents[:_DEEPEST]:
        if not (folder / MANIFEST).is_file():
            continue
        name = path.relative_to(folder).as_posix()
        try:
            opened = open_dataset(folder)
        except ContractError:
            if _numbered(name):
                raise
            continue  # other programs write a manifest.json too
        for entry in opened.manifest.files:
            if entry.path == name and entry.rows is not None:
                return opened, _data_file(folder, entry)
    return None


def data_path(format: str, stem: str) -> str:
    """The path of a data file in the dataset folder; `stem`: its config and name, without suffix."""
    return f"{DATA_FORMATS[format]}/{stem}.{format}"


def file_problem(folder: Path, entry: FileEntry) -> str | None:
    """How a file differs from its manifest entry; None if it is intact. Raises OSError if it cannot be read."""
    path = folder / entry.path
    try:
        with open_regular(path) as file:
            size = os.fstat(file.fileno()).st_size
            # A file of another size cannot match and may be endless, so it is not hashed.
            sha256 = hashlib.file_digest(file, "sha256").hexdigest() if size == entry.bytes else None
    except (FileNotFoundError, NotADirectoryError):
        return f"{entry.path}: missing"
    except OSError as error:
        if error.errno not in _NO_FILE:
            raise
        return f"{entry.path}: cannot be read ({error.strerror})"
    if sha256 is None:
        return f"{entry.path}: {size} bytes, expected {entry.bytes}"
    return None if sha256 == entry.sha256 else f"{entry.path}: sha256 is {sha256}, expected {entry.sha256}"


def _place(format: str) -> int:
    known = tuple(DATA_FORMATS)
    return known.index(format) if format in known else len(known)


def _numbered(path: str) -> re.Match[str] | None:
    """Match a path in the dataset folder against those that builds give to data files."""
    match = _NAME.fullmatch(path)
    return match if match and DATA_FORMATS.get(match[5]) == match[1] else None


def _data_file(folder: Path, entry: FileEntry) -> DataFile:
    if match := _numbered(entry.path):
        return DataFile(folder / entry.path, entry, entry.suffix, match[2], int(match[3]), int(match[4]))
    config = entry.path.rpartition("/")[0].rpartition("/")[2]
    return DataFile(folder / entry.path, entry, entry.suffix, config, 0, 0)


def _in_row_order(file: DataFile) -> tuple[str, int, int, str]:
    match = _CONFIG.fullmatch(file.config)
    language, length = (match[1], int(match[2]) * _TIMES[match[3]]) if match else (file.config, 0)
    return language, length, file.number, file.entry.path
