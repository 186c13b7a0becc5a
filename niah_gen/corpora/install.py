"""Installs a complete staging folder as a corpus, one process at a time."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from niah_gen.corpora.declarations import DECLARATION, CorpusFile, Declaration
from niah_gen.errors import LockedError
from niah_score.contract import file_sha256
from niah_score.machine.files import (
    HeldError,
    atomic_file,
    locked,
    move_file,
    remove_all_but,
    remove_folder,
    sync_folder,
    write_atomically,
)


@contextmanager
def alone(target: Path) -> Iterator[None]:
    """Hold the lock of a corpus. Raises LockedError at once if another process does; a killed holder leaves no lock."""
    with ExitStack() as stack:
        try:
            stack.enter_context(locked(target.with_name(f".{target.name}.lock")))
        except HeldError as error:
            raise LockedError(
                f"{target}: another process is installing it ({error.path} is held); wait for it to end"
            ) from None
        yield


def lacking(folder: Path, pins: Declaration) -> list[CorpusFile]:
    """The files that are missing from a folder, or damaged in it."""
    return [file for file in pins.files if not is_intact(folder / file.path, file)]


def is_intact(path: Path, file: CorpusFile) -> bool:
    return path.is_file() and file_sha256(path) == file.sha256


def holds(path: Path, data: bytes) -> bool:
    return path.is_file() and path.read_bytes() == data


def install(staging: Path, target: Path, files: Sequence[CorpusFile], toml: bytes) -> None:
    """Give a complete staging folder its name, or move its files over the damaged ones of an existing corpus."""
    write_atomically(staging / DECLARATION, toml)
    if target.exists():
        # Not the whole folder: the user may keep other files in it.
        for path in (*(file.path for file in files), DECLARATION):
            move_file(staging / path, target / path)
        remove_folder(staging)
    else:
        remove_all_but(staging, {DECLARATION, *(file.path for file in files)})
        staging.rename(target)
    sync_folder(target.parent)


def copy_checked(path: Path, target: Path) -> str:
    """Copy a file; returns the sha256 of the copy."""
    with path.open("rb") as file, atomic_file(target) as copy:
        shutil.copyfileobj(file, copy)
    return file_sha256(target)
