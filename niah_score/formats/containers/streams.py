"""Files in, their bytes out in pieces of bounded size: .gz and .zst by their first bytes, whole frames only.

Lines end at a line feed alone, for answers hold every other character that some systems take for one.
"""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO, Literal, NamedTuple

from niah_score.errors import ResourceError, ScoreError

MAX_LINE = 256 * 2**20
MAX_RATIO = 1000
# What may come of a small file however well it is compressed.
FREE_BYTES = 64 * 2**20
MAX_DOCUMENT = 2 * 2**30

_CHUNK = 2**20
# A block of 4 bytes can stand for 128 KiB: this much goes into the decompressor at once.
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

Kind = Literal["text", "zip", "parquet"]
# Lines without their line feed, as bytes, None for one that is too long; and whether none ends the last of them.
Batch = tuple[list[Any], bool]


class Opened(NamedTuple):
    """An open file: what it is, and for text its bytes, unpacked, without a byte order mark."""

    kind: Kind
    packed: bool
    head: bytes
    chunks: Iterator[bytes]


def opened(path: Path) -> Opened:
    """Open an answer file. Raises ScoreError if it cannot be read, or is of a kind that holds no answers."""
    try:
        if not path.is_file():
            what = "a folder" if path.is_dir() else "no regular file" if path.exists() else "missing"
            raise ScoreError(f"{path}: {what}; expected a file with answers")
        with path.open("rb") as file:
            first = file.read(16)
    except OSError as error:
        raise ScoreError(f"{path}: cannot be read ({error.strerror}); check its rights") from None
    if first.startswith(b"PK\x03\x04"):
        return Opened("zip", False, first, iter(()))
    if first.startswith(b"PAR1"):
        return Opened("parquet", False, first, iter(()))
    packed = is_packed(first)
    chunks = unpacked(path, first) if packed else file_range(path, 0, None)
    head = b""
    for chunk in chunks:
        head += chunk
        if len(head) >= _CHUNK:
            break
    _refuse_other_kinds(path, head, packed)
    head = head.removeprefix(BOM)
    return Opened("text", packed, head, chain([head], chunks))


def is_packed(first: bytes) -> bool:
    """Whether a file that begins with these bytes is compressed."""
    return first.startswith((_GZIP, _ZSTD)) or first[1:4] == _ZSTD_SKIPPED


def _refuse_other_kinds(path: Path, head: bytes, packed: bool) -> None:
    for magic, what in _NOT_READ.items():
        if head.startswith(magic):
            raise ScoreError(f"{path}: {what}, which is not read; save the answers as JSONL, CSV or Parquet")
    if packed and head.startswith((b"PK\x03\x04", b"PAR1", _GZIP, _ZSTD)):
        raise ScoreError(f"{path}: a compressed file inside a compressed file; unpack it once")
    start = head[:400]
    if start.startswith((b"\xff\xfe", b"\xfe\xff", b"\0\0\xfe\xff")) or (
        len(start) > 3 and (start[0::2].count(0) * 3 > len(start) or start[1::2].count(0) * 3 > len(start))
    ):
        raise ScoreError(f"{path}: UTF-16 or binary; save the file as UTF-8 (PowerShell: Out-File -Encoding utf8)")


def file_range(path: Path, start: int, end: int | None) -> Iterator[bytes]:
    """The bytes of a file from `start` to before `end`, in pieces."""
    try:
        with path.open("rb") as file:
            file.seek(start)
            left = -1 if end is None else max(0, end - start)
            while left and (chunk := file.read(_CHUNK if left < 0 else min(_CHUNK, left))):
                left = left if left < 0 else left - len(chunk)
                yield chunk
    except OSError as error:
        raise ScoreError(f"{path}: cannot be read ({error.strerror})") from None


def without_mark(chunks: Iterator[bytes]) -> Iterator[bytes]:
    """The bytes of a file without the byte order mark that it may begin with."""
    yield next(chunks, b"").removeprefix(BOM)
    yield from chunks


def unpacked(path: Path, first: bytes) -> Iterator[bytes]:
    """What a compressed file holds, in pieces. Raises ScoreError if it is damaged, or breaks off within a frame."""
    import zstandard

    try:
        packed = path.stat().st_size
        done = 0
        with path.open("rb") as file:
            for chunk in pieces(file, first):
                done += len(chunk)
                if done > FREE_BYTES and done > MAX_RATIO * packed:
                    raise ResourceError(
                        f"{path}: unpacks to more than {MAX_RATIO} times its {packed:,} bytes, as decompression bombs "
                        "do; if you trust it, unpack it first"
                    )
                yield chunk
    except EOFError:
        raise ScoreError(f"{path}: the compressed file breaks off; {_COPY}") from None
    except (zlib.error, zstandard.ZstdError, gzip.BadGzipFile) as error:
        raise ScoreError(f"{path}: the compressed file is damaged ({error}); {_COPY}") from None
    except OSError as error:
        raise ScoreError(f"{path}: cannot be read ({error.strerror})") from None


_COPY = "its writer was killed or the copy is incomplete: get it again, or unpack what there is and score that"


def pieces(file: BinaryIO, first: bytes) -> Iterator[bytes]:
    """What an open compressed file holds, however much that is, in pieces.

    Raises EOFError if it breaks off within a frame, zlib.error, BadGzipFile or ZstdError if it is damaged.
    """
    return _gzip_pieces(file) if first.startswith(_GZIP) else _zstd_pieces(file)


def _gzip_pieces(file: BinaryIO) -> Iterator[bytes]:
    with gzip.GzipFile(fileobj=file) as unzipped:
        while chunk := unzipped.read(_CHUNK):
            yield chunk


def _zstd_pieces(file: BinaryIO) -> Iterator[bytes]:
    """By hand, as the library's readers take the end of the file for the end of a frame."""
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


def lines(chunks: Iterable[bytes]) -> Iterator[Batch]:
    """Lines in lists, in order. The last one comes alone if no line feed ends it."""
    parts: list[bytes] = []
    held = 0
    for chunk in chunks:
        found: list[Any] = chunk.split(b"\n")
        last = found.pop()
        if found:
            if held:
                held += len(found[0])
                parts.append(found[0])
                found[0] = b"".join(parts) if held <= MAX_LINE else None
            parts, held = [], 0
            yield found, False
        if last:
            held += len(last)
            parts.append(last)
            if held > MAX_LINE:
                parts.clear()
    if held:
        yield [b"".join(parts) if held <= MAX_LINE else None], True


def whole(path: Path, chunks: Iterable[bytes]) -> bytes:
    """All bytes of a document. Raises ResourceError beyond 2 GiB."""
    parts = []
    held = 0
    for chunk in chunks:
        held += len(chunk)
        if held > MAX_DOCUMENT:
            raise ResourceError(
                f"{path}: a JSON document of more than {MAX_DOCUMENT:,} bytes; write it as JSONL, a record a line"
            )
        parts.append(chunk)
    return b"".join(parts)
