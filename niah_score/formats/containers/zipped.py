"""Reads zips whose members are JSON records, also members compressed with Zstandard."""

from __future__ import annotations

import struct
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from typing import BinaryIO, NamedTuple

from niah_score.errors import ResourceError, ScoreError
from niah_score.formats.answers import NOT_AN_OBJECT, answers_of
from niah_score.formats.containers.streams import FREE_BYTES, MAX_LINE, MAX_RATIO, Source
from niah_score.formats.containers.strict_json import EncodingError, parse
from niah_score.formats.record import (
    Answer,
    FieldNames,
    Format,
    InexactError,
    Malformed,
    UnreadableError,
    ZipMembers,
    brief,
)
from niah_score.machine.files import is_refused

_ZSTD_METHOD = 93
_LOCAL_HEADER = struct.Struct("<4s5H3L2H")


class Archive(NamedTuple):
    """An open zip, its format, and the members that are records, in the order of the zip."""

    source: Source
    zip: zipfile.ZipFile
    form: Format
    members: ZipMembers
    records: list[zipfile.ZipInfo]


def archive_of(source: Source, formats: Sequence[Format]) -> Archive:
    """Recognise a zip. Raises ScoreError if it is damaged or matches no format."""
    try:
        archive = zipfile.ZipFile(source.file)
    except (zipfile.BadZipFile, struct.error, EOFError, OSError, ValueError, NotImplementedError) as error:
        if is_refused(error):
            raise
        raise ScoreError(f"{source.path}: the zip is damaged or was never finished ({error}); get it again") from None
    # If members share a name, the last one counts, as in every reader of zips.
    infos = {info.filename: info for info in archive.infolist()}
    known = []
    for form in formats:
        if form.members is not None:
            known.append(form.members.what)
            folder, signs = form.members.folder, form.members.signs
            records = [info for name, info in infos.items() if name.startswith(folder) and name.endswith(".json")]
            if records or any(sign in infos for sign in signs):
                return Archive(source, archive, form, form.members, records)
    raise ScoreError(f"{source.path}: a zip, but no {' or '.join(known)}; unpack it and score the files in it")


def read(archive: Archive, names: FieldNames) -> Iterator[Answer | Malformed]:
    """All records of a zip; `line` is the record's number from 1. Raises ResourceError for a decompression bomb."""
    unpacked, packed = 0, archive.source.size
    for number, info in enumerate(archive.records, 1):
        # Members may overlap, so that each one looks harmless but all of them together do not.
        unpacked += info.file_size
        if unpacked > FREE_BYTES and unpacked > MAX_RATIO * packed:
            raise ResourceError(
                f"{archive.source.path}: its members unpack to more than {MAX_RATIO} times its {packed:,} bytes, as "
                f"decompression bombs do; if you trust it, write the log as JSON ({archive.members.convert})"
            )
        try:
            answers = _record(archive, info, number, names)
        except (UnreadableError, EncodingError) as error:
            yield Malformed(number, f"{brief(info.filename)}: {error}")
        else:
            yield from answers


def _record(archive: Archive, info: zipfile.ZipInfo, number: int, names: FieldNames) -> list[Answer]:
    data = _member(archive, info)
    record = parse(data)
    if not isinstance(record, dict):
        raise UnreadableError(NOT_AN_OBJECT)
    try:
        return answers_of(archive.form, record, number, number - 1, names)
    except InexactError:
        return answers_of(archive.form, parse(data, exact=True), number, number - 1, names)


def _member(archive: Archive, info: zipfile.ZipInfo) -> bytes:
    """A member's bytes. Raises UnreadableError if they do not match the zip's entry, ResourceError for a bomb."""
    import zstandard

    if info.file_size > MAX_LINE or (
        info.file_size > FREE_BYTES and info.file_size > MAX_RATIO * max(1, info.compress_size)
    ):
        raise ResourceError(
            f"{archive.source.path}: {info.filename} unpacks to {info.file_size:,} bytes, more than {MAX_LINE:,} or "
            f"{MAX_RATIO} times its size; if you trust it, write the log as JSON ({archive.members.convert})"
        )
    try:
        if info.compress_type == _ZSTD_METHOD:
            data = _zstd_member(archive.source.file, info)
        else:
            with archive.zip.open(info) as member:
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
        if is_refused(error):
            raise
        raise UnreadableError(f"damaged ({error}); get the log again") from None
    except (NotImplementedError, RuntimeError) as error:
        raise UnreadableError(
            f"compressed in a way that cannot be read ({error}); convert the log ({archive.members.convert})"
        ) from None
    if len(data) != info.file_size or zlib.crc32(data) != info.CRC:
        raise UnreadableError("damaged (its size or checksum is wrong); get the log again")
    return data


def _zstd_member(file: BinaryIO, info: zipfile.ZipInfo) -> bytes:
    """The bytes of a member compressed with Zstandard, which zipfile reads only from Python 3.14 on."""
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
