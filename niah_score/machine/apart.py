"""Runs a function in a separate process, so that a library that crashes ends that process and not the program.

    for item in items_apart(read_damaged, "answers.parquet", crashed=ScoreError):
        ...

The function is a generator of bytes at the top of a module; its arguments are JSON values. A process serves one call at
a time and is kept for the next one, because starting one takes a third of a second. Nothing that comes back is
unpickled: a library may write anything into the memory of its process before it crashes.

The process ends with its parent, because that closes the pipe from which the process reads its calls.
"""

from __future__ import annotations

import atexit
import importlib
import json
import os
import struct
import subprocess
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

from niah_score.machine.run import abandoned_by

_HEAD = struct.Struct(">cQ")
_CALL, _ITEM, _END, _FAILED = b"c", b"i", b"e", b"f"
_MAX_BYTES = 2**32
# Modules are found where the parent finds them, whatever is in the folder where the program was started.
_START = "import json, sys; sys.path[:] = json.loads(sys.argv[1]); from niah_score.machine.apart import serve; serve()"


def items_apart(
    function: Callable[..., Iterator[bytes]], /, *arguments: object, crashed: Callable[[str], Exception]
) -> Iterator[bytes]:
    """What a generator yields in a separate process.

    crashed: makes the error for a process that ended before its generator did, from how it ended. Raises RuntimeError
    with the other traceback if the generator raises: it must catch expected errors and yield them as bytes.
    """
    call = json.dumps([function.__module__, function.__qualname__, arguments]).encode()
    while True:
        kept = _idle_process()
        apart = kept or _Apart()
        begun = served = False
        try:
            with abandoned_by(apart.kill):
                for item in apart.items(call):
                    begun = True
                    yield item
            served = True
        except EOFError:
            # A kept process may have been killed meanwhile; if it crashed instead, a new one crashes again.
            if begun or kept is None:
                raise crashed(apart.ending()) from None
        finally:
            if served:
                _idle.append(apart)
            else:
                apart.end()
        if served:
            return


class _Apart:
    """One process, and the pipes to and from it."""

    def __init__(self) -> None:
        self.owner = os.getpid()
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-c", _START, json.dumps(sys.path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            # What a library prints before it crashes is not for users; the parent handles Ctrl-C.
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )

    def items(self, call: bytes) -> Iterator[bytes]:
        """The items of one call. Raises EOFError if the process ends first."""
        try:
            _send(self._process.stdin, _CALL, call)
        except OSError:
            raise EOFError from None
        while True:
            kind, data = _received(self._process.stdout)
            if kind == _END:
                return
            if kind != _ITEM:
                raise RuntimeError(f"in a separate process:\n{data.decode(errors='replace')}")
            yield data

    def ending(self) -> str:
        """How the process ended."""
        self._process.kill()
        code = self._process.wait()
        return f"signal {-code}" if code < 0 else f"exit code {code}"

    def kill(self) -> None:
        """Kill the process, without waiting for its end."""
        self._process.kill()

    def end(self) -> None:
        """End the process, and close the pipes."""
        self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            with suppress(OSError):
                if pipe is not None:
                    pipe.close()


_idle: list[_Apart] = []


def _idle_process() -> _Apart | None:
    """A process that waits for its next call; None if there is none. A fork does not use its parent's processes."""
    while _idle:
        apart = _idle.pop()
        if apart.owner == os.getpid():
            return apart
    return None


@atexit.register
def _end_idle() -> None:
    while apart := _idle_process():
        apart.end()


def _send(pipe: Any, kind: bytes, data: bytes) -> None:
    pipe.write(_HEAD.pack(kind, len(data)))
    pipe.write(data)
    pipe.flush()


def _received(pipe: Any) -> tuple[bytes, bytes]:
    """One message: its kind and its bytes. Raises EOFError if the other side ends before all of it has arrived."""
    head = pipe.read(_HEAD.size)
    kind, length = _HEAD.unpack(head) if len(head) == _HEAD.size else (b"", 0)
    data = pipe.read(length) if length < _MAX_BYTES else b""
    if not kind or len(data) < length:
        raise EOFError
    return kind, data


def serve() -> None:
    """In the separate process: answer calls until there are no more."""
    calls, results = _own_pipes()
    with suppress(EOFError, BrokenPipeError):
        while True:
            module, name, arguments = json.loads(_received(calls)[1])
            try:
                for item in getattr(importlib.import_module(module), name)(*arguments):
                    _send(results, _ITEM, item)
            except BrokenPipeError:
                raise
            except Exception:  # noqa: BLE001 - raised again in the parent
                _send(results, _FAILED, traceback.format_exc().encode(errors="replace"))
            else:
                _send(results, _END, b"")
    os._exit(0)


def _own_pipes() -> tuple[Any, Any]:
    """The pipes that this process was started with, moved so that nothing else in it reads or writes them."""
    with suppress(ImportError, OSError, ValueError):
        import resource

        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    calls, results = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)
    os.dup2(nothing, 1)
    return calls, results
