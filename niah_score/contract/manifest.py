"""Reads, checks and writes manifest.json."""

from __future__ import annotations

import json
import re
import sys
import unicodedata
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, TypeVar

from niah_score.contract.reading import read_regular, strict_json
from niah_score.contract.rows import MANIFEST, SCHEMA_VERSION, SEAL, ContractError, is_safe_path, seal_is_broken, sealed

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

    @staticmethod
    def of(record: Any) -> TokenizerEntry:
        """Parse a record. Raises KeyError, TypeError or ValueError if it is not valid."""
        return _entry(TokenizerEntry, record)


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

    @staticmethod
    def of(record: Any) -> CorpusEntry:
        """Parse a record. Raises KeyError, TypeError or ValueError if it is not valid."""
        if not isinstance(record, dict):
            raise TypeError(f"{record!r} is not a table")
        drawn = record.get("drawn")
        return _entry(CorpusEntry, {**record, "drawn": None if drawn is None else _entry(DrawEntry, drawn)})


@dataclass(frozen=True, slots=True)
class PartEntry:
    """One part of a dataset that has several: the rows whose column `part` holds `name`, controls included.

    `weight`: how much its mean counts in the headline, relative to the other parts; 0 leaves it out.
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
        """Parse a record. Raises KeyError, TypeError or ValueError if it is not valid."""
        return _entry(FileEntry, record)

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

    @property
    def digest8(self) -> str:
        """The eight characters that name the dataset: in its folder, in scores, in signatures."""
        return self.plan_digest[:8]

    def to_json(self) -> bytes:
        """The file's bytes, with the sha256 of the other fields in `self_sha256`.

        `parts` and a corpus's `drawn` are written only if there are any, so that older manifests keep their bytes.
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

    Raises ContractError if it is missing or unreadable, has a newer schema or a broken seal (hand-made ones may have
    no seal), or names files outside the folder.
    """
    return _checked(folder)[0]


def read_sealed_manifest(folder: Path) -> tuple[Manifest, str | None]:
    """Like `read_manifest`, with a sentence if a seal is missing that should be there.

    All releases seal their manifests. One with a release as its generator_version but no seal was changed since, by
    hand or by a program that keeps only the fields it knows. Hand-made ones name no release.
    """
    manifest, is_sealed = _checked(folder)
    if is_sealed or not _RELEASE.fullmatch(manifest.generator_version):
        return manifest, None
    return manifest, (
        f"{MANIFEST}: has no {SEAL}, which niah {manifest.generator_version} writes, so changes to licence, notes and "
        "figures would go unnoticed; copy it again, or, if you trust it, run niah-gen card"
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
    except OSError as error:
        raise ContractError(
            f"{path}: cannot be read ({error.strerror or error}); check the file and its permissions"
        ) from None
    except (ValueError, RecursionError) as error:
        raise ContractError(f"{path}: cannot be read as JSON ({error}); build the dataset again") from None
    version = record.get("schema_version") if isinstance(record, dict) else None
    if isinstance(version, bool) or not isinstance(version, int) or version < 1:
        raise ContractError(
            f"{path}: not a manifest of schema version {SCHEMA_VERSION} (schema_version is {version!r})"
        )
    if version > SCHEMA_VERSION:
        raise ContractError(
            f"{path}: schema_version {version} is newer than the {SCHEMA_VERSION} that is read here; upgrade niah-kit"
        )
    try:
        manifest = manifest_of(record)
        manifest.to_json()  # fails for a lone surrogate, which is not text
    except (KeyError, TypeError, ValueError, RecursionError) as error:
        raise ContractError(f"{path}: not a manifest of schema version {SCHEMA_VERSION} ({error!r:.300})") from None
    spelled: dict[str, str] = {}
    for entry in manifest.files:
        if not is_safe_path(entry.path):
            raise ContractError(
                f"{path}: file {entry.path!r:.300} does not stay inside the folder on every system; do not use this "
                "dataset"
            )
        # File systems that ignore case, or that compose accents, take these for one name.
        same = unicodedata.normalize("NFC", entry.path).casefold()
        if spelled.setdefault(same, entry.path) != entry.path:
            raise ContractError(
                f"{path}: files {spelled[same]!r} and {entry.path!r} are the same file on some systems; do not use "
                "this dataset"
            )
    if seal_is_broken(record):
        raise ContractError(
            f"{path}: damaged, or changed since it was written (its {SEAL} does not match its other fields); copy "
            "the dataset again, or build it again"
        )
    return manifest, SEAL in record


def manifest_of(record: dict[str, Any]) -> Manifest:
    """Parse the record of a manifest. Raises KeyError, TypeError or ValueError if it is not valid."""
    known = {name: record[name] for name in Manifest.__slots__ if name not in ("notes", "parts")}
    known["tokenizer"] = TokenizerEntry.of(record["tokenizer"])
    known["corpora"] = tuple(map(CorpusEntry.of, record["corpora"]))
    known["notes"] = tuple(map(_text, record.get("notes", ())))
    known["parts"] = parts_of(record.get("parts", ()))
    known["files"] = tuple(map(FileEntry.of, record["files"]))
    manifest = _typed(Manifest(**known))
    for digest in (manifest.plan_digest, manifest.content_digest):
        if not _DIGEST.fullmatch(digest):
            raise ValueError(f"{digest!r:.80} is not a digest; expected 1 to 128 letters and digits")
    for corpus in manifest.corpora:
        if not 0 <= corpus.share_left_out <= 1:
            raise ValueError(f"share_left_out is {corpus.share_left_out}, expected 0 to 1")
    return manifest


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r:.80} is not text")
    return value


def parts_of(records: Any) -> tuple[PartEntry, ...]:
    """Parse a list of parts.

    Raises KeyError, TypeError or ValueError if one is not valid, has an impossible weight or the name of another.
    """
    parts = tuple(_entry(PartEntry, item) for item in records)
    for part in parts:
        if not 0 <= part.weight <= sys.float_info.max:
            raise ValueError(f"part {part.name!r} has the weight {part.weight}, expected a finite number, 0 or more")
    names = [part.name for part in parts]
    if len(set(names)) < len(names):
        raise ValueError(f"parts {names} do not all have different names")
    return parts


def _entry(kind: type[Entry], record: dict[str, Any]) -> Entry:
    return _typed(kind(**{name: record[name] for name in kind.__slots__}))  # type: ignore[attr-defined]


def _typed(entry: Entry) -> Entry:
    """The entry, with the types of its fields checked. Raises TypeError or ValueError."""
    kinds: dict[str, tuple[type, ...]] = {
        "int": (int,), "float": (int, float), "str": (str,), "int | None": (int, type(None)),
    }  # fmt: skip
    for name, wanted in type(entry).__annotations__.items():
        value = getattr(entry, name)
        if wanted in kinds and (isinstance(value, bool) or not isinstance(value, kinds[wanted])):
            raise TypeError(f"{name} is {value!r:.80}, expected {wanted}")
        # Only seeds may be negative.
        if "int" in wanted and isinstance(value, int) and not (-_MOST if name == "seed" else 0) <= value <= _MOST:
            raise ValueError(f"{name} is {str(value)[:40]}, expected 0 or more")
    return entry
