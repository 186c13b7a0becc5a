"""Reads, checks and writes manifest.json."""

from __future__ import annotations

import json
import re
import sys
import unicodedata
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, TypeVar

from niah_score.contract.digests import SEAL, seal_is_broken, sealed
from niah_score.contract.names import MANIFEST, SCHEMA_VERSION, ContractError, is_safe_path
from niah_score.contract.regular_files import read_regular
from niah_score.contract.strict_json import strict_json

Entry = TypeVar("Entry")

# A file takes some 200 bytes: this is enough for a million.
MOST_BYTES = 256 * 2**20
# More rows, tokens or bytes there are not; and 64 bits hold it.
_MOST = 2**62
# Digests name folders. Of hand-made datasets they are whatever names them.
_DIGEST = re.compile(r"[0-9A-Za-z]{1,128}")
_RELEASE = re.compile(r"\d+\.\d+\.\d+.*", re.DOTALL)


@dataclass(frozen=True, slots=True)
class TokenizerEntry:
    """Which tokenizer counted; `sha256` is of its vocabulary file."""

    name: str
    sha256: str

    @staticmethod
    def of(record: Any) -> TokenizerEntry:
        """The entry in a record. Raises KeyError, TypeError or ValueError where it is none."""
        return _entry(TokenizerEntry, record)


@dataclass(frozen=True, slots=True)
class DrawEntry:
    """How documents were drawn from a corpus too large to be read whole, by `rule`, which is in words.

    `size`: asked for, in bytes. `documents`: how many the whole corpus has.
    """

    rule: str
    seed: int
    size: int
    documents: int


@dataclass(frozen=True, slots=True)
class CorpusEntry:
    """Where filler came from. `share_left_out`: share of its tokens never used as filler, 0 to 1.

    `files` and `sha256` are of the whole corpus; where some of its documents were `drawn`, `documents`, `tokens` and
    `share_left_out` are of these.
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

    @staticmethod
    def of(record: Any) -> CorpusEntry:
        """The entry in a manifest's record. Raises KeyError or TypeError where it is none."""
        if not isinstance(record, dict):
            raise TypeError(f"{record!r} is no table")
        drawn = record.get("drawn")
        return _entry(CorpusEntry, {**record, "drawn": None if drawn is None else _entry(DrawEntry, drawn)})


@dataclass(frozen=True, slots=True)
class PartEntry:
    """One part of a dataset that has several: the rows whose column `part` holds `name`, controls included.

    `weight`: how much its mean counts in the headline, relative to the other parts' weights; 0 counts in none.
    """

    name: str
    weight: float
    rows: int


@dataclass(frozen=True, slots=True)
class FileEntry:
    """One file of the folder. `rows` is null for files that hold none (card, recipe, preview)."""

    path: str
    sha256: str
    rows: int | None
    bytes: int

    @staticmethod
    def of(record: Any) -> FileEntry:
        """The entry in a record. Raises KeyError, TypeError or ValueError where it is none."""
        return _entry(FileEntry, record)

    @property
    def suffix(self) -> str:
        """The format of a data file: what follows the first dot of its path, such as `jsonl.gz`."""
        return self.path.partition(".")[2]


