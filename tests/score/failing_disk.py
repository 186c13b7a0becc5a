"""Makes the n-th operation on a folder's files fail, or kills the process at it.

Operations are those that Python makes: opening, renaming and removing files, listing, making and removing folders
(their audit events), and syncing.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from _typeshed import HasFileno

_EVENTS = {"open", "os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.listdir", "os.scandir"}
_noticed: Callable[[str, object], None] | None = None
_hooked = False


class KilledError(BaseException):
    """Raised by the operation at which the process would be killed, and by all that follow."""


class Operations:
    """The operations in a folder so far; the n-th, counted from 0, calls `then`; with `always`, so do all after it."""

    def __init__(self, folder: str, n: int, then: Callable[[], None], always: bool) -> None:
        self.done: list[str] = []
        self._folder, self._n, self._then, self._always = folder, n, then, always

    def notice(self, event: str, path: object) -> None:
        """Count an operation, and call `then` if it is due."""
        if isinstance(path, int):
            path = os.readlink(f"/proc/self/fd/{path}")
        text = os.fsdecode(path) if isinstance(path, str | bytes | os.PathLike) else ""
        # Names without a folder are of files below an open folder, as shutil.rmtree passes them.
        if self._folder in text or not os.path.isabs(text):
            self.done.append(f"{event} {os.path.basename(text)}")
            number = len(self.done) - 1
            if number == self._n or (self._always and number > self._n):
                self._then()


@contextmanager
def failing(folder: object, n: int, then: Callable[[], None], *, always: bool = False) -> Iterator[Operations]:
    """Call `then` at the n-th operation below a folder; with `always`, at all after it as well."""
    global _noticed, _hooked
    if not _hooked:
        sys.addaudithook(_hook)  # for as long as the process lives
        _hooked = True
    operations = Operations(str(folder), n, then, always)
    fsync = os.fsync

    def noticed_fsync(fd: int | HasFileno) -> None:
        operations.notice("fsync", fd)  # without syncing, which is slow: a killed process needs none

    os.fsync, _noticed = noticed_fsync, operations.notice
    try:
        yield operations
    finally:
        os.fsync, _noticed = fsync, None


def _hook(event: str, arguments: tuple[object, ...]) -> None:
    if _noticed is not None and event in _EVENTS and not (event == "open" and isinstance(arguments[0], int)):
        _noticed(event, arguments[0])


def error(number: int) -> Callable[[], None]:
    """A `then` that raises an error of the system."""

    def fail() -> None:
        raise OSError(number, os.strerror(number))

    return fail


def killed() -> None:
    """A `then` that, with `always`, leaves files as if the process had been killed."""
    raise KilledError
