"""Opens regular files only, so that no pipe blocks for ever and no device is read without end."""

from __future__ import annotations

import errno
import os
import stat
from io import BufferedReader
from pathlib import Path


class NoRegularFileError(OSError):
    """A path leads to a folder, pipe, socket or device; `what` says to which."""

    @property
    def what(self) -> str:
        return str(self.strerror).partition(";")[0]


def open_regular(path: Path) -> BufferedReader:
    """Open a file for reading, without blocking. Raises OSError, NoRegularFileError if it is not a regular file."""
    # Checked first because opening a device can affect it, and again in case the path was replaced in between.
    _check_regular(os.stat(path).st_mode, path)
    file = open(path, "rb", opener=_open_nonblocking)  # noqa: SIM115 - the caller closes it
    try:
        _check_regular(os.fstat(file.fileno()).st_mode, path)
    except BaseException:
        file.close()
        raise
    return file


def read_regular(path: Path, most: int) -> bytes:
    """The bytes of a file, at most `most`. Raises what `open_regular` does, and ValueError if the file is longer."""
    with open_regular(path) as file:
        data = file.read(most + 1)
    if len(data) > most:
        raise ValueError(f"longer than {most:,} bytes")
    return data


def _open_nonblocking(path: str, flags: int) -> int:
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


def _check_regular(mode: int, path: Path) -> None:
    if not stat.S_ISREG(mode):
        what = "a folder" if stat.S_ISDIR(mode) else "not a regular file"
        raise NoRegularFileError(errno.EINVAL, f"{what}; expected a file", str(path))
