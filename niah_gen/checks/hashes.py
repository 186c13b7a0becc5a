"""Compares a dataset folder with its manifest: every byte where it should be, and nothing else there."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import NamedTuple

from niah_gen.dataset.folders import PARTIAL
from niah_gen.dataset.moving import is_moving
from niah_score.contract import MANIFEST, FileEntry, Manifest, file_problem, read_sealed_manifest
from niah_score.text.visible import one_line


class Hashed(NamedTuple):
    """A folder whose files were hashed: a sentence for all that is not as the manifest says, and the files that are."""

    manifest: Manifest
    problems: list[str]
    intact: list[FileEntry]


def verify(folder: Path) -> tuple[Manifest, list[str]]:
    """Re-hash every file of a dataset folder; the manifest, and a sentence for each file that is not as it says.

    Bytes are hashed, never parsed: a reader can miss damage that a hash cannot. Raises ContractError for a folder
    without a valid manifest.
    """
    hashed = hash_files(folder)
    partial = folder.with_name(folder.name + PARTIAL)
    if hashed.problems and is_moving(partial):
        told = f"{partial.name} holds files that a command was moving in when it ended; the same build finishes that"
        return hashed.manifest, [told, *hashed.problems]
    return hashed.manifest, hashed.problems


def hash_files(folder: Path) -> Hashed:
    """`verify`, and which files are intact. Raises ContractError for a folder without a valid manifest."""
    manifest, unsealed = read_sealed_manifest(folder)
    found = [(entry, _problem(folder, entry)) for entry in manifest.files]
    problems = [problem for _, problem in found if problem]
    listed = {entry.path for entry in manifest.files} | {MANIFEST}
    problems += _strangers(folder, listed)
    problems += [unsealed] if unsealed else []
    problems += manifest_problems(manifest)
    return Hashed(manifest, problems, [entry for entry, problem in found if not problem])


def manifest_problems(manifest: Manifest) -> list[str]:
    """What does not agree within a manifest, whatever its files hold."""
    times = Counter(entry.path for entry in manifest.files)
    problems = [f"manifest.json: lists {name} {count} times" for name, count in times.items() if count > 1]
    rows: dict[str, int] = {}
    for entry in manifest.files:
        if entry.rows is not None:
            rows[entry.suffix] = rows.get(entry.suffix, 0) + entry.rows
    problems += [
        f"manifest.json: its .{suffix} files hold {count} rows, it says {manifest.rows}"
        for suffix, count in rows.items()
        if count != manifest.rows
    ]
    if manifest.rows and not rows:
        problems.append(f"manifest.json: lists no file with rows, it says {manifest.rows}")
    return problems


def _problem(folder: Path, entry: FileEntry) -> str | None:
    """`file_problem`, also for a file that may not be read: the others are hashed all the same."""
    try:
        return file_problem(folder, entry)
    except PermissionError as error:
        return f"{entry.path}: cannot be read ({error.strerror}); check its rights"


def _strangers(folder: Path, listed: Collection[str]) -> Iterator[str]:
    """A sentence for all in a folder and below that is not listed, or is a link, by name. Links are not followed."""
    unread: list[OSError] = []
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
        yield f"{one_line(str(error.filename))}: cannot be looked into ({error.strerror}); check its rights"
    for name in sorted(names):
        if name in links and (name in listed or (folder / name).is_dir()):
            yield f"{one_line(name)}: a symbolic link; its target is not part of the dataset"
        elif name not in listed:
            yield f"{one_line(name)}: not in the manifest; a reader that lists files would count it"
