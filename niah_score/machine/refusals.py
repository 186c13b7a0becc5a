"""Distinguishes what the system refuses from broken data and wrong arguments, and reports it: file, reason, advice."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from niah_score.errors import ScoreError

# Out of room: the disk is full, or the user's quota, or the limit on a file's size is reached.
NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)

_ADVICE = {
    errno.EDQUOT: "your quota on that disk is used up; remove what you no longer need, or choose another folder",
    errno.EFBIG: "files of this size are not allowed there (ulimit -f, or the file system); choose another folder",
    errno.EROFS: "choose a folder on a writable disk",
    errno.EACCES: "check its permissions, or choose another place",
    errno.EPERM: "check its permissions, or choose another place",
    errno.EIO: "the disk or its network connection is failing: check it, then run the same command again",
    errno.ESTALE: "the network disk went away; once it is back, run the same command again",
    errno.EMFILE: "allow more open files (ulimit -n), then run the same command again",
    errno.ENFILE: "close other programs, then run the same command again",
}

# The argument is to blame: it names something that does not exist, or is of another kind.
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
    """Whether the system refused something, whichever library reports it; the file being read is then not to blame."""
    if is_of_memory(error):
        return True
    return isinstance(error, OSError) and error.errno is not None and error.errno not in NAMED_WRONGLY


def is_of_memory(error: BaseException) -> bool:
    """Whether memory or threads ran out, in Python or as libraries report it (Rust panics, failed mappings)."""
    if isinstance(error, MemoryError):
        return True
    if isinstance(error, OSError) and error.errno is not None:
        return error.errno in (errno.ENOMEM, errno.EAGAIN)
    if isinstance(error, ValueError):
        return False  # it may quote what was read
    message = str(error).lower()
    return any(words in message for words in _NO_MEMORY)


@contextmanager
def naming(path: Path, *aside: Path) -> Iterator[None]:
    """Let errors of the system name a file, if they name none (as in writing to an open file) or one of `aside`."""
    try:
        yield
    except OSError as error:
        if error.errno is None or error.filename not in (None, *map(str, aside)):
            raise
        raise OSError(error.errno, error.strerror or os.strerror(error.errno), str(path)) from error


@contextmanager
def reading(name: Path, path: Path | None = None, *, advice: str = "") -> Iterator[None]:
    """Report errors of reading a file under its name. `path`: where it really is, if elsewhere.

    Raises ScoreError with the advice if the name or what it leads to is to blame; OSError if the system refuses to read
    the file, which may then be intact.
    """
    try:
        with naming(name, *(() if path is None else (path,))):
            yield
    except OSError as error:
        if is_refused(error):
            raise
        sentence = f"{name}: cannot be read ({error.strerror or error})"
        raise ScoreError(f"{sentence}; {advice}" if advice else sentence) from None


def refusal(error: OSError) -> str:
    """An error of the system as a sentence: the file, what was refused, and what to do, if that is known."""
    names = [os.fsdecode(name) for name in (error.filename, error.filename2) if isinstance(name, str | bytes)]
    sentence = f"{' -> '.join(names)}: {reason(error)}" if names else reason(error)
    return f"{sentence}; {todo}" if (todo := advice(error, names[-1] if names else None)) else sentence


def reason(error: OSError) -> str:
    """The system's words for an error, without what libraries add."""
    return os.strerror(error.errno) if error.errno else str(error) or type(error).__name__


def advice(error: OSError, path: str | Path | None = None) -> str | None:
    """What to do about an error of the system, if that is known. `path`: a file on the disk in question.

    For a full disk it says how much room is left.
    """
    if error.errno == errno.ENOSPC:
        free = _free(Path(path)) if path is not None else None
        left = "the disk is full" if free is None else f"the disk has {free:,} bytes left"
        return f"{left}: make room, or choose a folder on another disk, then run the same command again"
    return _ADVICE.get(error.errno or 0)


def _free(path: Path) -> int | None:
    """Free bytes on the disk of a path, which need not exist."""
    for folder in (path, *path.absolute().parents):
        try:
            return shutil.disk_usage(folder).free
        except OSError:
            continue
    return None
