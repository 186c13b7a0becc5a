"""Ends a command that is interrupted: by Ctrl-C, SIGTERM or a closed terminal, with one line, within two seconds.

    watch_interrupts("niah-gen")      the first that a command does: a signal ends it at once
    raise_interrupts()                from now on there is something to take back: a signal raises KeyboardInterrupt
    ...
    end_interrupted()                 says the line

Python raises KeyboardInterrupt between two of its own steps: a long call into a library delays it, a join of a thread
that writes holds the cleaning up, and an exception in a callback is lost. So a thread of its own hears each signal the
moment it comes, and ends the process outright if it still lives when the grace is over, or at a second signal. That is
safe, because a kill is: files appear whole, and the next run removes what is left.

Imports little at its top: half of a command's first tenth of a second is imports.
"""

from __future__ import annotations

import os
import signal
import sys
from _thread import get_ident
from contextlib import contextmanager, suppress

# As typing has it, which takes long to import.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import FrameType
    from typing import NoReturn

# With what ending takes, it is over within two seconds.
_GRACE_SECONDS = 1.2

_program = ""
_advice = ""
_caught: int | None = None
_raising = _raised = False
_ended_by: dict[str, int] = {}
_abandoned: dict[int, Callable[[], None]] = {}


def watch_interrupts(program: str, advice: str = "") -> None:
    """From now on, end this process when it is interrupted. To be called once, by a command's main thread.

    advice: what the line says after `interrupted`. Signals that the parent has switched off (nohup, jobs in the
    background of a script) stay off.
    """
    global _program, _advice
    _program, _advice = program, advice
    for number in ending_signals():
        if signal.getsignal(number) in (signal.SIG_DFL, signal.default_int_handler):
            signal.signal(number, _interrupt)


def raise_interrupts() -> None:
    """Let the first signal raise KeyboardInterrupt, and a thread see to it that the process ends."""
    global _raising
    import threading

    if _program and not _raising:
        heard, written = os.pipe()
        os.set_blocking(written, False)
        signal.set_wakeup_fd(written, warn_on_full_buffer=False)
        threading.Thread(target=_listen, args=(heard,), daemon=True).start()
        sys.unraisablehook = _said_unless_interrupted
        _raising = True


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
    # Of two threads that come here at once, only one can set a new key.
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
    """In a thread: wait for signals, which Python's own handler writes to a pipe before any other code runs."""
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
    """The next signal, where it is one that ends the command."""
    number = os.read(heard, 1)[0]
    return number if number in ending_signals() else None


def _readable(heard: int, seconds: float) -> bool:
    if os.name == "nt":
        # Windows waits for sockets alone; a second Ctrl-C changes nothing there.
        import time

        time.sleep(seconds)
        return False
    import select

    return bool(select.select([heard], [], [], seconds)[0])


def _said_unless_interrupted(unraisable: sys.UnraisableHookArgs) -> None:
    """Leave out interrupts that Python drops, in a destructor or a callback: the process ends all the same."""
    if not (was_interrupted() and issubclass(unraisable.exc_type, KeyboardInterrupt)):
        sys.__unraisablehook__(unraisable)
