"""Compares a dataset with its manifest: every listed file, byte by byte, its schema and rows, and no other file."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Collection, Iterator
from pathlib import Path

from niah_gen.dataset.complete import partial_of
from niah_score.contract import MANIFEST, FileEntry, Manifest, file_problem, read_sealed_manifest, row_schema
from niah_score.machine.stores import manifest_at, objects_below, parse_address, stored_sha256
from niah_score.text.visible import one_line

# What earlier releases did not write yet.
_LATER_COLUMNS = (
    "part", "question_language", "keyword_kinds", "rejects", "decoys", "needle_token_spans", "shared_prefix", "world",
    "chance", "target_token_span",
)  # fmt: skip


def verify(folder: Path) -> tuple[Manifest, list[str]]:
    """Re-hash every file of a dataset folder. Returns the manifest, and a sentence for each problem.

    Bytes are hashed: a parser can miss damage that a hash cannot. Of Parquet files the footer is read too.
    Raises ContractError if the folder has no valid manifest.
    """
    manifest, problems, _ = hash_files(folder)
    return manifest, problems


def hash_files(folder: Path) -> tuple[Manifest, list[str], set[str]]:
    """As `verify`, with the paths of the files that are intact."""
    manifest, unsealed = read_sealed_manifest(folder)
    checked = {entry.path: _problem_of(folder, entry) for entry in manifest.files}
    problems = [problem for problem in checked.values() if problem]
    problems += _strangers(folder, {*checked, MANIFEST})
    # A path such as `.` has no name.
    here = Path(os.path.abspath(folder))
    problems += _of_manifest(manifest, unsealed, here.name)
    if problems and (partial_of(here) / MANIFEST).is_file():
        what = "holds files that a killed command had not finished moving in; run the same build again"
        problems.insert(0, f"{partial_of(here).name} {what}")
    return manifest, problems, {path for path, problem in checked.items() if not problem}


def verify_at(text: str, *, read: bool = True) -> tuple[Manifest, list[str]]:
    """Check every object of a dataset at an address. Returns the manifest, and a sentence for each problem.

    read: if False, only names and sizes are compared. Nothing is kept on this machine. Raises ContractError if there is
    no valid manifest, AddressError and StoreError.
    """
    address = parse_address(text)
    objects = objects_below(address)
    manifest, unsealed = manifest_at(address, objects)
    problems = []
    for entry in manifest.files:
        name, stored = one_line(entry.path), objects.get(entry.path)
        if stored is None:
            problems.append(f"{name}: missing")
        elif stored.bytes != entry.bytes:
            problems.append(f"{name}: {stored.bytes} bytes, expected {entry.bytes}")
        elif read and (sha256 := stored_sha256(address / entry.path)) != entry.sha256:
            problems.append(f"{name}: sha256 is {sha256}, expected {entry.sha256}")
    listed = {entry.path for entry in manifest.files} | {MANIFEST}
    problems += [_unlisted(name) for name in objects if name not in listed and not _added_by_hub(name)]
    return manifest, [*problems, *_of_manifest(manifest, unsealed, address.name)]


def _problem_of(folder: Path, entry: FileEntry) -> str | None:
    """How a file differs from its entry, or its schema or number of rows from what it should be; None if it is intact.

    An unreadable file is a problem too, so that the others are still hashed.
    """
    try:
        return file_problem(folder, entry) or _wrong_parquet(folder, entry)
    except PermissionError as error:
        return f"{entry.path}: cannot be read ({error.strerror}); check its permissions"


def _wrong_parquet(folder: Path, entry: FileEntry) -> str | None:
    if entry.suffix != "parquet" or entry.rows is None:
        return None
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with pq.ParquetFile(pa.OSFile(os.fsencode(folder / entry.path))) as file:
            schema, rows = file.schema_arrow, file.metadata.num_rows
    except (ValueError, OSError, pa.ArrowException) as error:
        return f"{entry.path}: cannot be read ({error}); build the dataset again"
    is_chat = "prompt" in schema.names and pa.types.is_list(schema.field("prompt").type)
    expected = row_schema("chat" if is_chat else "text")
    known = [name for name in expected.names if name in schema.names]
    wrong = [name for name in expected.names if name not in known and name not in _LATER_COLUMNS]
    wrong += [name for name in schema.names if name not in known or schema.field(name) != expected.field(name)]
    if wrong or schema.names != known:
        return f"{entry.path}: its schema differs from that of rows: {', '.join(wrong) or 'the order of its columns'}"
    return None if rows == entry.rows else f"{entry.path}: holds {rows} rows, the manifest says {entry.rows}"


def _of_manifest(manifest: Manifest, unsealed: str | None, name: str) -> Iterator[str]:
    """The contradictions within a manifest, and with the name of its folder; any other name is the user's own."""
    if unsealed:
        yield unsealed
    for path, count in Counter(entry.path for entry in manifest.files).items():
        if count > 1:
            yield f"{MANIFEST}: lists {path} {count} times"
    rows: dict[str, int] = {}
    for entry in manifest.files:
        if entry.rows is not None:
            rows[entry.suffix] = rows.get(entry.suffix, 0) + entry.rows
    for suffix, count in rows.items():
        if count != manifest.rows:
            yield f"{MANIFEST}: its .{suffix} files hold {count} rows, but its field rows says {manifest.rows}"
    if manifest.rows and not rows:
        yield f"{MANIFEST}: lists no file with rows, but its field rows says {manifest.rows}"
    expected = f"{manifest.version}-{manifest.digest8}"
    if name != expected and re.fullmatch(r"\d+\.\d+\.\d+-[0-9a-f]{8}", name):
        yield f"the folder is called {name}, but its manifest is that of {expected}; rename it"


def _unlisted(name: str) -> str:
    return f"{one_line(name)}: not in the manifest; a reader that lists files would count it"


def _added_by_hub(name: str) -> bool:
    """Whether a file is one that the Hub puts into a repository, or its client into a folder that it downloads to."""
    return name == ".gitattributes" or name.startswith(".cache/huggingface/")


def _strangers(folder: Path, listed: Collection[str]) -> Iterator[str]:
    """A sentence, sorted by name, for everything below a folder that is unlisted or a link. Links are not followed.

    What a download from the Hub adds is left out: there, the files of `snapshots` are links into `blobs`.
    """
    unread: list[OSError] = []
    places: set[str] = set()
    for place, folders, files in os.walk(folder, onerror=unread.append):
        places.update(os.path.join(place, name) for name in files)
        places.update(path for name in folders if os.path.islink(path := os.path.join(place, name)))
    for error in unread:
        yield f"{one_line(str(error.filename))}: cannot be listed ({error.strerror}); check its permissions"
    whole = os.path.realpath(folder)
    repository, snapshots = os.path.split(os.path.dirname(whole))
    for path in sorted(places):
        name, is_link = os.path.relpath(path, folder).replace(os.sep, "/"), os.path.islink(path)
        if is_link and snapshots == "snapshots":
            target = os.path.normpath(os.path.join(whole, os.path.dirname(name), os.readlink(path)))
            is_link = os.path.dirname(target) != os.path.join(repository, "blobs")
        if is_link and (name in listed or os.path.isdir(path)):
            yield f"{one_line(name)}: a symbolic link; its target is not part of the dataset"
        elif name not in listed and (is_link or not _added_by_hub(name)):
            yield _unlisted(name)
