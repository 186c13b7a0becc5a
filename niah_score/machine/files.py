"""Writes files that appear whole and last, moves and removes them, and holds locks, for both packages."""

from __future__ import annotations

import errno
import os
import sys
import time
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, BinaryIO

_POLL_SECONDS = 0.05
# How often in a row the folder of a lock may be removed by others before it is opened.
_TRIES = 100


class HeldError(Exception):
    """Another process holds a lock; `path` is its file."""

    def __init__(self, path: Path) -> None:
        super().__init__(f"{path} is held by another process")
        self.path = path


@contextmanager
def atomic_file(path: Path) -> Iterator[IO[bytes]]:
    """A file that appears under its name complete and synced, or not at all. Makes the folder it is in."""
    path.parent.mkdir(parents=True, exist_ok=True)
    # The process id keeps two writers of a machine apart, and what goes before it those of two machines that share the
    # folder; a leftover of a killed one goes by `remove_leftovers`.
    aside = path.with_name(f".{path.name}.{os.urandom(4).hex()}.{os.getpid()}.tmp")
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


def sync_file(path: Path) -> None:
    """Make what was written to a file durable, whoever wrote it."""
    with path.open("rb+") as file:
        os.fsync(file.fileno())


def file_state(path: Path) -> tuple[int, ...]:
    """What changes when a file is written to, replaced, or moved away and back: where it lies, its size and its times.

    The times (ns) are those of its content and of its entry; the second cannot be set back.
    """
    about = path.stat()
    return about.st_dev, about.st_ino, about.st_size, about.st_mtime_ns, about.st_ctime_ns


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
def locked(path: Path, seconds: float = 0, *, remove: bool = False) -> Iterator[None]:
    """Hold a lock file alone, waiting for it at most so long. Makes the folder it is in. Raises HeldError.

    The lock is the system's and ends with the process that holds it, however that ends. The file stays, in nobody's
    way, unless it is to be removed with the lock. Where a file system has no locks, everybody gets one.
    """
    with _locked_file(path, time.monotonic() + seconds):
        try:
            yield
        finally:
            if remove:
                with suppress(OSError):  # Windows removes no file that is open
                    path.unlink()


def _locked_file(path: Path, deadline: float) -> BinaryIO:
    """A lock file that is held until it is closed."""
    vanished = 0
    while True:
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            file = open(path, "ab", opener=_in_place)  # noqa: SIM115 - the caller closes it
        except FileNotFoundError:
            # The last holder removed the folder just now.
            vanished += 1
            if vanished == _TRIES:
                raise
            continue
        try:
            got = _lock(file.fileno())
            # Who waited for a file that its holder removed has locked one that nobody else will find.
            if got and _stands_at(path, file.fileno()):
                return file
        except BaseException:
            file.close()
            raise
        file.close()
        if not got:
            if time.monotonic() >= deadline:
                raise HeldError(path)
            time.sleep(_POLL_SECONDS)


def _in_place(path: str, flags: int) -> int:
    """Open what lies at a path and not what a link there leads to, without waiting where it is a pipe."""
    return os.open(path, flags | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0), 0o666)


def _stands_at(path: Path, handle: int) -> bool:
    try:
        return os.path.samestat(os.fstat(handle), path.stat())
    except FileNotFoundError:
        return False


if sys.platform == "win32":

    def _lock(handle: int) -> bool:
        import msvcrt

        try:
            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True

else:

    def _lock(handle: int) -> bool:
        """Whether an open file could be locked. NFS wants one that is open for writing."""
        import fcntl

        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            if error.errno in (errno.EAGAIN, errno.EACCES):
                return False
            if error.errno not in (errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOLCK):
                raise
        return True
