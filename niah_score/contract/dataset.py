"""Opens a dataset folder: which of its files hold rows, in which format, and in which order."""

from __future__ import annotations

import errno
import hashlib
import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from niah_score.contract.manifest import FileEntry, Manifest, read_manifest
from niah_score.contract.names import MANIFEST, SPLIT, ContractError
from niah_score.contract.regular_files import open_regular

# The formats of data files by their suffix, and the folder that each stands in. Each format holds all rows.
DATA_FORMATS: dict[str, str] = {
    "parquet": "data",
    "jsonl": "jsonl",
    "jsonl.gz": "jsonl",
    "jsonl.zst": "jsonl",
}
_NAME = re.compile(rf"([^/]+)/([^/]+)/{SPLIT}-(\d{{5,9}})-of-(\d{{5,9}})\.(.+)")
_CONFIG = re.compile(r"(.*)-(\d{1,10})([km]?)")
_DIGEST8 = re.compile(r"[0-9a-f]{8}")
# A path that leads to no file: a pipe or a device, a name that no system takes, links in a circle.
_NO_FILE = (errno.EINVAL, errno.ENXIO, errno.ENAMETOOLONG, errno.ELOOP)
# How many folders above a file are searched for its manifest; builds put data files two below it.
_DEEPEST = 4
_TIMES = {"": 1, "k": 1000, "m": 1_000_000}


class DataFile(NamedTuple):
    """A file with rows: file `number`, from 0, of the `of` files of its config; `of` is 0 for a name of another kind.

    `config`: the folder that it stands in. `path`: where it lies; `entry`: what the manifest says of it.
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
    """A dataset folder that was opened; its files may still be missing or damaged."""

    folder: Path
    manifest: Manifest

    @property
    def formats(self) -> tuple[str, ...]:
        """The formats that its rows are written in, in the order of DATA_FORMATS, unknown ones last."""
        found = {entry.suffix for entry in self.manifest.files if entry.rows is not None}
        return tuple(sorted(found, key=lambda suffix: (_place(suffix), suffix)))

    def files(self, format: str | None = None) -> tuple[DataFile, ...]:
        """The files of a format in row order; by default of the first format there is, none if there is no file.

        Row order is that of the content digest: by language, length, and the number of the file.
        """
        wanted = format or next(iter(self.formats), None)
        entries = (entry for entry in self.manifest.files if entry.rows is not None and entry.suffix == wanted)
        return tuple(sorted((_data_file(self.folder, entry) for entry in entries), key=_in_row_order))


def open_dataset(folder: str | Path) -> Dataset:
    """Open a dataset folder.

    Raises ContractError for a folder that is no finished dataset, or that has the name of another one.
    """
    folder = Path(folder)
    manifest = read_manifest(folder)
    name = Path(os.path.abspath(folder)).name
    version, _, digest8 = name.rpartition("-")
    if version == manifest.version and _DIGEST8.fullmatch(digest8) and digest8 != manifest.digest8:
        raise ContractError(
            f"{folder}: the name says dataset {digest8}, {MANIFEST} says {manifest.digest8}; it is another dataset's "
            f"manifest, or the folder was renamed: copy the dataset again, or name it {version}-{manifest.digest8}"
        )
    return Dataset(folder, manifest)


def dataset_of(file: str | Path) -> tuple[Dataset, DataFile] | None:
    """The dataset that a file is a data file of, and what its manifest says of the file; None if there is none.

    Raises ContractError where the manifest of the folder that the file's place and name belong to cannot be read.
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
            continue  # other programs too call a file manifest.json
        for entry in opened.manifest.files:
            if entry.path == name and entry.rows is not None:
                return opened, _data_file(folder, entry)
    return None


def data_path(format: str, stem: str) -> str:
    """The path of a data file below the dataset folder; `stem`: its config and its name, without suffix."""
    return f"{DATA_FORMATS[format]}/{stem}.{format}"


def file_problem(folder: Path, entry: FileEntry) -> str | None:
    """What is wrong with a file against its entry; None if it is intact.

    Raises OSError where the disk does not tell.
    """
    path = folder / entry.path
    try:
        with open_regular(path) as file:
            size = os.fstat(file.fileno()).st_size
            # A file of another size cannot be the one that is meant, and may be without an end.
            found = hashlib.file_digest(file, "sha256").hexdigest() if size == entry.bytes else None
    except (FileNotFoundError, NotADirectoryError):
        return f"{entry.path}: missing"
    except OSError as error:
        if error.errno not in _NO_FILE:
            raise
        return f"{entry.path}: cannot be read ({error.strerror})"
    if found is None:
        return f"{entry.path}: {size} bytes, expected {entry.bytes}"
    return None if found == entry.sha256 else f"{entry.path}: sha256 is {found}, expected {entry.sha256}"


def _place(format: str) -> int:
    known = tuple(DATA_FORMATS)
    return known.index(format) if format in known else len(known)


def _numbered(path: str) -> re.Match[str] | None:
    """The parts of a path below the dataset folder, if it is one that builds give to data files."""
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
