"""Writes files that appear whole and last, moves and removes them, and holds locks, for both packages."""

from __future__ import annotations

import errno
import glob
import os
import platform
import re
import shutil
import sys
import time
import zlib
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import IO, BinaryIO

from niah_score.machine.refusals import naming

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
    """A file that appears under its name complete and synced, or not at all. Makes the folder it is in.

    It is written aside, as `.NAME.HOST.tmp`, which its writer locks: what a killed writer left is written over by the
    next one of the same file. Errors of the system name the file.
    """
    make_folder(path.parent)
    aside, file = _aside(path)
    held = -1
    try:
        with naming(path, aside):
            with file:
                yield file
                file.flush()
                os.fsync(file.fileno())
                # Windows gives no new name to a file that is open.
                held = os.dup(file.fileno()) if os.name == "posix" else -1
            aside.replace(path)
            sync_folder(path.parent)
    except BaseException:
        with suppress(OSError):
            aside.unlink(missing_ok=True)
        raise
    finally:
        if held >= 0:
            with suppress(OSError):
                os.close(held)


def _aside(path: Path) -> tuple[Path, IO[bytes]]:
    """An empty file beside a path, open and, where the system has locks, locked."""
    # Machines that share a folder may not see each other's locks.
    aside = path.with_name(f".{path.name}.{_host()}.tmp")
    own = path.with_name(f".{path.name}.{os.urandom(4).hex()}.{os.getpid()}.tmp")
    if os.name != "posix":
        return own, own.open("wb")
    with naming(path, aside, own):
        file = _open_here(aside)
        try:
            # As with `locked`: who opened it before its last writer gave it its name has locked another file.
            locks = _lock(file.fileno())
            if locks and _stands_at(aside, file.fileno()):
                os.ftruncate(file.fileno(), 0)
                return aside, file
            if locks is None:
                aside.unlink(missing_ok=True)
        except BaseException:
            file.close()
            raise
        file.close()
        file = _open_here(own)
        os.ftruncate(file.fileno(), 0)
        return own, file


@cache
def _host() -> str:
    """Eight characters that tell machines apart."""
    return f"{zlib.crc32(platform.node().encode()):08x}"


def _open_here(path: Path) -> IO[bytes]:
    """A file open for writing that lies at its path: a link there is not followed but removed."""
    flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW
    try:
        return os.fdopen(os.open(path, flags, 0o666), "wb")
    except OSError as error:
        if error.errno != errno.ELOOP:
            raise
        path.unlink(missing_ok=True)
        return os.fdopen(os.open(path, flags, 0o666), "wb")


def make_folder(folder: Path) -> None:
    """Make a folder and those it is in, and make their names durable."""
    if folder.is_dir():
        return
    new = [folder, *(parent for parent in folder.parents if not parent.exists())]
    folder.mkdir(parents=True, exist_ok=True)
    for made in new:
        sync_folder(made.parent)


def write_atomically(path: Path, data: bytes) -> None:
    """Write a whole file, which appears complete and synced, or not at all."""
    with atomic_file(path) as file:
        file.write(data)


def move_file(source: Path, goal: Path) -> None:
    """Give a file another name on the same disk, over one that has it; the folder is made, and the move is durable."""
    make_folder(goal.parent)
    source.replace(goal)
    sync_folder(goal.parent)


def sync_folder(folder: Path) -> None:
    """Make a rename in a folder durable, where the system can."""
    if os.name != "posix":
        return
    with naming(folder):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def sync_file(path: Path) -> None:
    """Make what was written to a file durable, whoever wrote it."""
    with naming(path), path.open("rb+") as file:
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


def remove_folder(folder: Path) -> None:
    """Remove a folder and all that is in it; none need be there. Raises OSError, which names it."""
    try:
        shutil.rmtree(folder)
    except FileNotFoundError:
        pass
    except OSError as error:
        # What is removed by way of an open folder is named without it.
        raise OSError(error.errno, error.strerror, str(folder)) from error


def remove_aside(paths: Iterable[Path]) -> None:
    """Remove what killed writers left half-written of these files. Nobody else may be writing them."""
    for path in paths:
        for leftover in path.parent.glob(f".{glob.escape(path.name)}.*tmp"):
            if re.fullmatch(r"([0-9a-f]+\.){0,2}tmp", leftover.name.removeprefix(f".{path.name}.")):
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
    """Hold a lock file alone, waiting for it at most so long. Makes the folder it is in. Raises HeldError.

    The lock is the system's and ends with the process that holds it, however that ends. The file of a killed holder
    stays until the next one. Where a file system has no locks, everybody gets one.
    """
    held = _locked_file(path, time.monotonic() + seconds)
    try:
        yield
    finally:
        with suppress(OSError):  # Windows removes no file that is open
            path.unlink()
        # It holds nothing, so that a failing disk has nothing to say of it.
        with suppress(OSError):
            held.close()


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
            got = _lock(file.fileno()) is not False
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

    def _lock(handle: int) -> bool | None:
        import msvcrt

        try:
            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True

else:

    def _lock(handle: int) -> bool | None:
        """Whether an open file could be locked; None where there are no locks. NFS wants one open for writing."""
        import fcntl

        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            if error.errno in (errno.EAGAIN, errno.EACCES):
                return False
            if error.errno not in (errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOLCK):
                raise
            return None
        return True
