"""Opens answer files, unpacks .gz and .zst, recognised by their first bytes, and cuts bytes into lines.

A file that changes while it is read is an error: what was read may come from two runs.

Bytes come in pieces of bounded size; a compressed file must end with a whole frame.

Only a line feed ends a line, because answers contain every other character that some systems take for a line end.
"""

from __future__ import annotations

import gzip
import os
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, Literal, NamedTuple

from niah_score.contract import NoRegularFileError, open_regular
from niah_score.errors import IntegrityError, ResourceError, ScoreError
from niah_score.formats.record import LineBlock
from niah_score.machine.files import FREE_BYTES as FREE_BYTES
from niah_score.machine.files import MAX_LINE as MAX_LINE
from niah_score.machine.files import MAX_RATIO as MAX_RATIO
from niah_score.machine.files import bomb, long_document, naming, reading

_CHUNK = 2**20
# How much goes into the decompressor at once: a block of 4 bytes can unpack to 128 KiB.
_ZSTD_INPUT = 4096
BOM = b"\xef\xbb\xbf"
_GZIP = b"\x1f\x8b"
_ZSTD = b"\x28\xb5\x2f\xfd"
_ZSTD_SKIPPED = b"\x2a\x4d\x18"
_NOT_READ = {
    b"BZh": "a bzip2 file",
    b"\xfd7zXZ": "an xz file",
    b"7z\xbc\xaf": "a 7z archive",
    b"ARROW1": "an Arrow file",
    b"SQLite format": "an SQLite database",
    b"\x89HDF": "an HDF5 file",
    b"%PDF": "a PDF",
}

_COPY = "its writer was killed or the copy is incomplete: get it again, or unpack what there is and score that"
# The advice if the name is to blame.
_CHECK = "check the path"
FileKind = Literal["text", "zip", "parquet"]


class FileState(NamedTuple):
    """What differs between two files, and changes when a file is written to."""

    device: int
    inode: int
    size: int
    mtime_ns: int


def state_of(file: Path | int) -> FileState:
    """The state of a file by its path or descriptor. Raises OSError."""
    status = os.stat(file)
    return FileState(status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns)


def refuse_changed(name: Path, path: Path, before: FileState) -> None:
    """Raise IntegrityError if a path now leads to another file, or to the same one with other contents.

    A removed file counts as unchanged: whoever has it open still reads its old contents.
    """
    with reading(name, path, advice=_CHECK):
        try:
            now = state_of(path)
        except FileNotFoundError:
            return
    if now != before:
        raise _changed(name)


def _changed(name: Path) -> IntegrityError:
    return IntegrityError(
        f"{name}: was changed or replaced while it was read, so answers of two runs may be mixed; nothing was scored: "
        "score it again once nothing writes to it"
    )


class Source:
    """An open answer file: its kind, the beginning of its text (`head`), and readings of its text.

    The text comes unpacked and without a byte order mark. Only one reading can be in use at a time. `path` is its name
    in messages.
    """

    def __init__(self, path: Path, file: BinaryIO, first: bytes) -> None:
        self.path = path
        self.file = file
        self.kind: FileKind = (
            "zip" if first.startswith(b"PK\x03\x04") else "parquet" if first.startswith(b"PAR1") else "text"
        )
        self.packed = is_packed(first)
        self.head = b""
        self._first = first
        self._rest: Iterator[bytes] = iter(())
        self._whole = self._moved = False
        if self.kind == "text":
            self._begin()

    @property
    def size(self) -> int:
        """The size of the file in bytes."""
        return os.fstat(self.file.fileno()).st_size

    def _begin(self) -> None:
        self.file.seek(0)
        raw = _unpacked(self.path, self.file, self._first) if self.packed else file_range(self.path, self.file, 0, None)
        head = b""
        for chunk in raw:
            head += chunk
            if len(head) >= _CHUNK:
                break
        else:
            self._whole = True
        _refuse_other_kinds(self.path, head, self.packed)
        self.head, self._rest, self._moved = head.removeprefix(BOM), raw, False

    def chunks(self) -> Iterator[bytes]:
        """The text in pieces, read from the file again if an earlier reading went beyond the head."""
        if self._moved:
            self._begin()
        yield self.head
        if not self._whole:
            self._moved = True
            yield from self._rest

    def blocks(self) -> Iterator[LineBlock]:
        """The lines of the text, as `lines` yields them."""
        return lines(self.chunks())

    def blocks_between(self, start: int, end: int) -> Iterator[LineBlock]:
        """The lines from byte `start` up to but not including byte `end` of an uncompressed file."""
        chunks = self._between(start, end)
        return lines(without_mark(chunks) if start == 0 else chunks)

    def _between(self, start: int, end: int) -> Iterator[bytes]:
        self._moved = not self._whole
        yield from file_range(self.path, self.file, start, end)


@contextmanager
def opened(path: Path, name: Path | None = None) -> Iterator[Source]:
    """Open an answer file. name: what messages call it, its path by default.

    Raises ScoreError if it is not a file, or of a kind that holds no answers, OSError if the system refuses to read it,
    IntegrityError if the file has changed by the time the block ends or raises a ScoreError.
    """
    name = name or path
    with reading(name, path, advice=_CHECK):
        try:
            before = state_of(path)
            file = open_regular(path)
        except FileNotFoundError:
            raise ScoreError(f"{name}: missing; expected a file with answers") from None
        except NoRegularFileError as error:
            raise ScoreError(f"{name}: {error.what}; expected a file with answers, or - for standard input") from None
    with file:
        with reading(name):
            first = file.read(16)
        try:
            yield Source(name, file, first)
        except ScoreError:
            _refuse_new_state(name, path, file, before)
            raise
        _refuse_new_state(name, path, file, before)