@dataclass(frozen=True, slots=True)
class Manifest:
    """manifest.json: what a folder must hold for it to be a dataset. `notes`: what building it noticed.

    `parts`: none for a dataset whose rows have no parts.
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

    @property
    def digest8(self) -> str:
        """The eight characters that name the dataset: in its folder, in scores, in signatures."""
        return self.plan_digest[:8]

    def to_json(self) -> bytes:
        """The file's bytes, with the sha256 of the other fields in `self_sha256`.

        `parts` and a corpus's `drawn` are written only if there are any: manifests from before them keep their bytes.
        """
        record = asdict(self)
        if not self.parts:
            del record["parts"]
        for corpus in record["corpora"]:
            if corpus["drawn"] is None:
                del corpus["drawn"]
        return (json.dumps(sealed(record), ensure_ascii=False, indent=2) + "\n").encode()


def read_manifest(folder: Path) -> Manifest:
    """Read and check `manifest.json` of a dataset folder.

    Raises ContractError if it is missing, unreadable, made by a newer schema, not what its `self_sha256` says (one that
    was made by hand may have none), or names files outside the folder.
    """
    return _checked(folder)[0]


def read_sealed_manifest(folder: Path) -> tuple[Manifest, str | None]:
    """`read_manifest`, and what is wrong where there should be a seal and is none.

    All releases seal what they write. One that names a release as its generator_version and has no seal was changed
    since, by hand or by a program that keeps the fields it knows; one that was made by hand names no release.
    """
    manifest, is_sealed = _checked(folder)
    if is_sealed or not _RELEASE.fullmatch(manifest.generator_version):
        return manifest, None
    return manifest, (
        f"{MANIFEST}: has no {SEAL}, which niah {manifest.generator_version} writes, so changes to licence, notes and "
        "figures would not be seen; copy it again, or, if you trust it, run niah-gen card"
    )


def _checked(folder: Path) -> tuple[Manifest, bool]:
    """The manifest of a folder, and whether it is sealed."""
    path = folder / MANIFEST
    try:
        record = strict_json(read_regular(path, MOST_BYTES))
    except (FileNotFoundError, NotADirectoryError):
        raise ContractError(
            f"{folder}: no {MANIFEST}, so this is not a finished dataset; build it again, or merge its shards"
        ) from None
    except (OSError, ValueError, RecursionError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else error
        raise ContractError(f"{path}: cannot be read as JSON ({reason}); build the dataset again") from None
    found = record.get("schema_version") if isinstance(record, dict) else None
    if isinstance(found, bool) or not isinstance(found, int) or found < 1:
        raise ContractError(f"{path}: not a manifest of schema version {SCHEMA_VERSION} (schema_version is {found!r})")
    if found > SCHEMA_VERSION:
        raise ContractError(
            f"{path}: schema_version {found} is newer than the {SCHEMA_VERSION} that is read here; upgrade niah-kit"
        )
    try:
        manifest = _parse_manifest(record)
        manifest.to_json()  # half a surrogate pair is no text
    except (KeyError, TypeError, ValueError, RecursionError) as error:
        raise ContractError(f"{path}: not a manifest of schema version {SCHEMA_VERSION} ({error!r:.300})") from None
    spelled: dict[str, str] = {}
    for entry in manifest.files:
        if not is_safe_path(entry.path):
            raise ContractError(
                f"{path}: file {entry.path!r:.300} does not stay inside the folder on every system; do not use this "
                "dataset"
            )
        # What a file system without cases, or that composes accents, takes for one name.
        same = unicodedata.normalize("NFC", entry.path).casefold()
        if spelled.setdefault(same, entry.path) != entry.path:
            raise ContractError(
                f"{path}: files {spelled[same]!r} and {entry.path!r} are one on some systems; do not use this dataset"
            )
    if seal_is_broken(record):
        raise ContractError(
            f"{path}: damaged, or changed since it was written (its {SEAL} is not that of its other fields); copy "
            "the dataset again, or build it again"
        )
    return manifest, SEAL in record


def _parse_manifest(record: dict[str, Any]) -> Manifest:
    known = {name: record[name] for name in Manifest.__slots__ if name not in ("notes", "parts")}
    known["tokenizer"] = TokenizerEntry.of(record["tokenizer"])
    known["corpora"] = tuple(map(CorpusEntry.of, record["corpora"]))
    known["notes"] = tuple(map(_text, record.get("notes", ())))
    known["parts"] = parts_of(record.get("parts", ()))
    known["files"] = tuple(map(FileEntry.of, record["files"]))
    manifest = _typed(Manifest(**known))
    for digest in (manifest.plan_digest, manifest.content_digest):
        if not _DIGEST.fullmatch(digest):
            raise ValueError(f"{digest!r:.80} is no digest, expected hex digits")
    for corpus in manifest.corpora:
        if not 0 <= corpus.share_left_out <= 1:
            raise ValueError(f"share_left_out is {corpus.share_left_out}, expected 0 to 1")
    return manifest


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r:.80} is no text")
    return value


def parts_of(records: Any) -> tuple[PartEntry, ...]:
    """The parts in a list of records, if their weights can be weights and their names tell them apart.

    Raises KeyError, TypeError or ValueError.
    """
    parts = tuple(_entry(PartEntry, item) for item in records)
    for part in parts:
        if not 0 <= part.weight <= sys.float_info.max:
            raise ValueError(f"part {part.name!r} has the weight {part.weight}, expected a finite number from 0")
    names = [part.name for part in parts]
    if len(set(names)) < len(names):
        raise ValueError(f"parts {names} do not all have different names")
    return parts


def _entry(kind: type[Entry], record: dict[str, Any]) -> Entry:
    return _typed(kind(**{name: record[name] for name in kind.__slots__}))  # type: ignore[attr-defined]


def _typed(entry: Entry) -> Entry:
    """The entry, if its numbers are numbers and its texts are texts. Raises TypeError or ValueError."""
    kinds: dict[str, tuple[type, ...]] = {
        "int": (int,), "float": (int, float), "str": (str,), "int | None": (int, type(None)),
    }  # fmt: skip
    for name, wanted in type(entry).__annotations__.items():
        value = getattr(entry, name)
        if wanted in kinds and (isinstance(value, bool) or not isinstance(value, kinds[wanted])):
            raise TypeError(f"{name} is {value!r:.80}, expected {wanted}")
        # Seeds alone may be below 0.
        if "int" in wanted and isinstance(value, int) and not (-_MOST if name == "seed" else 0) <= value <= _MOST:
            raise ValueError(f"{name} is {str(value)[:40]}, expected 0 or more")
    return entry
