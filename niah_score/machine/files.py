"""Writes files atomically and durably, moves and removes them, and holds locks."""

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
# How many times in a row others may remove the folder of a lock file before it is opened.
_TRIES = 100


class HeldError(Exception):
    """Another process holds a lock; `path` is its file."""

    def __init__(self, path: Path) -> None:
        super().__init__(f"{path} is held by another process")
        self.path = path


@contextmanager
def atomic_file(path: Path) -> Iterator[IO[bytes]]:
    """A file that appears under its name complete and synced, or not at all. Makes the folder it is in.

    It is written under the name `.NAME.HOST.tmp`, which its writer locks: the next writer of the same file overwrites
    what a killed one left. Errors of the system name the file itself.
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
                # Windows cannot rename an open file.
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
    """An empty file beside a path, open and, if the system has locks, locked."""
    # Named after the machine, because machines that share a folder may not see each other's locks.
    aside = path.with_name(f".{path.name}.{_host()}.tmp")
    own = path.with_name(f".{path.name}.{os.urandom(4).hex()}.{os.getpid()}.tmp")
    if os.name != "posix":
        return own, own.open("wb")
    with naming(path, aside, own):
        file = _open_here(aside)
        try:
            # As in `_locked_file`: if its last writer renamed it after it was opened here, the lock is on another file.
            locks = _lock(file.fileno())
            if locks and _is_at(aside, file.fileno()):
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
    """Eight characters that identify this machine."""
    return f"{zlib.crc32(platform.node().encode()):08x}"


def _open_here(path: Path) -> IO[bytes]:
    """A file at a path, open for writing; a symbolic link there is not followed but removed."""
    flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW
    try:
        return os.fdopen(os.open(path, flags, 0o666), "wb")
    except OSError as error:
        if error.errno != errno.ELOOP:
            raise
        path.unlink(missing_ok=True)
        return os.fdopen(os.open(path, flags, 0o666), "wb")


def make_folder(folder: Path) -> None:
    """Make a folder and its missing parents, durably."""
    if folder.is_dir():
        return
    new = [folder, *(parent for parent in folder.parents if not parent.exists())]
    folder.mkdir(parents=True, exist_ok=True)
    for made in new:
        sync_folder(made.parent)


def write_atomically(path: Path, data: bytes) -> None:
    """Write a file that appears complete and synced, or not at all."""
    with atomic_file(path) as file:
        file.write(data)


def move_file(source: Path, goal: Path) -> None:
    """Move a file on the same disk durably, overwriting one of that name and making the folder."""
    make_folder(goal.parent)
    source.replace(goal)
    sync_folder(goal.parent)


def sync_folder(folder: Path) -> None:
    """Make renames in a folder durable, if the system can."""
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
    """What changes when a file is written to, replaced, or moved away and back: its device, inode, size and times.

    The times (ns) are its mtime and its ctime; the second cannot be set back.
    """
    about = path.stat()
    return about.st_dev, about.st_ino, about.st_size, about.st_mtime_ns, about.st_ctime_ns


def remove_leftovers(folder: Path) -> None:
    """Remove half-written files that killed writers left in a folder and below. Nobody else may be writing there."""
    for leftover in folder.rglob(".*.tmp"):
        leftover.unlink(missing_ok=True)


def remove_folder(folder: Path) -> None:
    """Remove a folder, if it exists, and everything in it. Raises OSError that names it."""
    try:
        shutil.rmtree(folder)
    except FileNotFoundError:
        pass
    except OSError as error:
        # rmtree removes files relative to an open folder, and its errors do not name that.
        raise OSError(error.errno, error.strerror, str(folder)) from error


def remove_aside(paths: Iterable[Path]) -> None:
    """Remove what killed writers of these files left half-written. Nobody else may be writing them."""
    for path in paths:
        for leftover in path.parent.glob(f".{glob.escape(path.name)}.*tmp"):
            if re.fullmatch(r"([0-9a-f]+\.){0,2}tmp", leftover.name.removeprefix(f".{path.name}.")):
                leftover.unlink(missing_ok=True)


def remove_all_but(folder: Path, wanted: Collection[str]) -> None:
    """Remove every file below a folder whose relative POSIX path is not wanted, and the folders left empty."""
    for path in sorted(folder.rglob("*"), reverse=True):
        if path.is_dir() and not path.is_symlink():
            if not any(path.iterdir()):
                path.rmdir()
        elif path.relative_to(folder).as_posix() not in wanted:
            path.unlink()


@contextmanager
def locked(path: Path, seconds: float = 0, *, sure: bool = False) -> Iterator[None]:
    """Hold a lock file exclusively, waiting for it at most `seconds`. Makes the folder it is in. Raises HeldError.

    The lock is the system's and ends with the process that holds it, however that ends. The file of a killed holder
    stays until the next one takes it. If the file system has no locks, everybody gets one, or with `sure` nobody does.
    """
    held = _locked_file(path, time.monotonic() + seconds, sure)
    try:
        yield
    finally:
        try:
            with suppress(OSError):  # Windows cannot remove an open file
                path.unlink()
        finally:
            # Nothing was written to it, so an error of a failing disk does not matter.
            with suppress(OSError):
                held.close()


def _locked_file(path: Path, deadline: float, sure: bool) -> BinaryIO:
    """A lock file, open and locked until it is closed."""
    vanished = 0
    while True:
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            file = open(path, "ab", opener=_in_place)  # noqa: SIM115 - the caller closes it
        except FileNotFoundError:
            # The last holder has just removed the folder.
            vanished += 1
            if vanished == _TRIES:
                raise
            continue
        try:
            locks = _lock(file.fileno())
            got = not sure if locks is None else locks
            # If the holder removed the file meanwhile, the lock is on a file that nobody else can open.
            if got and _is_at(path, file.fileno()):
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
    """Open what is at a path without following a link, and without waiting if it is a pipe."""
    return os.open(path, flags | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0), 0o666)


def _is_at(path: Path, handle: int) -> bool:
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
        """Whether an open file could be locked; None if there are no locks. NFS needs it to be open for writing."""
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
