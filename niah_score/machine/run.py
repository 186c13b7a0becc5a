"""Runs a command from its first import to its end: interrupts, standard streams, expected errors and exit codes.

    watch_interrupts("niah-gen")                        the first thing: a signal ends the command at once
    run_command("niah-gen", "niah_gen.cli.commands")    prepares the streams, runs the command, ends the process

| exit code | |
|---|---|
| 1 | a bug of ours, with its traceback |
| 2 | an argument that is wrong, or names something that does not exist or is of another kind |
| 5 | the system refuses something: disk, memory, permission, a read-only file system, too many open files |
| 130, 143, 129 | Ctrl-C, SIGTERM, a closed terminal: one line, within two seconds |

An interrupt ends the process outright, which is as safe as a kill: files appear whole, temporary folders are removed at
once, and the next run removes what else is left. Python calls handlers of signals between two of its own steps, and a
long call into a library delays that; so once a command has begun, a thread hears each signal the moment it comes.

Imports little at the top: half of a command's first tenth of a second is imports.
"""

from __future__ import annotations

import io
import os
import signal
import sys
from _thread import allocate_lock
from contextlib import contextmanager, suppress

# Not imported from typing, which takes long to import.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import FrameType
    from typing import Any, NoReturn

SIGNALS = tuple(signal.Signals[name] for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))
# For what removes temporary folders when a command is interrupted.
_GRACE_SECONDS = 1.2
# Parameters that hold a text or a URL of their own, and no file, folder or address to read or write.
_NO_PLACES = ("system", "body", "set_", "model", "title", "ray_address", "url", "license_")

_program = _advice = ""
_hearing = False
_last = allocate_lock()
_abandoned: list[Callable[[], None]] = []


def watch_interrupts(program: str, advice: str = "") -> None:
    """From now on, end this process when it is interrupted. Call once, in a command's main thread.

    advice: what the line says after `interrupted`. Signals that the parent has switched off (nohup, background jobs of
    a script) stay off.
    """
    global _program, _advice
    _program, _advice = program, f"; {advice}" if advice else ""
    for number in SIGNALS:
        if signal.getsignal(number) in (signal.SIG_DFL, signal.default_int_handler):
            signal.signal(number, _end_interrupted)


def hear_interrupts() -> None:
    """Start a thread that ends the process at an interrupt, whatever the main thread is doing."""
    global _hearing
    import threading

    if _program and not _hearing:
        heard, written = os.pipe()
        os.set_blocking(written, False)
        # Python's handler in C writes the number of each signal there before any other code runs.
        signal.set_wakeup_fd(written, warn_on_full_buffer=False)
        threading.Thread(target=_listen, args=(heard,), daemon=True).start()
        _hearing = True


@contextmanager
def abandoned_by(action: Callable[[], None]) -> Iterator[None]:
    """Within the block, call `action` before the process is ended at once, for example to kill its children."""
    _abandoned.append(action)
    try:
        yield
    finally:
        _abandoned.remove(action)


def _listen(heard: int) -> None:
    while (number := os.read(heard, 1)[0]) not in SIGNALS:
        pass
    _end_interrupted(number)


def _end_interrupted(number: int, frame: FrameType | None = None) -> None:
    """Print once that the command was interrupted, and end the process: 130 for Ctrl-C, 128 + number for others."""
    import atexit
    import threading

    if not _last.acquire(blocking=False):
        return  # another thread is doing this
    for action in _abandoned:
        with suppress(Exception):
            action()
    # They remove temporary folders; one that hangs is left behind.
    cleaning = threading.Thread(target=atexit._run_exitfuncs, daemon=True)
    cleaning.start()
    cleaning.join(_GRACE_SECONDS)
    what = "interrupted" if number == signal.SIGINT else f"ended by {signal.Signals(number).name}"
    # Not through sys.stderr: another thread may be holding it.
    with suppress(OSError):
        os.write(2, f"{_program}: {what}{_advice}\n".encode())
    os._exit(128 + number)


def run_command(program: str, commands: str) -> NoReturn:
    """Run a program that watches interrupts: import the module with its typer `app`, call it, and end the process.

    The interpreter's own shutdown is skipped: everything is written and synced, and the system frees vocabularies and
    arrays at once.
    """
    import atexit
    import importlib

    code = 0
    try:
        try:
            # First, before a file can get the number of a closed stream.
            _prepare_streams()
            importlib.import_module(commands).app()
        except SystemExit as ended:
            code = ended.code if isinstance(ended.code, int) else int(ended.code is not None)
        sys.stdout.flush()
    except BaseException as error:  # noqa: BLE001 - the end of the program
        said = _said(program, error)
        code = said or 1
        if said is None:
            import traceback

            with suppress(OSError):
                traceback.print_exception(error)
    _stand_back()
    atexit._run_exitfuncs()  # they remove temporary folders
    os._exit(code)


