"""Compares a dataset folder with its manifest: every listed file, byte by byte, its schema and rows, and no other."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import NamedTuple

from niah_gen.dataset.complete import partial_of
from niah_score.contract import MANIFEST, FileEntry, Manifest, file_problem, read_sealed_manifest, row_schema
from niah_score.text.visible import one_line


class Hashed(NamedTuple):
    """The result of hashing the files of a folder: a sentence for each problem, and the files that are intact."""

    manifest: Manifest
    problems: list[str]
    intact: list[FileEntry]


def verify(folder: Path) -> tuple[Manifest, list[str]]:
    """Re-hash every file of a dataset folder. Returns the manifest, and a sentence for each problem.

    Bytes are hashed: a parser can miss damage that a hash cannot. Of Parquet files the footer is read too.
    Raises ContractError if the folder has no valid manifest.
    """
    hashed = hash_files(folder)
    # A path such as `.` has no name.
    partial = partial_of(Path(os.path.abspath(folder)))
    if hashed.problems and (partial / MANIFEST).is_file():
        killed = (
            f"{partial.name} holds files that a killed command had not finished moving in; run the same build again"
        )
        return hashed.manifest, [killed, *hashed.problems]
    return hashed.manifest, hashed.problems


def hash_files(folder: Path) -> Hashed:
    """As `verify`, with the files that are intact."""
    manifest, unsealed = read_sealed_manifest(folder)
    checked = [(entry, _problem(folder, entry) or _wrong_parquet(folder, entry)) for entry in manifest.files]
    problems = [problem for _, problem in checked if problem]
    listed = {entry.path for entry in manifest.files} | {MANIFEST}
    problems += _strangers(folder, listed)
    problems += [unsealed] if unsealed else []
    problems += manifest_problems(manifest)
    problems += renamed(os.path.basename(os.path.abspath(folder)), manifest)
    return Hashed(manifest, problems, [entry for entry, problem in checked if not problem])


def manifest_problems(manifest: Manifest) -> list[str]:
    """The contradictions within a manifest, whatever its files hold."""
    times = Counter(entry.path for entry in manifest.files)
    problems = [f"manifest.json: lists {name} {count} times" for name, count in times.items() if count > 1]
    rows: dict[str, int] = {}
    for entry in manifest.files:
        if entry.rows is not None:
            rows[entry.suffix] = rows.get(entry.suffix, 0) + entry.rows
    problems += [
        f"manifest.json: its .{suffix} files hold {count} rows, but its field rows says {manifest.rows}"
        for suffix, count in rows.items()
        if count != manifest.rows
    ]
    if manifest.rows and not rows:
        problems.append(f"manifest.json: lists no file with rows, but its field rows says {manifest.rows}")
    return problems


def renamed(name: str, manifest: Manifest) -> Iterator[str]:
    """A sentence if the name of a dataset's folder is that of another dataset; any other name is the user's own."""
    expected = f"{manifest.version}-{manifest.digest8}"
    if name != expected and re.fullmatch(r"\d+\.\d+\.\d+-[0-9a-f]{8}", name):
        yield f"the folder is called {name}, but its manifest is that of {expected}; rename it"


def _problem(folder: Path, entry: FileEntry) -> str | None:
    """As `file_problem`, but an unreadable file is a problem too, so that the others are still hashed."""
    try:
        return file_problem(folder, entry)
    except PermissionError as error:
        return f"{entry.path}: cannot be read ({error.strerror}); check its permissions"


# What earlier releases did not write yet.
_LATER_COLUMNS = (
    "part", "question_language", "keyword_kinds", "rejects", "decoys", "needle_token_spans", "target_token_span",
)  # fmt: skip


def _wrong_parquet(folder: Path, entry: FileEntry) -> str | None:
    """How the schema or the number of rows of an intact Parquet file differs from what it should be."""
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


def added_by_hub(name: str) -> bool:
    """Whether a file is one that the Hub puts into a repository, or its client into a folder that it downloads to."""
    return name == ".gitattributes" or name.startswith(".cache/huggingface/")


def _in_hub_cache(folder: str, link: str) -> bool:
    """Whether a link is as in the cache of the Hub's client, where the files of `snapshots` are links into `blobs`."""
    repository, snapshots = os.path.split(os.path.dirname(folder))
    target = os.path.normpath(os.path.join(os.path.dirname(link), os.readlink(link)))
    return snapshots == "snapshots" and os.path.dirname(target) == os.path.join(repository, "blobs")


def _strangers(folder: Path, listed: Collection[str]) -> Iterator[str]:
    """A sentence, sorted by name, for everything below a folder that is unlisted or a link. Links are not followed.

    What a download from the Hub adds is left out.
    """
    unread: list[OSError] = []
    whole = os.path.realpath(folder)
    names: set[str] = set()
    links: set[str] = set()
    for place, folders, files in os.walk(folder, onerror=unread.append):
        below = os.path.relpath(place, folder)
        for name in (*folders, *files):
            path = name if below == "." else f"{below}/{name}".replace(os.sep, "/")
            if os.path.islink(os.path.join(place, name)):
                links.add(path)
            elif name in folders:
                continue
            names.add(path)
    for error in unread:
        yield f"{one_line(str(error.filename))}: cannot be listed ({error.strerror}); check its permissions"
    for name in sorted(names):
        if name in links and _in_hub_cache(whole, os.path.join(whole, name)):
            links.remove(name)
        if name in links and (name in listed or (folder / name).is_dir()):
            yield f"{one_line(name)}: a symbolic link; its target is not part of the dataset"
        elif name not in listed and (name in links or not added_by_hub(name)):
            yield f"{one_line(name)}: not in the manifest; a reader that lists files would count it"
