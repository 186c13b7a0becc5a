"""Keeps standard streams usable when they are closed, full, no longer read, or unable to encode some characters.

- A stream that the caller closed (`>&-`) reads or writes nothing; no data file ever gets its number.
- Characters that standard output cannot encode are written as `\\u5c0f`. The bytes of a file name that is not UTF-8 are
  written unchanged, except on a terminal, so that a script finds the printed file.
- A reader that left (`| head -1`) has seen enough: the command finishes its work, with its own exit code.
- Errors of standard output name it; errors of standard error cannot be reported and are ignored.
"""

from __future__ import annotations

import codecs
import io
import os
import select
import sys
from contextlib import suppress

OUTPUT = "standard output"
_HANDLER = "niah-escaped"
# typer writes UTF-8 to a stream whose encoding is called ASCII.
_ASCII = "niah-ascii"


class OutputError(OSError):
    """Standard output cannot be written to, whatever it is connected to."""


def prepare_streams() -> None:
    """Open closed streams, and set how standard output and error write. Call once, before anything is printed."""
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
    """Write out what is still buffered. Raises OutputError."""
    try:
        sys.stdout.flush()
    finally:
        with suppress(OSError, ValueError):
            sys.stderr.flush()


class _Unbroken(io.FileIO):
    """Standard output or error as a raw file."""

    def write(self, data: object, /) -> int:
        """Write bytes, waiting if the stream is non-blocking. Raises OutputError, for standard output only."""
        try:
            # Whoever shares the pipe or terminal may have made it non-blocking: None means that it is full.
            while (written := super().write(data)) is None:  # type: ignore[arg-type]
                select.select([], [self.fileno()], [])
            return written
        except BrokenPipeError:
            _null_as(self.fileno())
        except OSError as error:
            if self.fileno() == 1:
                # Buffered output is dropped, so that the error is reported only once.
                _null_as(1)
                raise OutputError(error.errno, error.strerror, OUTPUT) from None
        return memoryview(data).nbytes  # type: ignore[arg-type]


def _text(number: int, stream: object) -> io.TextIOWrapper:
    encoding = getattr(stream, "encoding", None) or "utf-8"
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
    info = codecs.lookup("ascii")
    return codecs.CodecInfo(
        info.encode, info.decode, info.streamreader, info.streamwriter, info.incrementalencoder,
        info.incrementaldecoder, name=_ASCII,
    )  # fmt: skip


def _escaped(error: UnicodeError) -> tuple[str | bytes, int]:
    """Encodes what the encoding cannot: the byte that a file name's character stands for, others with a backslash."""
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
