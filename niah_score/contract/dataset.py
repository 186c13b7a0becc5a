"""Reads and writes a dataset's manifest, opens its folder, and lists the files of its rows by format, in row order."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import re
import sys
import unicodedata
from collections.abc import Sequence
from dataclasses import MISSING, asdict, dataclass, fields, is_dataclass
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple, TypeVar, get_args, get_origin, get_type_hints

from niah_score.contract.reading import open_regular, read_regular, strict_json
from niah_score.contract.rows import (
    MANIFEST,
    SCHEMA_VERSION,
    SEAL,
    SPLIT,
    ContractError,
    is_safe_path,
    seal_is_broken,
    sealed,
)

Entry = TypeVar("Entry")
# An entry takes some 200 bytes, so this is enough for a million files.
MOST_BYTES = 256 * 2**20
# More than any dataset has of rows, tokens or bytes, and still within 64 bits.
_MOST = 2**62
# Digests are part of folder names. In hand-made datasets they may be any word.
_DIGEST = re.compile(r"[0-9A-Za-z]{1,128}")
_RELEASE = re.compile(r"\d+\.\d+\.\d+.*", re.DOTALL)


@dataclass(frozen=True, slots=True)
class TokenizerEntry:
    """The tokenizer that counted; `sha256` is of its vocabulary file."""

    name: str
    sha256: str


@dataclass(frozen=True, slots=True)
class DrawEntry:
    """How documents were drawn from a corpus too large to read whole; `rule` says it in words.

    `size`: the size asked for, in bytes. `documents`: how many the whole corpus has.
    """

    rule: str
    seed: int
    size: int
    documents: int


@dataclass(frozen=True, slots=True)
class CorpusEntry:
    """Where filler came from. `share_left_out`: share of its tokens never used as filler, 0 to 1.

    `files` and `sha256` describe the whole corpus; if documents were `drawn` from it, `documents`, `tokens` and
    `share_left_out` describe these.
    """

    name: str
    files: int
    sha256: str
    documents: int
    tokens: int
    share_left_out: float
    license: str
    source: str
    drawn: DrawEntry | None = None

    def __post_init__(self) -> None:
        if not 0 <= self.share_left_out <= 1:
            raise ValueError(f"share_left_out is {self.share_left_out}, expected 0 to 1")


@dataclass(frozen=True, slots=True)
class PartEntry:
    """One part of a dataset that has several: the rows whose column `part` holds `name`, controls included.

    `weight`: how much its mean counts in the headline, relative to the other parts; 0 leaves it out.
    """

    name: str
    weight: float
    rows: int

    def __post_init__(self) -> None:
        if not 0 <= self.weight <= sys.float_info.max:
            raise ValueError(f"part {self.name!r} has the weight {self.weight}, expected a finite number, 0 or more")


@dataclass(frozen=True, slots=True)
class FileEntry:
    """One file of the folder. `rows` is null for files that hold none (card, recipe, preview)."""

    path: str
    sha256: str
    rows: int | None
    bytes: int

    @property
    def suffix(self) -> str:
        """The format of a data file: what follows the first dot of its path, such as `jsonl.gz`."""
        return self.path.partition(".")[2]


@dataclass(frozen=True, slots=True)
class Manifest:
    """manifest.json, which makes a folder a dataset. `notes`: remarks of the build.

    `parts`: empty if rows have no parts.
    `plan_digest`: of what was asked for; its first eight characters name the dataset. `content_digest`: of the rows.
    """

    schema_version: int
    name: str
    version: str
    plan_digest: str
    content_digest: str
    generator_version: str
    tokenizer: TokenizerEntry
    corpora: tuple[CorpusEntry, ...]
    rows: int
    tokens: int
    files: tuple[FileEntry, ...]
    notes: tuple[str, ...] = ()
    parts: tuple[PartEntry, ...] = ()

    def __post_init__(self) -> None:
        refuse_one_name(self.parts)
        for digest in (self.plan_digest, self.content_digest):
            if not _DIGEST.fullmatch(digest):
                raise ValueError(f"{digest!r:.80} is not a digest; expected 1 to 128 letters and digits")

    @property
    def digest8(self) -> str:
        """The eight characters that name the dataset: in its folder, in scores, in signatures."""
        return self.plan_digest[:8]

    def to_json(self) -> bytes:
        """The file's bytes, with the sha256 of the other fields in `self_sha256`.

        `parts` and a corpus's `drawn` are written only if there are any, so that older manifests keep their bytes.
        """
        absent = (("parts", ()), ("drawn", None))
        record = asdict(self, dict_factory=lambda fields: dict(field for field in fields if field not in absent))
        return (json.dumps(sealed(record), ensure_ascii=False, indent=2) + "\n").encode()


def read_manifest(folder: Path) -> Manifest:
    """Read and check `manifest.json` of a dataset folder.

    Raises ContractError if it is missing or unreadable, has a newer schema or a broken seal (hand-made ones may have
    no seal), or names files outside the folder.
    """
    return read_sealed_manifest(folder)[0]


def read_sealed_manifest(folder: Path) -> tuple[Manifest, str | None]:
    """Like `read_manifest`, with a sentence if a seal is missing that should be there."""
    path = folder / MANIFEST
    try:
        data: bytes | None = read_regular(path, MOST_BYTES)
    except (FileNotFoundError, NotADirectoryError):
        data = None
    except (OSError, ValueError) as error:
        raise ContractError(
            f"{path}: cannot be read ({getattr(error, 'strerror', None) or error}); check the file and its permissions"
        ) from None
    return parse_manifest(data, folder)


def parse_manifest(data: bytes | None, folder: Path | str) -> tuple[Manifest, str | None]:
    """The manifest in the bytes of a file, None if there is none, with a sentence if a seal is missing.

    `folder`: what messages call the folder that it is in, a path or an address.
    All releases seal their manifests. One with a release as its generator_version but no seal was changed since, by
    hand or by a program that keeps only the fields it knows. Hand-made ones name no release.
    """
    path = f"{folder}/{MANIFEST}"
    if data is None:
        raise ContractError(
            f"{folder}: no {MANIFEST}, so this is not a finished dataset; build it again, or merge its shards"
        )
    try:
        record = strict_json(data)
        version = record.get("schema_version") if isinstance(record, dict) else None
        if type(version) is int and version > SCHEMA_VERSION:
            raise ContractError(
                f"{path}: schema_version {version} is newer than {SCHEMA_VERSION}, which is read here; upgrade niah-kit"
            )
        if type(version) is not int or version != SCHEMA_VERSION:
            raise ValueError(f"schema_version is {version!r}")
        manifest = entry_of(Manifest, record)
        manifest.to_json()  # fails for a lone surrogate, which is not text
    except (KeyError, TypeError, ValueError, RecursionError) as error:
        raise ContractError(
            f"{path}: not a manifest of schema version {SCHEMA_VERSION} ({error!r:.300}); build the dataset again"
        ) from None
    # File systems that ignore case, or that compose accents, take some names for one.
    spelled: dict[str, str] = {}
    for entry in manifest.files:
        same = spelled.setdefault(unicodedata.normalize("NFC", entry.path).casefold(), entry.path)
        if same != entry.path or not is_safe_path(entry.path):
            what = "is not a file of its own inside the folder on every system; do not use this dataset"
            raise ContractError(f"{path}: file {entry.path!r:.300} {what}")
    if seal_is_broken(record):
        raise ContractError(
            f"{path}: damaged, or changed since it was written (its {SEAL} does not match its other fields); copy "
            "the dataset again, or build it again"
        )
    if SEAL in record or not _RELEASE.fullmatch(manifest.generator_version):
        return manifest, None
    return manifest, (
        f"{MANIFEST}: has no {SEAL}, which niah {manifest.generator_version} writes, so changes to licence, notes and "
        "figures would go unnoticed; copy it again, or, if you trust it, run niah-gen card"
    )


def refuse_one_name(parts: Sequence[PartEntry]) -> None:
    """Raise ValueError if two parts have the same name."""
    names = [part.name for part in parts]
    if len(set(names)) < len(names):
        raise ValueError(f"parts {names} do not all have different names")


def entry_of(kind: type[Entry], record: Any) -> Entry:
    """A record of a type, and those in it, from JSON. Raises KeyError, TypeError or ValueError if it is not valid."""
    if not isinstance(record, dict):
        raise TypeError(f"{record!r:.80} is not a table")
    hints = _hints(kind)  # type: ignore[arg-type]
    named = [field.name for field in fields(kind) if field.name in record or field.default is MISSING]  # type: ignore[arg-type]
    return kind(**{name: _value(name, hints[name], record[name]) for name in named})


_hints = cache(get_type_hints)


def _value(name: str, kind: Any, value: Any) -> Any:
    """A value of a field as its type wants it."""
    if get_origin(kind) is tuple:
        if not isinstance(value, list | tuple):
            raise TypeError(f"{name} is {value!r:.80}, expected a list")
        return tuple(_value(name, get_args(kind)[0], item) for item in value)
    if type(None) in get_args(kind):
        return None if value is None else _value(name, get_args(kind)[0], value)
    if isinstance(kind, type) and is_dataclass(kind):
        return entry_of(kind, value)
    if type(value) is not kind and (kind, type(value)) != (float, int):
        raise TypeError(f"{name} is {value!r:.80}, expected {kind.__name__}")
    # Only seeds may be negative.
    if kind is int and not (-_MOST if name == "seed" else 0) <= value <= _MOST:
        raise ValueError(f"{name} is {str(value)[:40]}, expected 0 or more")
    return value


# The suffix of each data format and the folder of its files. Each format holds all rows.
DATA_FORMATS: dict[str, str] = {
    "parquet": "data",
    "jsonl": "jsonl",
    "jsonl.gz": "jsonl",
    "jsonl.zst": "jsonl",
}
_NAME = re.compile(rf"([^/]+)/[^/]+/{SPLIT}-(\d{{5,9}})-of-\d{{5,9}}\.(.+)")
_CONFIG = re.compile(r"(.*)-(\d{1,10})([km]?)")
_DIGEST8 = re.compile(r"[0-9a-f]{8}")
# Errors of paths that are not files: pipes and devices, names that no system accepts, circular links.
_NO_FILE = (errno.EINVAL, errno.ENXIO, errno.ENAMETOOLONG, errno.ELOOP)
# How many folders above a file are searched for its manifest; builds put data files two below it.
_DEEPEST = 4
_TIMES = {"": 1, "k": 1000, "m": 1_000_000}


class DataFile(NamedTuple):
    """A file with rows. `config`: the name of its folder. `entry`: its entry in the manifest."""

    path: Path
    entry: FileEntry
    config: str

    @property
    def format(self) -> str:
        """Its suffix, such as `jsonl.gz`."""
        return self.entry.suffix

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
        return (*(one for one in DATA_FORMATS if one in suffixes), *sorted(suffixes - {*DATA_FORMATS}))

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


def _numbered(path: str) -> re.Match[str] | None:
    """Match a path in the dataset folder against those that builds give to data files."""
    match = _NAME.fullmatch(path)
    return match if match and DATA_FORMATS.get(match[3]) == match[1] else None


def _data_file(folder: Path, entry: FileEntry) -> DataFile:
    return DataFile(folder / entry.path, entry, entry.path.rpartition("/")[0].rpartition("/")[2])


def _in_row_order(file: DataFile) -> tuple[str, int, int, str]:
    config, numbered = _CONFIG.fullmatch(file.config), _numbered(file.entry.path)
    language, length = (config[1], int(config[2]) * _TIMES[config[3]]) if config else (file.config, 0)
    return language, length, int(numbered[2]) if numbered else 0, file.entry.path
