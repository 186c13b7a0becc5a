"""Runs functions in worker processes, which end with the process that started them and whose death is an error.

    with processes(2, start=prepare, arguments=(recipe,), raising=ResourceError) as workers:
        futures = [workers.submit(work, number) for number in range(8)]

The workers are loky's, each a new interpreter: a fork would share file locks and the threads of Arrow, polars and the
tokenizers. Functions are sent by name and must be at the top of modules. Problems that loky leaves are solved here:

- The reader of a pipe waits forever for the rest of a message whose writer was killed. A result that the system might
  not write to a pipe at once goes through a file, and so do the arguments of `start`.
- A worker would outlive a killed parent. Each one holds the reading end of a pipe that only the parent can write to,
  and exits when that pipe is closed.
- Workers are killed when the block ends. A worker that is asked to exit never does if another died holding the queue's
  lock. loky kills with `pgrep`, and fails without it; workers have no children, so a signal is enough.
- Ctrl-C and SIGTERM may reach a whole process group. Workers are started with these signals blocked, and the parent
  ends them; if it is ended at once itself, it kills them first.
- The processes that release semaphores after a killed parent would complain on its standard error.
"""

from __future__ import annotations

import os
import pickle
import signal
import sys
import tempfile
import threading
import traceback
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, suppress
from functools import partial
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

from niah_score.machine.interrupts import abandoned_by, ending_signals
from niah_score.machine.scratch import remove_scratch, scratch_folder

Result = TypeVar("Result")
Arguments = ParamSpec("Arguments")

# POSIX guarantees that writes of up to 512 bytes are atomic, Linux up to 4,096; loky adds some 200 bytes to a result.
_PIPE_BYTES = 256
_START = "start"


class Workers(Executor):
    """Worker processes as an executor: `submit` gives a future, `map` the results in order."""

    def __init__(self, pool: Executor, inbox: Connection) -> None:
        self._pool = pool
        self._inbox = inbox

    def submit(
        self, function: Callable[Arguments, Result], /, *args: Arguments.args, **kwargs: Arguments.kwargs
    ) -> Future[Result]:
        """Run a function in a worker.

        The future raises what the function raises, and BrokenProcessPool, which the block turns into a sentence.
        """
        future: Future[Result] = Future()
        with _signals_held():  # the first call starts the workers
            sent = self._pool.submit(_run, function, args, kwargs)
        sent.add_done_callback(partial(_hand_over, future))
        return future

    def told(self) -> Iterator[tuple[int, ...]]:
        """The numbers of each call of `tell` in a worker since the last time.

        Call it often: workers wait once some thousands of calls have not been received.
        """
        while self._inbox.poll():
            yield self._inbox.recv()


@contextmanager
def processes(
    jobs: int,
    start: Callable[..., object] | None = None,
    arguments: tuple[Any, ...] = (),
    *,
    raising: Callable[[str], Exception],
) -> Iterator[Workers]:
    """`jobs` worker processes for as long as the block lasts; none is left when it ends, however it ends.

    start: called with `arguments` in each worker before its tasks are unpickled; if it raises, every task raises the
    same. raising: makes the error for a worker that died, from a sentence.
    """
    from loky import process_executor
    from loky.backend.context import get_context

    process_executor.kill_process_tree = _kill
    if os.name != "nt":
        _start_trackers()
    context = get_context("loky")
    with scratch_folder() as folder:
        if start is not None:
            (folder / _START).write_bytes(pickle.dumps((start, arguments)))
        alive, parent = context.Pipe(duplex=False)
        inbox, outbox = context.Pipe(duplex=False)
        with alive, parent, inbox, outbox:
            pool = process_executor.ProcessPoolExecutor(
                jobs,
                context=context,
                initializer=_begin,
                initargs=(str(folder), alive, outbox),
                # With psutil installed, loky would restart a worker that uses much memory, as if it leaked.
                env={"LOKY_MAX_MEMORY_LEAK_SIZE": "1e18"},
            )
            try:
                with abandoned_by(partial(_abandon, pool, folder)):
                    yield Workers(pool, inbox)
            except BrokenProcessPool:
                raise raising(
                    "a worker process died: out of memory, or killed; run the same command again, perhaps with fewer "
                    "jobs"
                ) from None
            finally:
                pool.shutdown(wait=True, kill_workers=True)


