"""Inspect's .eval logs in, Answers and Malformed out: a zip whose members the standard library may not unpack."""

from __future__ import annotations

import struct
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from niah_score.errors import ResourceError, ScoreError
from niah_score.formats.containers.json_lines import NOT_AN_OBJECT
from niah_score.formats.containers.streams import FREE_BYTES, MAX_LINE, MAX_RATIO
from niah_score.formats.containers.strict_json import EncodingError, parse
from niah_score.formats.fields import answers_of
from niah_score.formats.harness import INSPECT_EVAL
from niah_score.formats.record import Answer, Choice, InexactError, Malformed, UnreadableError, brief

_ZSTD_METHOD = 93
_LOCAL_HEADER = struct.Struct("<4s5H3L2H")


def read(path: Path, choice: Choice) -> Iterator[Answer | Malformed]:
    """All samples of a log, in the order of the zip; `line` is the sample's number from 1."""
    with path.open("rb") as file:
        try:
            archive = zipfile.ZipFile(file)
        except (zipfile.BadZipFile, struct.error, EOFError, OSError, ValueError, NotImplementedError) as error:
            raise ScoreError(f"{path}: the zip is damaged or was never finished ({error}); get it again") from None
        # Of members of one name the last one counts, as for every reader of a zip.
        members = {info.filename: info for info in archive.infolist()}
        samples = [info for name, info in members.items() if name.startswith("samples/") and name.endswith(".json")]
        if not samples and "header.json" not in members and "_journal/start.json" not in members:
            raise ScoreError(f"{path}: a zip, but no Inspect log; unpack it and score the files in it")
        for number, info in enumerate(samples, 1):
            try:
                found = _sample(path, archive, file, info, number, choice)
            except (UnreadableError, EncodingError) as error:
                yield Malformed(number, f"{brief(info.filename)}: {error}")
            else:
                yield from found


def _sample(
    path: Path, archive: zipfile.ZipFile, file: BinaryIO, info: zipfile.ZipInfo, number: int, choice: Choice
) -> list[Answer]:
    data = _member(path, archive, file, info)
    record = parse(data)
    if not isinstance(record, dict):
        raise UnreadableError(NOT_AN_OBJECT)
    try:
        return answers_of(INSPECT_EVAL, record, number, number - 1, choice)
    except InexactError:
        return answers_of(INSPECT_EVAL, parse(data, exact=True), number, number - 1, choice)


def _member(path: Path, archive: zipfile.ZipFile, file: BinaryIO, info: zipfile.ZipInfo) -> bytes:
    """A member's bytes. Raises UnreadableError if they are not what the zip says, ResourceError for a bomb."""
    import zstandard

    if info.file_size > MAX_LINE or (
        info.file_size > FREE_BYTES and info.file_size > MAX_RATIO * max(1, info.compress_size)
    ):
        raise ResourceError(
            f"{path}: {info.filename} unpacks to {info.file_size:,} bytes, more than {MAX_LINE:,} or {MAX_RATIO} times "
            "its size; if you trust it, write the log as JSON (inspect log convert)"
        )
    try:
        if info.compress_type == _ZSTD_METHOD:
            data = _zstd_member(file, info)
        else:
            with archive.open(info) as member:
                data = member.read(info.file_size + 1)
    except (
        zipfile.BadZipFile,
        zlib.error,
        zstandard.ZstdError,
        EOFError,
        OSError,
        ValueError,
        struct.error,
    ) as error:
        raise UnreadableError(f"damaged ({error}); get the log again") from None
    except (NotImplementedError, RuntimeError) as error:
        raise UnreadableError(
            f"packed in a way that is not read ({error}); convert the log (inspect log convert)"
        ) from None
    if len(data) != info.file_size or zlib.crc32(data) != info.CRC:
        raise UnreadableError("damaged (its bytes are not those that were packed); get the log again")
    return data


def _zstd_member(file: BinaryIO, info: zipfile.ZipInfo) -> bytes:
    """A member of the method that zipfile learns in Python 3.14 only."""
    import zstandard

    if info.flag_bits & 1:
        raise RuntimeError("encrypted")
    file.seek(info.header_offset)
    header = _LOCAL_HEADER.unpack(file.read(_LOCAL_HEADER.size))
    if header[0] != b"PK\x03\x04":
        raise zipfile.BadZipFile("no header where a member begins")
    file.seek(info.header_offset + _LOCAL_HEADER.size + header[9] + header[10])
    packed = file.read(info.compress_size)
    with zstandard.ZstdDecompressor().stream_reader(packed, read_across_frames=True) as member:
        return bytes(member.read(info.file_size + 1))
