"""Keeps what comes by standard input in a temporary file, as formats are recognised in what can be read again."""

from __future__ import annotations

import os
import stat
import sys
import tempfile
import weakref
from contextlib import ExitStack
from pathlib import Path

from niah_score.errors import ResourceError, ScoreError
from niah_score.machine.refusals import NO_ROOM
from niah_score.machine.scratch import scratch_folder

# How users name it, and how messages do.
DASH = "-"
NAME = Path("standard input")

_CHUNK = 2**20


def kept(owner: object) -> Path:
    """A temporary file with all that is left of standard input, which goes with `owner`.

    Raises ScoreError where there is no input or it cannot be read, ResourceError where the disk cannot hold it.
    """
    stream = getattr(sys.stdin, "buffer", None)
    if stream is None:
        raise ScoreError(f"{NAME}: there is none; name a file with answers")
    _refuse_device(stream)
    try:
        with ExitStack() as stack:
            path = stack.enter_context(scratch_folder()) / "answers"
            with path.open("wb") as file:
                while chunk := stream.read(_CHUNK):
                    file.write(chunk)
            weakref.finalize(owner, stack.pop_all().close)
            return path
    except OSError as error:
        if error.errno in NO_ROOM:
            raise ResourceError(
                f"{NAME}: no room for it in {tempfile.gettempdir()} ({error.strerror}); name a file, or set TMPDIR to "
                "a folder with more room"
            ) from None
        if error.filename is not None:
            raise  # it is about the temporary file
        raise ScoreError(f"{NAME}: cannot be read ({error.strerror}); expected a file or a pipe") from None


def _refuse_device(stream: object) -> None:
    """Devices such as /dev/zero have no end; a terminal has."""
    try:
        number = stream.fileno()  # type: ignore[attr-defined]
    except (OSError, AttributeError):  # a test's or a notebook's own
        return
    if stat.S_ISCHR(os.fstat(number).st_mode) and not os.isatty(number) and not _is_null(number):
        raise ScoreError(f"{NAME}: a device; expected a file or a pipe")


def _is_null(number: int) -> bool:
    try:
        return os.fstat(number).st_rdev == os.stat(os.devnull).st_rdev
    except OSError:
        return False
