"""Makes folders for files that are needed for a while, and removes those that killed processes left behind."""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

from niah_score.machine.files import HeldError, locked

_PREFIX = "niah-scratch-"
_LOCK = "lock"
# Folders, and the process that made each: a child that was forked must not remove its parent's.
_mine: dict[Path, int] = {}


@contextmanager
def scratch_folder() -> Iterator[Path]:
    """An empty folder of this process's own, below the system's folder for temporary files ($TMPDIR); gone at the end.

    A killed process leaves its own. The next process of the same user that asks for one removes it: its lock is free.
    """
    _remove_abandoned()
    outer = Path(tempfile.mkdtemp(prefix=_PREFIX))
    _mine[outer] = os.getpid()
    try:
        with locked(outer / _LOCK):
            inner = outer / "files"
            inner.mkdir()
            yield inner
    finally:
        _mine.pop(outer, None)
        shutil.rmtree(outer, ignore_errors=True)


@cache
def _remove_abandoned() -> None:
    """Once in a process is enough."""
    for folder in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        lock = folder / _LOCK
        try:
            if folder.is_symlink() or not lock.is_file() or folder.stat().st_uid != _user():
                continue
            with locked(lock):
                shutil.rmtree(folder, ignore_errors=True)
        except (HeldError, OSError):
            continue


def _user() -> int:
    return os.getuid() if hasattr(os, "getuid") else 0


@atexit.register
def _remove_mine() -> None:
    """What threads that never ended were still writing into."""
    for folder, process in list(_mine.items()):
        if process == os.getpid():
            shutil.rmtree(folder, ignore_errors=True)
