"""Ends a command that is interrupted by Ctrl-C, SIGTERM or a closed terminal, with one line, within two seconds.

    watch_interrupts("niah-gen")      the first thing a command does: a signal ends it at once
    raise_interrupts()                from now on there is something to clean up: a signal raises KeyboardInterrupt
    ...
    end_interrupted()                 prints the line

Python raises KeyboardInterrupt between two of its own steps: a long call into a library delays it, joining a thread
that writes delays the clean-up, and an exception in a callback is lost. So a separate thread receives each signal the
moment it comes, and ends the process outright if it is still alive after a grace period, or at a second signal. That is
as safe as a kill: files appear whole, and the next run removes what is left.

Imports little at the top: half of a command's first tenth of a second is imports.
"""

from __future__ import annotations

import os
import signal
import sys
from _thread import get_ident
from contextlib import contextmanager, suppress

# Not imported from typing, which takes long to import.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import FrameType
    from typing import NoReturn

# Together with ending the process, this stays within two seconds.
_GRACE_SECONDS = 1.2

_program = ""
_advice = ""
_caught: int | None = None
_raising = _raised = False
_ended_by: dict[str, int] = {}
_abandoned: dict[int, Callable[[], None]] = {}


def watch_interrupts(program: str, advice: str = "") -> None:
    """From now on, end this process when it is interrupted. Call once, in a command's main thread.

    advice: what the line says after `interrupted`. Signals that the parent has switched off (nohup, background jobs of
    a script) stay off.
    """
    global _program, _advice
    _program, _advice = program, advice
    for number in ending_signals():
        if signal.getsignal(number) in (signal.SIG_DFL, signal.default_int_handler):
            signal.signal(number, _interrupt)


def raise_interrupts() -> None:
    """Let the first signal raise KeyboardInterrupt, and start a thread that makes sure that the process ends."""
    global _raising
    import threading

    if _program and not _raising:
        heard, written = os.pipe()
        os.set_blocking(written, False)
        signal.set_wakeup_fd(written, warn_on_full_buffer=False)
        threading.Thread(target=_listen, args=(heard,), daemon=True).start()
        sys.unraisablehook = _report_unless_interrupted
        _raising = True


def ending_signals() -> tuple[signal.Signals, ...]:
    """The signals of this system that ask a command to end."""
    names = ("SIGINT", "SIGTERM", "SIGHUP", "SIGBREAK")
    return tuple(signal.Signals[name] for name in names if name in signal.Signals.__members__)


def was_interrupted() -> bool:
    """Whether a signal asked the command to end: later errors may be caused by it."""
    return _caught is not None


@contextmanager
def abandoned_by(action: Callable[[], None]) -> Iterator[None]:
    """Within the block, call `action` before the process is ended at once, for example to kill its children."""
    _abandoned[id(action)] = action
    try:
        yield
    finally:
        _abandoned.pop(id(action), None)


def end_interrupted() -> NoReturn:
    """Print once that the command was interrupted, and end the process: 130 for Ctrl-C, 128 + number for others."""
    number = signal.SIGINT if _caught is None else _caught
    # If two threads get here at once, only one of them can set the key.
    ending = _ended_by.setdefault("thread", get_ident())
    if ending == get_ident():
        while _abandoned:
            with suppress(Exception):
                _abandoned.popitem()[1]()
        what = "interrupted" if number == signal.SIGINT else f"ended by {signal.Signals(number).name}"
        line = f"{_program}: {what}{'; ' if _advice else ''}{_advice}\n"
        # Not through sys.stderr: another thread may be holding it.
        with suppress(OSError):
            os.write(2, line.encode())
        os._exit(128 + number)
    import time

    while True:
        time.sleep(1)


def _interrupt(number: int, frame: FrameType | None) -> None:
    global _caught, _raised
    _caught = number if _caught is None else _caught
    if not _raising:
        end_interrupted()
    if not _raised:
        _raised = True
        raise KeyboardInterrupt


def _listen(heard: int) -> None:
    """In a thread: wait for signals, which Python's C handler writes to a pipe before any other code runs."""
    import time

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
    """The next signal, if it is one that ends the command."""
    number = os.read(heard, 1)[0]
    return number if number in ending_signals() else None


def _readable(heard: int, seconds: float) -> bool:
    if os.name == "nt":
        # Windows can wait only for sockets; a second Ctrl-C changes nothing there.
        import time

        time.sleep(seconds)
        return False
    import select

    return bool(select.select([heard], [], [], seconds)[0])


def _report_unless_interrupted(unraisable: sys.UnraisableHookArgs) -> None:
    """Ignore interrupts that Python drops, in a destructor or a callback: the process ends anyway."""
    if not (was_interrupted() and issubclass(unraisable.exc_type, KeyboardInterrupt)):
        sys.__unraisablehook__(unraisable)
