"""Tells what the system refuses (disk, memory, permission, open files) from broken data and wrong arguments."""

from __future__ import annotations

import errno

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
