"""Makes folders for temporary files, and removes those that killed processes left behind."""

from __future__ import annotations

import atexit
import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

from niah_score.machine.files import HeldError, locked

_PREFIX = "niah-scratch-"
_NAME = re.compile(_PREFIX + "[a-z0-9_]{8}")  # as tempfile completes it
_LOCK, _FILES = "lock", "files"
_WAIT_SECONDS = 10
# Folders, and the process that made each: a forked child must not remove its parent's.
_mine: dict[Path, int] = {}


@contextmanager
def scratch_folder() -> Iterator[Path]:
    """An empty folder for this process alone, below the system's temporary folder ($TMPDIR); removed at the end.

    A killed process leaves its folder, without a lock or with one that is free. The next process of the same user that
    asks for a folder removes it.
    """
    _remove_abandoned()
    outer = Path(tempfile.mkdtemp(prefix=_PREFIX))
    _mine[outer] = os.getpid()
    try:
        # Another process that looks for abandoned folders may hold the lock for an instant.
        with locked(outer / _LOCK, _WAIT_SECONDS):
            inner = outer / _FILES
            # That process may have removed the folder; locking makes it again, but readable by everybody.
            inner.mkdir(mode=0o700)
            yield inner
    finally:
        _mine.pop(outer, None)
        shutil.rmtree(outer, ignore_errors=True)


def remove_scratch(folder: Path) -> None:
    """Remove a scratch folder, even that of a process that is gone."""
    shutil.rmtree(folder.parent, ignore_errors=True)


@cache
def _remove_abandoned() -> None:
    """Remove the folders of killed processes, once in this process."""
    for folder in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        try:
            if not _is_ours(folder):
                continue
            # Where there are no locks, nobody can tell whether the owner is alive.
            with locked(folder / _LOCK, sure=True):
                shutil.rmtree(folder / _FILES, ignore_errors=True)
            # The lock is given up with its file still in place, so that an owner that is only just starting can never
            # lose its own; if one has begun to use the folder, it is not empty.
            folder.rmdir()
        except (HeldError, OSError):
            continue


def _is_ours(folder: Path) -> bool:
    """Whether a process of this user made the folder for this. One that was killed may have left it without a lock."""
    if folder.is_symlink() or not _NAME.fullmatch(folder.name) or folder.stat().st_uid != _user():
        return False
    return set(os.listdir(folder)) <= {_LOCK, _FILES}


def _user() -> int:
    return os.getuid() if hasattr(os, "getuid") else 0


@atexit.register
def _remove_mine() -> None:
    """Remove the folders that threads were still using when the process ended."""
    for folder, process in list(_mine.items()):
        if process == os.getpid():
            shutil.rmtree(folder, ignore_errors=True)
