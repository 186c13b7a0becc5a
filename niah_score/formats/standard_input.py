"""Copies standard input to a temporary file, because recognising a format needs input that can be read again."""

from __future__ import annotations

import os
import stat
import sys
import tempfile
import weakref
from contextlib import ExitStack
from pathlib import Path

from niah_score.errors import ResourceError, ScoreError
from niah_score.machine.files import NO_ROOM, scratch_folder

# What users call standard input, and what messages do.
DASH = "-"
NAME = Path("standard input")

_CHUNK = 2**20


def kept(owner: object) -> Path:
    """A temporary file with the rest of standard input, deleted along with `owner`.

    Raises ScoreError if there is no input or it cannot be read, ResourceError if the disk has no room for it.
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
            raise  # about the temporary file
        raise ScoreError(f"{NAME}: cannot be read ({error.strerror}); expected a file or a pipe") from None


def _refuse_device(stream: object) -> None:
    """Refuse devices such as /dev/zero, which have no end; a terminal does."""
    try:
        number = stream.fileno()  # type: ignore[attr-defined]
    except (OSError, AttributeError):  # the stream of a test or a notebook
        return
    if stat.S_ISCHR(os.fstat(number).st_mode) and not os.isatty(number) and not _is_null(number):
        raise ScoreError(f"{NAME}: a device; expected a file or a pipe")


def _is_null(number: int) -> bool:
    try:
        return os.fstat(number).st_rdev == os.stat(os.devnull).st_rdev
    except OSError:
        return False