def _stand_back() -> None:
    """Wait for the end of the process if an interrupt is ending it: what it removes and kills makes others fail."""
    if _last.locked():
        import time

        time.sleep(2 * _GRACE_SECONDS)


def _said(program: str, error: BaseException, package: str = "") -> int | None:
    """Report an expected error that ends the program; returns its exit code. None for a bug of ours."""
    from niah_score.errors import KnownError

    _stand_back()
    if isinstance(error, KnownError):
        sentence, code = str(error), error.exit_code
    elif package and isinstance(error, ModuleNotFoundError) and not str(error.name).startswith("niah_"):
        sentence, code = f"{error.name} is not installed; `pip install {package}` installs all that {program} needs", 2
    elif (ending := system_ending(error)) is not None:
        sentence, code = ending
    else:
        return None
    say(program, sentence)
    return code


def reported(program: str, package: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Decorates a command: expected errors end it with a sentence and their exit code; bugs keep their traceback.

    package: what to install if a library is missing.
    """
    from functools import wraps

    from niah_score.machine.stores import refuse_addresses

    def decorated(command: Callable[..., None]) -> Callable[..., None]:
        @wraps(command)
        def run(*args: Any, **kwargs: Any) -> None:
            try:
                hear_interrupts()
                refuse_addresses(value for name, value in kwargs.items() if name not in _NO_PLACES)
                command(*args, **kwargs)
            except BaseException as error:
                if (code := _said(program, error, package)) is None:
                    raise
                raise SystemExit(code) from None

        return run

    return decorated


def say(program: str, sentence: str) -> None:
    """Print a sentence on standard error, after the program's name; its addresses lose what may be secret."""
    try:
        from niah_score.machine.stores import without_secrets
        from niah_score.text.visible import visible

        sentence = visible(without_secrets(sentence))
    except OSError as error:  # such as too many open files: nothing unchecked is shown
        sentence = os.strerror(error.errno or 0)
    with suppress(OSError, ValueError):
        sys.stderr.write(f"{program}: {sentence}\n")


def system_ending(error: BaseException) -> tuple[str, int] | None:
    """How an error of the machine ends a command, as a sentence and an exit code; None for all others."""
    from niah_score.machine.files import NAMED_WRONGLY, is_of_memory, is_refused, refusal

    if is_of_memory(error):
        return "not enough memory, threads or open files", 5
    if isinstance(error, OSError):
        return refusal(error), 2 if error.errno in NAMED_WRONGLY else 5
    # A library may have failed while it handled something that the system refused.
    cause = error.__cause__ or error.__context__
    return system_ending(cause) if cause is not None and is_refused(cause) else None


class _Output(io.FileIO):
    """Standard output or error as a raw file."""

    def write(self, data: Any, /) -> int:
        """Write bytes. A reader that left has seen enough; errors of standard error cannot be reported.

        Raises OSError for standard output only, once.
        """
        try:
            return super().write(data)
        except OSError as error:
            os.dup2(os.open(os.devnull, os.O_WRONLY), self.fileno())
            if self.fileno() == 1 and not isinstance(error, BrokenPipeError):
                # What it is connected to is unknown, so the full disk cannot be named.
                raise OSError(f"standard output: {error.strerror}") from None
            return memoryview(data).nbytes


def _prepare_streams() -> None:
    """Open closed streams, and set how standard output and error write."""
    for number in (0, 1, 2):
        try:
            os.fstat(number)
            os.set_blocking(number, True)  # whoever shares a pipe or terminal may have changed that
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # gets the lowest free number, which is this one
    sys.stdout, sys.stderr = _text(1), _text(2)


def _text(number: int) -> io.TextIOWrapper:
    """Standard output or error, in UTF-8. In files and pipes, names of files keep bytes that are not UTF-8."""
    raw = io.BufferedWriter(_Output(number, "w", closefd=False))
    at_once = number == 2 or os.isatty(number)
    escaped = "backslashreplace" if at_once else "surrogateescape"
    return io.TextIOWrapper(raw, "utf-8", escaped, line_buffering=at_once, write_through=number == 2)
