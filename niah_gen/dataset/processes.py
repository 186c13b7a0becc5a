"""A pool of spawned processes that say why they died and end with the one that started them."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from typing import Any

from niah_gen.errors import ResourceError


@contextmanager
def spawned(workers: int, start: Callable[..., None], arguments: tuple[Any, ...]) -> Iterator[ProcessPoolExecutor]:
    """A pool whose processes call `start(*arguments)` first; a function of a module, for it is sent by name.

    Raises ResourceError when a process dies.
    """
    import multiprocessing
    from concurrent.futures.process import BrokenProcessPool

    # Spawned, not forked: a fork would share file locks and the threads of Arrow and of the tokenizers.
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(workers, context, _begin, (start, arguments)) as pool:
        try:
            yield pool
        except BrokenProcessPool:
            raise ResourceError(
                "a worker process died: out of memory, killed, or started from a script without "
                '`if __name__ == "__main__":`; run the same command again, perhaps with fewer jobs'
            ) from None
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def _begin(start: Callable[..., None], arguments: tuple[Any, ...]) -> None:
    threading.Thread(target=_end_with_parent, daemon=True).start()
    start(*arguments)


def _end_with_parent() -> None:
    """A worker whose parent was killed would wait for work for ever."""
    import multiprocessing
    from multiprocessing.connection import wait

    parent = multiprocessing.parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os._exit(1)
