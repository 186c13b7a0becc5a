"""Runs functions in worker processes, which end with the process that started them and whose death is an error.

    with processes(2, start=prepare, arguments=(recipe,), raising=ResourceError) as workers:
        futures = [workers.submit(work, number) for number in range(8)]

Each worker is a new interpreter: a fork would share file locks and the threads of Arrow, polars and the tokenizers. Its
two pipes are its own and end with it, so that nobody waits for the other half of an answer, as the standard library's
ProcessPoolExecutor does for ever if a worker is killed while it sends. Functions are sent by name and must be at the
top of modules.
"""

from __future__ import annotations

import os
import pickle
import sys
import traceback
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, suppress
from queue import LifoQueue, SimpleQueue
from subprocess import PIPE, Popen
from threading import Thread
from typing import IO, Any, TypeVar

from niah_score.machine.run import abandoned_by

Result = TypeVar("Result")

_PROGRAM = "import sys; sys.path[:] = sys.argv[1:]; from niah_score.machine.processes import _work; _work()"


class _Workers(ThreadPoolExecutor):
    """Worker processes as an executor: a call waits in a thread for a process and for its answer."""

    def __init__(self, jobs: int, start: Callable[..., object] | None, arguments: tuple[Any, ...]) -> None:
        super().__init__(jobs)
        self._start, self._arguments = start, arguments
        command = [sys.executable, "-c", _PROGRAM, *sys.path]
        # In groups of their own, so that a terminal's signals reach only the parent, which ends them.
        self.processes: list[Any] = [Popen(command, stdin=PIPE, stdout=PIPE, process_group=0) for _ in range(jobs)]
        # Each with whether it has to be prepared.
        self._idle = LifoQueue[tuple[Any, bool]]()
        for process in self.processes:
            self._idle.put((process, start is not None))

    def submit(self, function: Callable[..., Result], /, *args: Any, **kwargs: Any) -> Future[Result]:
        """Run a function in a worker. The future raises what the function raises, and BrokenProcessPool."""
        return super().submit(self._call, function, args, kwargs)

    def _call(self, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        process, is_new = self._idle.get()
        try:
            if is_new:
                _ask(process, self._start, self._arguments, {})
            is_new = False
            return _ask(process, function, args, kwargs)
        except BrokenProcessPool:
            self.kill()  # so that the command need not wait for other calls
            raise
        finally:
            self._idle.put((process, is_new))

    def kill(self) -> None:
        """Kill all processes, which ends all calls."""
        for process in self.processes:
            process.kill()


def _ask(process: Any, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """What a process answers to a call. Raises what the function raises, and BrokenProcessPool if the process dies."""
    call = pickle.dumps((function, args, kwargs))
    try:
        pickle.dump(call, process.stdin)
        process.stdin.flush()
        answer = pickle.load(process.stdout)
    except (OSError, EOFError, pickle.UnpicklingError):
        raise BrokenProcessPool from None
    result, error, trace = pickle.loads(answer)
    if error is not None:
        raise error from RuntimeError(trace)
    return result


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
    workers = _Workers(jobs, start, arguments)
    try:
        with abandoned_by(workers.kill):
            yield workers
    except BrokenProcessPool:
        raise raising(
            "a worker process died: out of memory, or killed; run the same command again, perhaps with fewer jobs"
        ) from None
    finally:
        workers.kill()
        workers.shutdown(cancel_futures=True)
        for process in workers.processes:
            with process, suppress(OSError):  # a dead one reads no more
                process.stdin.close()


def _work() -> None:
    """In a worker: answer the calls that come through standard input, until it ends."""
    calls, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)
    received = SimpleQueue[bytes]()
    Thread(target=_receive, args=(calls, received), daemon=True).start()
    while True:
        pickle.dump(_answer(received.get()), answers)
        answers.flush()


def _receive(calls: IO[bytes], received: SimpleQueue[bytes]) -> None:
    """Pass calls on; once the parent is gone, end the process, whatever it is doing."""
    with suppress(EOFError, pickle.UnpicklingError):
        while True:
            received.put(pickle.load(calls))
    os._exit(1)


def _answer(call: bytes) -> bytes:
    try:
        function, args, kwargs = pickle.loads(call)
        return pickle.dumps((function(*args, **kwargs), None, ""))
    except BaseException as error:  # noqa: BLE001 - raised again in the parent; Rust's panics are no Exceptions
        trace = traceback.format_exc()
        try:
            return pickle.dumps((None, error, trace))
        except Exception:  # noqa: BLE001 - not every error can be sent
            return pickle.dumps((None, RuntimeError(f"{type(error).__name__}: {error}"), trace))
