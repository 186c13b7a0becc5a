"""Functions for tests to run in a separate process: they yield, crash, print, or go on for ever."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from itertools import count


def of_lengths(lengths: Sequence[int]) -> Iterator[bytes]:
    """An item of each length."""
    for length in lengths:
        yield b"x" * length


def process_id() -> Iterator[bytes]:
    """The number of the process."""
    yield str(os.getpid()).encode()


def crash(ending: str) -> Iterator[bytes]:
    """End the process as a library does on finding itself in an impossible state."""
    yield b"before"
    if ending == "abort":
        os.abort()
    os._exit(3)


def crash_at_once(path: str, name: str, ending: str, *_: object) -> Iterator[bytes]:
    """A reader of Parquet that is ended by a signal before it has read anything."""
    yield from ()
    os.kill(os.getpid(), int(ending))


def crash_after(path: str, name: str, ending: str, *_: object) -> Iterator[bytes]:
    """A reader of Parquet that is ended by a signal once it has yielded the format."""
    yield b'"parquet"'
    os.kill(os.getpid(), int(ending))


def bug() -> Iterator[bytes]:
    """Raise an error that nobody expects."""
    yield str(1 // 0).encode()


def endless(name: str) -> Iterator[bytes]:
    """Items without end."""
    for number in count():
        yield f"{name}{number}".encode()


def noisy() -> Iterator[bytes]:
    """Write to whatever is open, and read from it."""
    print("to the output", flush=True)
    os.write(1, b"to the output as well")
    print("to the errors", file=sys.stderr, flush=True)
    yield repr(os.read(0, 10).decode()).encode()
