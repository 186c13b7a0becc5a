"""Writes files that appear whole and last, moves and removes them, and holds locks, for both packages."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO


class HeldError(Exception):
    """Another process holds a lock; `path` is its file."""

    def __init__(self, path: Path) -> None:
        super().__init__(f"{path} is held by another process")
        self.path = path


@contextmanager
def atomic_file(path: Path) -> Iterator[IO[bytes]]:
    """A file that appears under its name complete and synced, or not at all. Makes the folder it is in."""
    path.parent.mkdir(parents=True, exist_ok=True)
    # The process id keeps two writers apart; a leftover of a killed one goes by `remove_leftovers`.
    aside = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        with aside.open("wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        aside.replace(path)
        sync_folder(path.parent)
    except BaseException:
        aside.unlink(missing_ok=True)
        raise


def write_atomically(path: Path, data: bytes) -> None:
    """Write a whole file, which appears complete and synced, or not at all."""
    with atomic_file(path) as file:
        file.write(data)


def move_file(source: Path, goal: Path) -> None:
    """Give a file another name on the same disk, over one that has it; the folder is made, and the move is durable."""
    goal.parent.mkdir(parents=True, exist_ok=True)
    source.replace(goal)
    sync_folder(goal.parent)


def sync_folder(folder: Path) -> None:
    """Make a rename in a folder durable, where the system can."""
    if os.name != "posix":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def remove_leftovers(folder: Path) -> None:
    """Remove what killed writers left half-written in a folder and below. Nobody else may be writing there."""
    for leftover in folder.rglob(".*.tmp"):
        leftover.unlink(missing_ok=True)


def remove_all_but(folder: Path, wanted: Collection[str]) -> None:
    """Remove every file below a folder whose relative POSIX path is not wanted, and the folders that are empty then."""
    for path in sorted(folder.rglob("*"), reverse=True):
        if path.is_dir() and not path.is_symlink():
            if not any(path.iterdir()):
                path.rmdir()
        elif path.relative_to(folder).as_posix() not in wanted:
            path.unlink()


@contextmanager
def locked(path: Path, seconds: float = 0) -> Iterator[None]:
    """Hold a lock file alone, waiting for it at most so long. Raises HeldError; a killed holder leaves no lock."""
    import filelock

    path.parent.mkdir(parents=True, exist_ok=True)
    lock = filelock.FileLock(path, timeout=seconds)
    try:
        lock.acquire()
    except filelock.Timeout:
        raise HeldError(path) from None
    try:
        yield
    finally:
        lock.release()
