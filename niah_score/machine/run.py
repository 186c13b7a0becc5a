"""Runs a command from its first import to its end: interrupts, standard streams, expected errors and exit codes.

    watch_interrupts("niah-gen")                        the first thing: a signal ends the command at once
    run_command("niah-gen", "niah_gen.cli.commands")    prepares the streams, runs the command, ends the process

| exit code | |
|---|---|
| 1 | a bug of ours, with its traceback |
| 2 | an argument that is wrong, or names something that does not exist or is of another kind |
| 5 | the system refuses something: disk, memory, permission, a read-only file system, too many open files |
| 130, 143, 129 | Ctrl-C, SIGTERM, a closed terminal: one line, within two seconds |

Once a command has begun, the first signal raises KeyboardInterrupt, so that half-done work is undone. Python raises it
between two of its own steps: a long call into a library delays it, and a callback loses it. So a thread receives each
signal the moment it comes, and ends the process outright if it is still alive after a grace period, or at a second
signal. That is as safe as a kill: files appear whole, and the next run removes what is left.

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

# Together with ending the process, this stays within two seconds.
_GRACE_SECONDS = 1.2
SIGNALS = tuple(signal.Signals[name] for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))
# Parameters that hold a text or a URL of their own, and no file, folder or address to read or write.
_NO_PLACES = ("system", "body", "set_", "model", "title", "ray_address", "url", "license_")

_program = _advice = ""
_caught: int | None = None
_raising = _raised = False
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
            signal.signal(number, _interrupt)


def raise_interrupts() -> None:
    """Let the first signal raise KeyboardInterrupt, and start a thread that makes sure that the process ends."""
    global _raising
    import threading

    if _program and not _raising:
        heard, written = os.pipe()
        os.set_blocking(written, False)
        # Python's handler in C writes the number of each signal there before any other code runs.
        signal.set_wakeup_fd(written, warn_on_full_buffer=False)
        threading.Thread(target=_listen, args=(heard,), daemon=True).start()
        # Interrupts that Python drops, in a destructor or a callback, need no report: the process ends anyway.
        sys.unraisablehook = lambda lost: None if _caught else sys.__unraisablehook__(lost)
        _raising = True


@contextmanager
def abandoned_by(action: Callable[[], None]) -> Iterator[None]:
    """Within the block, call `action` before the process is ended at once, for example to kill its children."""
    _abandoned.append(action)
    try:
        yield
    finally:
        _abandoned.remove(action)


def _interrupt(number: int, frame: FrameType | None) -> None:
    global _caught, _raised
    _caught = _caught or number
    if not _raising:
        _end_interrupted()
    if not _raised:
        _raised = True
        raise KeyboardInterrupt


def _listen(heard: int) -> None:
    """In a thread: wait for a signal, then for a second one or the end of the grace period."""
    import threading

    global _caught
    while (number := os.read(heard, 1)[0]) not in SIGNALS:
        pass
    _caught = _caught or number
    timer = threading.Timer(_GRACE_SECONDS, _end_interrupted)
    timer.daemon = True
    timer.start()
    os.read(heard, 1)
    _end_interrupted()


def _end_interrupted() -> NoReturn:
    """Print once that the command was interrupted, and end the process: 130 for Ctrl-C, 128 + number for others."""
    number = _caught or signal.SIGINT
    if _last.acquire(blocking=False):
        for action in _abandoned:
            with suppress(Exception):
                action()
        what = "interrupted" if number == signal.SIGINT else f"ended by {signal.Signals(number).name}"
        # Not through sys.stderr: another thread may be holding it.
        with suppress(OSError):
            os.write(2, f"{_program}: {what}{_advice}\n".encode())
    else:  # another thread is doing this
        import time

        time.sleep(_GRACE_SECONDS)
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
    except KeyboardInterrupt:
        code = 130
    except BaseException as error:  # noqa: BLE001 - the end of the program
        said = _said(program, error)
        code = said or 1
        if said is None and not _caught:
            import traceback

            with suppress(OSError):
                traceback.print_exception(error)
    if _caught and code:
        with suppress(BaseException):
            atexit._run_exitfuncs()
        _end_interrupted()
    atexit._run_exitfuncs()  # they remove temporary folders
    os._exit(code)


def _said(program: str, error: BaseException, package: str = "") -> int | None:
    """Report an expected error that ends the program; returns its exit code. None for a bug of ours."""
    from niah_score.errors import KnownError

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
                raise_interrupts()
                refuse_addresses(value for name, value in kwargs.items() if name not in _NO_PLACES)
                command(*args, **kwargs)
            except BaseException as error:
                if _caught or isinstance(error, KeyboardInterrupt):
                    # Libraries turn an interrupt into their own errors; `run_command` reports it.
                    raise SystemExit(130) from None
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
    import errno

    from niah_score.machine.files import NAMED_WRONGLY, is_of_memory, is_refused, refusal

    if is_of_memory(error):
        return "not enough memory", 5
    if not isinstance(error, OSError | ValueError) and "too many open files" in str(error).lower():
        # As native libraries report it.
        error = OSError(errno.EMFILE, os.strerror(errno.EMFILE))
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
    import codecs

    for number in (0, 1, 2):
        try:
            os.fstat(number)
            os.set_blocking(number, True)  # whoever shares a pipe or terminal may have changed that
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # gets the lowest free number, which is this one
    codecs.register_error("niah-escaped", _escaped)
    sys.stdout, sys.stderr = (_text(number, stream) for number, stream in ((1, sys.stdout), (2, sys.stderr)))


def _text(number: int, stream: object) -> io.TextIOWrapper:
    encoding = getattr(stream, "encoding", None) or "utf-8"
    raw = io.BufferedWriter(_Output(number, "w", closefd=False))
    at_once = number == 2 or os.isatty(number)
    escaped = "backslashreplace" if at_once else "niah-escaped"
    return io.TextIOWrapper(raw, encoding, escaped, line_buffering=at_once, write_through=number == 2)


def _escaped(error: UnicodeError) -> tuple[str | bytes, int]:
    """Encodes what the encoding cannot: the bytes of a file name that is not UTF-8, others with a backslash.

    So a script finds a printed file.
    """
    assert isinstance(error, UnicodeEncodeError)
    lost = error.object[error.start : error.end]
    shown = (
        bytes([ord(char) - 0xDC00]) if "\udc80" <= char <= "\udcff" else char.encode("ascii", "backslashreplace")
        for char in lost
    )
    return b"".join(shown), error.end
