"""Runs functions in worker processes, which end with the process that started them and whose death is an error.

    with processes(2, start=prepare, arguments=(recipe,), raising=ResourceError) as workers:
        futures = [workers.submit(work, number) for number in range(8)]

The workers are loky's, each a new interpreter: a fork would share file locks and the threads of Arrow, polars and the
tokenizers. Functions are sent by name and must be at the top of modules.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, suppress
from multiprocessing.process import BaseProcess
from typing import Any, TypeVar

from niah_score.machine.run import abandoned_by

Result = TypeVar("Result")


class _Workers(Executor):
    """Worker processes as an executor. They never get the signals that end a command: the parent ends them."""

    def __init__(self, pool: Executor) -> None:
        self._pool = pool

    def submit(self, function: Callable[..., Result], /, *args: Any, **kwargs: Any) -> Future[Result]:
        """Run a function in a worker. The future raises what the function raises, and BrokenProcessPool."""
        with _signals_held():  # the first call starts the workers
            sent: Future[Result] = self._pool.submit(_run, function, args, kwargs)
        return sent


@contextmanager
def processes(
    jobs: int,
    start: Callable[..., object] | None = None,
    arguments: tuple[Any, ...] = (),
    *,
    raising: Callable[[str], Exception],
) -> Iterator[Executor]:
    """`jobs` worker processes for as long as the block lasts; none is left when it ends, however it ends.

    start: called with `arguments` in each worker before its tasks are unpickled; if it raises, every task raises the
    same. raising: makes the error for a worker that died, from a sentence.
    """
    from multiprocessing import resource_tracker

    from loky import process_executor
    from loky.backend import resource_tracker as of_loky

    # loky's own asks another program, pgrep, for the workers of workers, and warns if there is none.
    process_executor.kill_process_tree = _kill
    # They release semaphores after a killed parent, and say so in warnings. Otherwise the first worker starts them, and
    # then gets signals.
    sys.warnoptions.append("ignore::UserWarning")
    with _signals_held():
        for tracker in (resource_tracker, of_loky):
            tracker.ensure_running()
    sys.warnoptions.pop()
    # With psutil installed, loky would restart a worker that uses much memory, as if it leaked.
    more = {"LOKY_MAX_MEMORY_LEAK_SIZE": "1e18"}
    pool = process_executor.ProcessPoolExecutor(
        jobs, initializer=_begin, initargs=(os.getpid(), start, arguments), env=more
    )

    def kill() -> None:
        for number in list(pool._processes or ()):
            _kill_now(number)

    try:
        with abandoned_by(kill):
            yield _Workers(pool)
    except BrokenProcessPool:
        raise raising(
            "a worker process died: out of memory, or killed; run the same command again, perhaps with fewer jobs"
        ) from None
    finally:
        kill()
        pool.shutdown(wait=True, kill_workers=True)


def _kill(worker: BaseProcess) -> None:
    if worker.pid is not None:
        _kill_now(worker.pid)
    worker.join()


def _kill_now(number: int) -> None:
    with suppress(OSError):
        os.kill(number, getattr(signal, "SIGKILL", signal.SIGTERM))


@contextmanager
def _signals_held() -> Iterator[None]:
    """Hold back Ctrl-C and SIGTERM; processes that are started meanwhile never get them."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGINT, signal.SIGTERM, signal.SIGHUP))
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


_failed_start: Exception | None = None


def _begin(parent: int, start: Callable[..., object] | None, arguments: tuple[Any, ...]) -> None:
    """In a worker: watch the parent, and prepare for tasks."""
    global _failed_start
    threading.Thread(target=_end_with, args=(parent,), daemon=True).start()
    try:
        if start is not None:
            start(*arguments)
    except Exception as error:  # noqa: BLE001 - raised again by every task
        _failed_start = error


def _end_with(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(0.2)
    os._exit(1)


def _run(function: Callable[..., Result], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Result:
    if _failed_start is not None:
        raise _failed_start
    return function(*args, **kwargs)
