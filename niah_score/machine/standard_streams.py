"""Keeps standard streams usable: closed, full, with a reader that left, or in an encoding that lacks characters.

- A stream that was closed by the caller (`>&-`) reads or writes nothing; its number never falls to a data file.
- Characters that standard output cannot encode are written as `\\u5c0f`. The bytes of a file name that is no UTF-8 are
  written as they are, except on a terminal, so that a script finds the file that is printed.
- A reader that left (`| head -1`) has seen enough: the command does its work to the end, with its own exit code.
- An error of standard output names it; standard error has nobody to tell.
"""

from __future__ import annotations

import codecs
import io
import os
import sys
from contextlib import suppress

OUTPUT = "standard output"
_HANDLER = "niah-escaped"
# typer takes a stream in ASCII for a mistake, and writes UTF-8 to it.
_ASCII = "niah-ascii"


class OutputError(OSError):
    """Standard output takes no more, whatever it leads to."""


def prepare_streams() -> None:
    """Open what was closed, and set how standard output and error write. To be called once, before anything is said."""
    for number in (0, 1, 2):
        try:
            os.fstat(number)
        except OSError:
            _null_as(number)
    if sys.stdin is None:
        sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115 - for as long as the process lives
    codecs.register(_own_ascii)
    codecs.register_error(_HANDLER, _escaped)
    sys.stdout = _text(1, sys.stdout)
    sys.stderr = _text(2, sys.stderr)


def flush_streams() -> None:
    """Write out what is still held. Raises OutputError."""
    try:
        sys.stdout.flush()
    finally:
        with suppress(OSError, ValueError):
            sys.stderr.flush()


class _Unbroken(io.FileIO):
    """Standard output or error as a raw file."""

    def write(self, data: object, /) -> int:
        """Write some bytes. Raises OutputError, for standard output alone."""
        try:
            return super().write(data)  # type: ignore[arg-type]
        except BrokenPipeError:
            _null_as(self.fileno())
        except OSError as error:
            if self.fileno() == 1:
                # What is still held goes nowhere, so that the error is told once.
                _null_as(1)
                raise OutputError(error.errno, error.strerror, OUTPUT) from None
        return memoryview(data).nbytes  # type: ignore[arg-type]


def _text(number: int, found: object) -> io.TextIOWrapper:
    encoding = getattr(found, "encoding", None) or "utf-8"
    if codecs.lookup(encoding).name == "ascii":
        encoding = _ASCII
    terminal = os.isatty(number)
    escaped = "backslashreplace" if terminal or number == 2 else _HANDLER
    raw = _Unbroken(number, "w", closefd=False)
    return io.TextIOWrapper(
        io.BufferedWriter(raw), encoding, escaped, line_buffering=terminal or number == 2, write_through=number == 2
    )


def _own_ascii(name: str) -> codecs.CodecInfo | None:
    if name.replace("_", "-") != _ASCII:
        return None
    found = codecs.lookup("ascii")
    return codecs.CodecInfo(
        found.encode, found.decode, found.streamreader, found.streamwriter, found.incrementalencoder,
        found.incrementaldecoder, name=_ASCII,
    )  # fmt: skip


def _escaped(error: UnicodeError) -> tuple[str | bytes, int]:
    """Of what cannot be encoded: the byte that a character of a file name stands for, others with a backslash."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    out = b""
    for char in error.object[error.start : error.end]:
        code = ord(char)
        if 0xDC80 <= code <= 0xDCFF:
            out += bytes([code - 0xDC00])
        else:
            out += char.encode("ascii", "backslashreplace")
    return out, error.end


def _null_as(number: int) -> None:
    handle = os.open(os.devnull, os.O_RDWR)
    if handle != number:
        os.dup2(handle, number)
        os.close(handle)
