"""Tells what the system refuses from broken data and wrong arguments, and says it: which file, why, what to do."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

# What may be too small: the disk, what a user may have of it, a file's size.
NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)

_ADVICE = {
    errno.EDQUOT: "your quota on that disk is used up; remove what you no longer need, or choose another folder",
    errno.EFBIG: "files of this size are not allowed there (ulimit -f, or the file system); choose another folder",
    errno.EROFS: "choose a folder on a disk that can be written to",
    errno.EACCES: "look at its rights, or choose another place",
    errno.EPERM: "look at its rights, or choose another place",
    errno.EIO: "the disk, or the network that it is reached through, fails: check it, then run the same command again",
    errno.ESTALE: "the network disk went away; once it is back, run the same command again",
    errno.EMFILE: "allow more open files (ulimit -n), then run the same command again",
    errno.ENFILE: "close other programs, then run the same command again",
}

# What an argument is to blame for: it names something that does not exist, or is of another kind.
NAMED_WRONGLY = (
    errno.ENOENT, errno.ENOTDIR, errno.EISDIR, errno.EEXIST, errno.ENAMETOOLONG, errno.ELOOP, errno.EINVAL,
    errno.ENOTEMPTY, errno.EXDEV, errno.ENXIO, errno.ENODEV, errno.ESPIPE,
)  # fmt: skip
# What libraries say when the system gives them no memory or no thread.
_NO_MEMORY = (
    "cannot allocate memory", "failed to allocate", "unable to allocate", "memory allocation", "out of memory",
    "malloc of size", "realloc of size", "can't start new thread", "failed to map segment", "threadpoolbuilderror",
    "cannot create thread", "failed to launch worker thread", "allocation error : not enough memory",
    "resource temporarily unavailable", "memoryerror",
)  # fmt: skip


def is_refused(error: BaseException) -> bool:
    """Whether the system refused something, whatever library tells it: no reader's file is broken because of that."""
    if is_of_memory(error):
        return True
    return isinstance(error, OSError) and error.errno is not None and error.errno not in NAMED_WRONGLY


def is_of_memory(error: BaseException) -> bool:
    """Whether memory or threads ran out: in Python, or as libraries tell it (panics of Rust, what cannot be mapped)."""
    if isinstance(error, MemoryError):
        return True
    if isinstance(error, OSError) and error.errno is not None:
        return error.errno in (errno.ENOMEM, errno.EAGAIN)
    if isinstance(error, ValueError):
        return False  # it may quote what was read
    said = str(error).lower()
    return any(words in said for words in _NO_MEMORY)


@contextmanager
def naming(path: Path, *aside: Path) -> Iterator[None]:
    """Let errors of the system name a file where they name none, as those of writing to an open one, or one aside."""
    try:
        yield
    except OSError as error:
        if error.errno is None or error.filename not in (None, *map(str, aside)):
            raise
        raise OSError(error.errno, error.strerror or os.strerror(error.errno), str(path)) from error


def refusal(error: OSError, path: str | Path | None = None) -> str:
    """An error of the system as a sentence: the file (or `path`), what was refused, and what to do where that is known.

    For a full disk it says how much room is left.
    """
    names = [os.fsdecode(name) for name in (error.filename, error.filename2) if isinstance(name, str | bytes)]
    where = " -> ".join(names) or (str(path) if path is not None else "")
    said = f"{where}: {reason(error)}" if where else reason(error)
    return f"{said}; {told}" if (told := advice(error, names[-1] if names else path)) else said


def reason(error: OSError) -> str:
    """What the system says of an error; libraries put more around it."""
    return os.strerror(error.errno) if error.errno else str(error) or type(error).__name__


def advice(error: OSError, path: str | Path | None = None) -> str | None:
    """What to do about an error of the system; `path`: a file on the disk that it is about."""
    if error.errno == errno.ENOSPC:
        free = _free(Path(path)) if path is not None else None
        left = "the disk is full" if free is None else f"the disk has {free:,} bytes left"
        return f"{left}: make room, or choose a folder on another disk, then run the same command again"
    return _ADVICE.get(error.errno or 0)


def _free(path: Path) -> int | None:
    """Bytes that are free on the disk of a path, which need not exist."""
    for folder in (path, *path.absolute().parents):
        try:
            return shutil.disk_usage(folder).free
        except OSError:
            continue
    return None
