"""Opens files that are files: no pipe to wait at for ever, no device without an end."""

from __future__ import annotations

import errno
import os
import stat
from io import BufferedReader
from pathlib import Path


class NoRegularFileError(OSError):
    """A path leads to a folder, a pipe, a socket or a device."""


def open_regular(path: Path) -> BufferedReader:
    """Open a file for reading. Raises OSError, and for what is no regular file NoRegularFileError, without waiting."""
    # Looked at first, as opening a device can do something to it; and again, in case something else took its place.
    _refuse_no_file(os.stat(path).st_mode, path)
    file = open(path, "rb", opener=_at_once)  # noqa: SIM115 - the caller closes it
    try:
        _refuse_no_file(os.fstat(file.fileno()).st_mode, path)
    except BaseException:
        file.close()
        raise
    return file


def read_regular(path: Path, most: int) -> bytes:
    """The bytes of a file of at most so many. Raises what `open_regular` does, and ValueError for a longer file."""
    with open_regular(path) as file:
        data = file.read(most + 1)
    if len(data) > most:
        raise ValueError(f"longer than {most:,} bytes")
    return data


def _at_once(path: str, flags: int) -> int:
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


def _refuse_no_file(mode: int, path: Path) -> None:
    if not stat.S_ISREG(mode):
        what = "a folder" if stat.S_ISDIR(mode) else "no regular file"
        raise NoRegularFileError(errno.EINVAL, f"{what}; expected a file", str(path))
