"""A pool of processes for inputs that are worth one."""

from __future__ import annotations

import gc
import os
import threading
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from multiprocessing import get_context, parent_process
from multiprocessing.connection import wait

from niah_score.errors import ResourceError

# Starting a worker costs about a second, in which one process scores answers of some ten megabytes.
PARALLEL_BYTES = 30_000_000


@contextmanager
def workers(jobs: int, size: int) -> Iterator[ProcessPoolExecutor | None]:
    """A pool of `jobs` processes for answers of `size` bytes; None where one process is as fast.

    Raises ResourceError when a worker dies.
    """
    if jobs < 2 or size < PARALLEL_BYTES:
        yield None
        return
    # Spawned: a fork would share the threads of Arrow and polars.
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn"), initializer=_begin) as pool:
        try:
            yield pool
        except BrokenProcessPool:
            raise ResourceError(
                "a worker process died: out of memory, killed, or started from a script without "
                '`if __name__ == "__main__":`; run again with --jobs 1'
            ) from None
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def _begin() -> None:
    """One thread each, as there is a worker for every core; and nothing that a worker makes refers to itself."""
    os.environ["POLARS_MAX_THREADS"] = "1"
    gc.disable()
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    """A worker whose parent was killed would wait for work for ever."""
    parent = parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os._exit(1)