def _start_trackers() -> None:
    """Start the processes that release semaphores, with the ending signals blocked and their warnings silenced.

    loky starts them with the first worker, and in Python 3.11 that unblocks SIGINT for all later workers.
    """
    from loky.backend import resource_tracker as of_loky

    warned = list(sys.warnoptions)
    sys.warnoptions.append("ignore::UserWarning")
    try:
        with _signals_held():
            resource_tracker.ensure_running()
        with _signals_held():
            of_loky.ensure_running()
    finally:
        sys.warnoptions[:] = warned


def _abandon(pool: Any, folder: Path) -> None:
    """Kill all workers without waiting, and remove the folder that they share."""
    for worker in list((pool._processes or {}).values()):
        with suppress(OSError):
            _end_now(worker)
    remove_scratch(folder)


def _kill(worker: BaseProcess) -> None:
    if worker.is_alive():
        _end_now(worker)
    worker.join()


def _end_now(worker: BaseProcess) -> None:
    if os.name == "nt":
        worker.terminate()
    elif worker.pid is not None:
        os.kill(worker.pid, signal.SIGKILL)


def tell(*numbers: int) -> None:
    """In a worker: send the parent some numbers, which it gets from `Workers.told` while the task goes on."""
    if _outbox is None:
        raise RuntimeError("tell() is for functions that run in a worker")
    _outbox.send(numbers)


# State of a worker.
_folder = Path()
_outbox: Connection | None = None
_failed_start: Exception | None = None


def _begin(folder: str, alive: Connection, outbox: Connection) -> None:
    global _folder, _outbox, _failed_start
    _folder, _outbox = Path(folder), outbox
    threading.Thread(target=_end_with_parent, args=(alive,), daemon=True).start()
    file = _folder / _START
    if file.exists():
        try:
            start, arguments = pickle.loads(file.read_bytes())  # noqa: S301 - written by the parent
            start(*arguments)
        except Exception as error:  # noqa: BLE001 - raised again by the first task
            _failed_start = error


def _end_with_parent(alive: Connection) -> None:
    with suppress(EOFError, OSError):
        alive.recv_bytes()
    remove_scratch(_folder)
    os._exit(1)


def _run(function: Callable[..., object], args: tuple[Any, ...], kwargs: dict[str, Any]) -> bytes | str:
    """In a worker: what a function returns or raises, pickled; if it is large, the path of a file with it."""
    outcome: tuple[object, Exception | None]
    try:
        if _failed_start is not None:
            raise _failed_start
        outcome = (function(*args, **kwargs), None)
    except Exception as error:  # noqa: BLE001 - raised again by the future
        error.add_note("In a worker process:\n" + "".join(traceback.format_exception(error)))
        outcome = (None, error)
    data = pickle.dumps(outcome, pickle.HIGHEST_PROTOCOL)
    if len(data) <= _PIPE_BYTES:
        return data
    handle, path = tempfile.mkstemp(dir=_folder)
    with open(handle, "wb") as file:
        file.write(data)
    return path


def _hand_over(future: Future[Any], sent: Future[bytes | str]) -> None:
    """In the parent: settle the caller's future with what a worker sent."""
    if not future.set_running_or_notify_cancel():
        return
    try:
        data = sent.result()
        if isinstance(data, str):
            path = Path(data)
            data = path.read_bytes()
            path.unlink()
        value, error = pickle.loads(data)  # noqa: S301 - written by a worker
    except BaseException as problem:  # noqa: BLE001 - raised again by the future
        future.set_exception(problem)
        return
    if error is None:
        future.set_result(value)
    else:
        future.set_exception(error)


@contextmanager
def _signals_held() -> Iterator[None]:
    """Hold back the signals that end commands; processes that are started meanwhile never get them."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, ending_signals())
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
