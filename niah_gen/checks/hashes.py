"""Compares a dataset folder with its manifest: every byte where it should be, and nothing else there."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import NamedTuple

from niah_gen.dataset.folders import PARTIAL
from niah_gen.dataset.moving import is_moving
from niah_score.contract import MANIFEST, FileEntry, Manifest, file_problem, read_manifest


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
    manifest = read_manifest(folder)
    found = [(entry, file_problem(folder, entry)) for entry in manifest.files]
    problems = [problem for _, problem in found if problem]
    listed = {entry.path for entry in manifest.files} | {MANIFEST}
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if name not in listed and not path.is_dir():
            problems.append(f"{name}: not in the manifest; a reader that lists files would count it")
        elif path.is_symlink():
            problems.append(f"{name}: a symbolic link; its target is not part of the dataset")
    times = Counter(entry.path for entry in manifest.files)
    problems += [f"manifest.json: lists {name} {count} times" for name, count in times.items() if count > 1]
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
    return Hashed(manifest, problems, [entry for entry, problem in found if not problem])