def _refuse_new_state(name: Path, path: Path, file: BinaryIO, before: FileState) -> None:
    if state_of(file.fileno()) != before:
        raise _changed(name)
    refuse_changed(name, path, before)


def is_packed(first: bytes) -> bool:
    """Whether a file that begins with these bytes is compressed."""
    return first.startswith((_GZIP, _ZSTD)) or first[1:4] == _ZSTD_SKIPPED


def _refuse_other_kinds(path: Path, head: bytes, packed: bool) -> None:
    for magic, what in _NOT_READ.items():
        if head.startswith(magic):
            raise ScoreError(f"{path}: {what}, which cannot be read; save the answers as JSONL, CSV or Parquet")
    if packed and head.startswith((b"PK\x03\x04", b"PAR1", _GZIP, _ZSTD)):
        raise ScoreError(f"{path}: a compressed file inside a compressed file; unpack it once")
    start = head[:400]
    if start.startswith((b"\xff\xfe", b"\xfe\xff", b"\0\0\xfe\xff")) or (
        len(start) > 3 and (start[0::2].count(0) * 3 > len(start) or start[1::2].count(0) * 3 > len(start))
    ):
        raise ScoreError(f"{path}: UTF-16 or binary; save the file as UTF-8 (PowerShell: Out-File -Encoding utf8)")


def file_range(path: Path, file: BinaryIO, start: int, end: int | None) -> Iterator[bytes]:
    """The bytes of an open file from `start` up to but not including `end`, in pieces."""
    with reading(path):
        file.seek(start)
        left = -1 if end is None else max(0, end - start)
        while left and (chunk := file.read(_CHUNK if left < 0 else min(_CHUNK, left))):
            left = left if left < 0 else left - len(chunk)
            yield chunk


def without_mark(chunks: Iterator[bytes]) -> Iterator[bytes]:
    """The bytes of a file without a byte order mark at its beginning."""
    yield next(chunks, b"").removeprefix(BOM)
    yield from chunks


def _unpacked(path: Path, file: BinaryIO, first: bytes) -> Iterator[bytes]:
    """The contents of a compressed file in pieces. Raises ScoreError if it is damaged or breaks off within a frame."""
    import zstandard

    try:
        packed = os.fstat(file.fileno()).st_size
        done = 0
        with naming(path):
            for chunk in pieces(file, first):
                done += len(chunk)
                if (problem := bomb(path, done, packed)) is not None:
                    raise ResourceError(problem)
                yield chunk
    except EOFError:
        raise ScoreError(f"{path}: the compressed file breaks off; {_COPY}") from None
    except (zlib.error, zstandard.ZstdError, gzip.BadGzipFile) as error:
        raise ScoreError(f"{path}: the compressed file is damaged ({error}); {_COPY}") from None


def pieces(file: BinaryIO, first: bytes) -> Iterator[bytes]:
    """The contents of an open compressed file in pieces, however large.

    Raises EOFError if it breaks off within a frame, zlib.error, BadGzipFile or ZstdError if it is damaged.
    """
    return _gzip_pieces(file) if first.startswith(_GZIP) else _zstd_pieces(file)


def _gzip_pieces(file: BinaryIO) -> Iterator[bytes]:
    with gzip.GzipFile(fileobj=file) as unzipped:
        while chunk := unzipped.read(_CHUNK):
            yield chunk


def _zstd_pieces(file: BinaryIO) -> Iterator[bytes]:
    """Frame by frame, because the library's readers take the end of the file for the end of a frame."""
    import zstandard

    unpacker = zstandard.ZstdDecompressor()
    frame = unpacker.decompressobj()
    begun = False
    while data := file.read(_ZSTD_INPUT):
        while data:
            if chunk := frame.decompress(data):
                yield chunk
            begun = not frame.eof
            data = b""
            if frame.eof:
                data = frame.unused_data
                frame = unpacker.decompressobj()
    if begun:
        raise EOFError("the last frame breaks off")


def lines(chunks: Iterable[bytes]) -> Iterator[LineBlock]:
    """Lists of lines, in order. The last line comes alone if no line feed ends it."""
    parts: list[bytes] = []
    held = 0
    for chunk in chunks:
        block: list[Any] = chunk.split(b"\n")
        last = block.pop()
        if block:
            if held:
                held += len(block[0])
                parts.append(block[0])
                block[0] = b"".join(parts) if held <= MAX_LINE else None
            parts, held = [], 0
            yield block, False
        if last:
            held += len(last)
            parts.append(last)
            if held > MAX_LINE:
                parts.clear()
    if held:
        yield [b"".join(parts) if held <= MAX_LINE else None], True


def whole(path: Path, chunks: Iterable[bytes]) -> bytes:
    """All bytes of a document. Raises ResourceError if it is too large to be parsed as a whole."""
    parts = []
    held = values = 0
    for chunk in chunks:
        held += len(chunk)
        values += chunk.count(b",") + chunk.count(b"[") + chunk.count(b"{")
        if (problem := long_document(path, held, values)) is not None:
            raise ResourceError(problem)
        parts.append(chunk)
    return b"".join(parts)
