"""Runs a command from its first import to its end: interrupts, streams, expected errors and exit codes.

Both programs use the same exit codes:

| code | |
|---|---|
| 1 | a bug of ours, with its traceback |
| 2 | an argument that is wrong, or names something that does not exist or is of another kind |
| 5 | the system refuses something: disk, memory, permission, a read-only file system, too many open files |
| 130, 143, 129 | Ctrl-C, SIGTERM, a closed terminal |
"""

from __future__ import annotations

import atexit
import errno
import importlib
import os
import sys
import traceback
from collections.abc import Callable
from contextlib import suppress
from functools import wraps
from typing import NamedTuple, NoReturn, ParamSpec

from niah_score.machine.addresses import without_secrets
from niah_score.machine.interrupts import end_interrupted, raise_interrupts, was_interrupted
from niah_score.machine.refusals import NAMED_WRONGLY, is_of_memory, is_refused, reason, refusal
from niah_score.machine.standard_streams import OUTPUT, OutputError, flush_streams, prepare_streams
from niah_score.text.visible import visible

Arguments = ParamSpec("Arguments")
# Parameters that hold a text or a URL of their own, and no file, folder or address to read or write.
_NO_PLACES = ("system", "body", "set_", "model", "title", "ray_address", "url", "license_")


class Ending(NamedTuple):
    """How an expected error ends a command: the sentence on standard error, and the exit code."""

    sentence: str
    code: int


def run_command(program: str, commands: str) -> NoReturn:
    """Run a program that watches interrupts: import the module with its typer `app`, call it, and end the process.

    The interpreter's own shutdown is skipped: everything is written and synced, and the system frees vocabularies and
    arrays at once.
    """
    try:
        # First, before a file can get the number of a closed stream.
        prepare_streams()
        code = _code_of(lambda: importlib.import_module(commands).app(), program)
        try:
            flush_streams()
        except OSError as error:
            code = _report(program, error)
    except KeyboardInterrupt:
        code = 130
    if was_interrupted() and code:
        with suppress(BaseException):
            _run_exit_functions()
        end_interrupted()
    _run_exit_functions()
    os._exit(code)


def _code_of(app: Callable[[], object], program: str) -> int:
    try:
        app()
    except SystemExit as ended:
        return ended.code if isinstance(ended.code, int) else int(ended.code is not None)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # noqa: BLE001 - the end of the program
        return _report(program, error)
    return 0


def _report(program: str, error: BaseException) -> int:
    """Report an error that ends the program; returns its exit code."""
    ending = system_ending(error)
    if ending is not None:
        say(program, ending.sentence)
    elif not was_interrupted():
        with suppress(OSError):
            traceback.print_exception(error)
    return ending.code if ending is not None else 1


def _run_exit_functions() -> None:
    # These end separate processes and release the semaphores of worker processes.
    atexit._run_exitfuncs()


def reported(
    program: str, expected: Callable[[BaseException], Ending | None], advice: str = ""
) -> Callable[[Callable[Arguments, None]], Callable[Arguments, None]]:
    """Decorates a command: expected errors end it with a sentence and their exit code; bugs keep their traceback.

    expected: returns the ending of errors that the package itself raises. advice: as in `watch_interrupts`.
    """

    def decorated(command: Callable[Arguments, None]) -> Callable[Arguments, None]:
        @wraps(command)
        def run(*args: Arguments.args, **kwargs: Arguments.kwargs) -> None:
            from niah_score.machine.addresses import refuse_addresses

            try:
                raise_interrupts()
                refuse_addresses(value for name, value in kwargs.items() if name not in _NO_PLACES)
                command(*args, **kwargs)
            except BaseException as error:
                if was_interrupted():
                    # Libraries turn an interrupt into their own errors; `run_command` reports it.
                    raise SystemExit(130) from None
                if isinstance(error, KeyboardInterrupt):
                    say(program, f"interrupted; {advice}" if advice else "interrupted")
                    raise SystemExit(130) from None
                # `expected` imports modules, and there may be no file left to open.
                ours = None if isinstance(error, OSError) and is_refused(error) else expected(error)
                ending = ours or system_ending(error)
                if ending is None:
                    raise
                say(program, ending.sentence + _about_current_folder())
                raise SystemExit(ending.code) from None

        return run

    return decorated


def say(program: str, sentence: str) -> None:
    """Print a sentence on standard error, after the program's name; its addresses lose what may be secret."""
    with suppress(OSError, ValueError):
        sys.stderr.write(f"{program}: {visible(without_secrets(sentence))}\n")
        sys.stderr.flush()


def system_ending(error: BaseException) -> Ending | None:
    """How an error of the machine ends a command; None for all others."""
    if is_of_memory(error):
        return Ending("not enough memory", 5)
    if not isinstance(error, OSError | ValueError) and "too many open files" in str(error).lower():
        # As native libraries report it.
        error = OSError(errno.EMFILE, os.strerror(errno.EMFILE))
    if isinstance(error, OutputError):
        # What it is connected to is unknown, so the full disk cannot be named.
        return Ending(f"{OUTPUT}: {reason(error)}", 5)
    if isinstance(error, OSError):
        return Ending(refusal(error), 2 if error.errno in NAMED_WRONGLY else 5)
    cause = error.__cause__ or error.__context__
    if cause is not None and is_refused(cause):
        # A library failed while it handled something that the system refused.
        return system_ending(cause)
    if isinstance(error, UnicodeEncodeError) and any(_is_undecoded(word) for word in sys.argv):
        return Ending(
            f"an argument contains characters that this locale's encoding ({sys.getfilesystemencoding()}) cannot "
            "represent; set PYTHONUTF8=1, or set LC_ALL to a UTF-8 locale",
            2,
        )
    return None


def _about_current_folder() -> str:
    """What to add to an error if the current folder is gone, so that relative paths lead nowhere."""
    try:
        os.getcwd()
    except OSError:
        return " (the current folder no longer exists; change to one that does)"
    return ""


def _is_undecoded(word: str) -> bool:
    return any("\ud800" <= char <= "\udfff" for char in word)
