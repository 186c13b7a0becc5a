"""Proves a dataset folder against its manifest: every byte is where it should be, and nothing else is there."""

from __future__ import annotations

from pathlib import Path

from niah_gen.shards import entry_problem
from niah_score.contract import MANIFEST, Manifest, read_manifest


def verify(folder: Path) -> tuple[Manifest, list[str]]:
    """Re-hash every file of a dataset folder; the manifest, and a sentence for each file that is not as it says.

    Bytes are hashed, never parsed: a reader can miss damage that a hash cannot. Raises ContractError for a folder
    without a valid manifest.
    """
    manifest = read_manifest(folder)
    problems = [problem for entry in manifest.files if (problem := entry_problem(folder, entry))]
    listed = {entry.path for entry in manifest.files} | {MANIFEST}
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if name not in listed and not path.is_dir():
            problems.append(f"{name}: not in the manifest; a reader that lists files would count it")
        elif path.is_symlink():
            problems.append(f"{name}: a symbolic link; its target is not part of the dataset")
    rows: dict[str, int] = {}
    for entry in manifest.files:
        if entry.rows is not None:
            rows[entry.suffix] = rows.get(entry.suffix, 0) + entry.rows
    problems += [
        f"manifest.json: its .{suffix} files hold {count} rows, it says {manifest.rows}"
        for suffix, count in rows.items()
        if count != manifest.rows
    ]
    return manifest, problems
