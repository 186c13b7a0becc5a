"""Ends a command that is interrupted: by Ctrl-C, SIGTERM or a closed terminal, with one line, within two seconds.

    watch_interrupts("niah-gen")
    ...
    except KeyboardInterrupt:
        end_interrupted()

The first signal raises KeyboardInterrupt, so that what is half done is taken back. Python raises it between two of its
own steps: a long call into a library delays it, a join of a thread that writes holds the cleaning up, and an exception
in a callback is lost. So a thread of its own hears each signal the moment it comes, and ends the process outright if
it still lives when the grace is over, or at a second signal. That is safe, because a kill is: files appear whole, and
the next run removes what is left.

Imports little: it is the first that a command does.
"""

from __future__ import annotations

import os
import select
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import NoReturn

# With what ending takes, it is over within two seconds.
_GRACE_SECONDS = 1.2

_program = ""
_advice = ""
_caught: int | None = None
_raised = False
_said = threading.Lock()
_abandoned: dict[int, Callable[[], None]] = {}


def watch_interrupts(program: str, advice: str = "") -> None:
    """From now on, end this process when it is interrupted. To be called once, by a command's main thread.

    advice: what the line says after `interrupted`. Signals that the parent has switched off (nohup, jobs in the
    background of a script) stay off.
    """
    global _program, _advice
    _program, _advice = program, advice
    heard, written = os.pipe()
    os.set_blocking(written, False)
    signal.set_wakeup_fd(written, warn_on_full_buffer=False)
    threading.Thread(target=_listen, args=(heard,), daemon=True).start()
    sys.unraisablehook = _said_unless_interrupted
    for number in ending_signals():
        if signal.getsignal(number) in (signal.SIG_DFL, signal.default_int_handler):
            signal.signal(number, _interrupt)


def ending_signals() -> tuple[signal.Signals, ...]:
    """The signals that ask a command to end, as far as the system knows them."""
    names = ("SIGINT", "SIGTERM", "SIGHUP", "SIGBREAK")
    return tuple(signal.Signals[name] for name in names if name in signal.Signals.__members__)


def was_interrupted() -> bool:
    """Whether a signal asked the command to end: what fails from then on may fail because of it."""
    return _caught is not None


@contextmanager
def abandoned_by(action: Callable[[], None]) -> Iterator[None]:
    """Within the block, do something first where the process ends at once: such as killing its children."""
    _abandoned[id(action)] = action
    try:
        yield
    finally:
        _abandoned.pop(id(action), None)


def end_interrupted() -> NoReturn:
    """Say that the command was interrupted, once, and end the process: 130 for Ctrl-C, 128 + its number for others."""
    number = signal.SIGINT if _caught is None else _caught
    if _said.acquire(blocking=False):
        for action in list(_abandoned.values()):
            with suppress(Exception):
                action()
        what = "interrupted" if number == signal.SIGINT else f"ended by {signal.Signals(number).name}"
        line = f"{_program}: {what}{'; ' if _advice else ''}{_advice}\n"
        # Not through sys.stderr: another thread may be holding it.
        with suppress(OSError):
            os.write(2, line.encode())
        os._exit(128 + number)
    # Another thread is ending the process just now.
    while True:
        signal.pause() if hasattr(signal, "pause") else threading.Event().wait()


def _interrupt(number: int, frame: FrameType | None) -> None:
    global _caught, _raised
    _caught = number if _caught is None else _caught
    if not _raised:
        _raised = True
        raise KeyboardInterrupt


def _listen(heard: int) -> None:
    """In a thread: wait for signals, which Python's own handler writes to a pipe before any other code runs."""
    global _caught
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
    while _caught is None:
        _caught = _next_ending(heard)
    deadline = time.monotonic() + _GRACE_SECONDS
    while (left := deadline - time.monotonic()) > 0:
        if _readable(heard, left) and _next_ending(heard):
            break
    end_interrupted()


def _next_ending(heard: int) -> int | None:
    """The next signal, where it is one that ends the command."""
    number = os.read(heard, 1)[0]
    return number if number in ending_signals() else None


def _readable(heard: int, seconds: float) -> bool:
    if os.name == "nt":
        # Windows waits for sockets alone; a second Ctrl-C changes nothing there.
        time.sleep(seconds)
        return False
    return bool(select.select([heard], [], [], seconds)[0])


def _said_unless_interrupted(unraisable: sys.UnraisableHookArgs) -> None:
    """Leave out interrupts that Python drops, in a destructor or a callback: the process ends all the same."""
    if not (was_interrupted() and issubclass(unraisable.exc_type, KeyboardInterrupt)):
        sys.__unraisablehook__(unraisable)
