"""Writes groups of rows in a second thread, while the next rows are made."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cached_property
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from niah_gen.dataset.arrow import Scratch

Result = TypeVar("Result")


class WriterThread:
    """A second thread that does its work in order while the next rows are made.

    Compression, hashing and syncing release the GIL, so both threads run at once.
    """

    def __init__(self, reserve: int) -> None:
        self._reserve = reserve
        self._thread = ThreadPoolExecutor(1)
        self._group: Future[None] | None = None
        # Functions that remove half-written files, by the object that has the files open.
        self.unfinished: dict[object, Callable[[BaseException], None]] = {}

    def __enter__(self) -> WriterThread:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        self._thread.shutdown(wait=True, cancel_futures=kind is not None)
        if error is not None:
            for abandon in self.unfinished.values():
                abandon(error)

    @cached_property
    def scratch(self) -> Scratch:
        """Memory for the prompts that the thread is writing."""
        from niah_gen.dataset.arrow import Scratch

        return Scratch(self._reserve)

    def then(self, work: Callable[[], Result]) -> Future[Result]:
        """Do some work after all earlier work."""
        return self._thread.submit(work)

    def write(self, work: Callable[[], None]) -> Future[None]:
        """Write a group, after waiting for the previous one: groups that wait to be written take up memory."""
        if self._group is not None:
            self._group.result()
        self._group = self.then(work)
        return self._group
