"""Compressed, truncated, damaged, changing and foreign files: each is read correctly or reported."""

from __future__ import annotations

import errno
import gzip
import io
import os
import random
import re
import socket
import sys
from collections.abc import Callable
from itertools import islice
from pathlib import Path

import pytest
import zstandard
from answer_files import GOOD, Read, Write, parquet, parquet_bomb
from each import each

from niah_score.errors import IntegrityError, ResourceError, ScoreError
from niah_score.formats import read_answers
from niah_score.formats.containers import streams
from niah_score.formats.containers.streams import Source
from niah_score.machine.run import system_ending


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-32"])
def test_utf16_and_utf32_are_reported(read: Read, encoding: str) -> None:
    with pytest.raises(ScoreError, match=r"UTF-16 or binary; save the file as UTF-8"):
        read(GOOD.encode(encoding))


@pytest.mark.parametrize("pack", [gzip.compress, zstandard.compress])
@pytest.mark.parametrize("share", [0.1, 0.5, 0.9, 0.999])
def test_a_truncated_compressed_file_is_an_error(write: Write, pack: Callable[[bytes], bytes], share: float) -> None:
    data = pack("".join(f'{{"id": "{number}", "prediction": "{number**7}"}}\n' for number in range(9999)).encode())
    with pytest.raises(ScoreError, match=r"the compressed file (breaks off|is damaged)"):
        list(read_answers(write(data[: int(share * len(data))])))


def test_an_unfinished_zstd_frame_is_an_error(write: Write) -> None:
    sink = io.BytesIO()
    writer = zstandard.ZstdCompressor().stream_writer(sink, closefd=False)
    writer.write(GOOD.encode() * 1000)
    writer.flush(zstandard.FLUSH_BLOCK)
    with pytest.raises(ScoreError, match="the compressed file breaks off"):
        list(read_answers(write(sink.getvalue())))
    writer.close()  # type: ignore[no-untyped-call]
    assert len(list(read_answers(write(sink.getvalue())))) == 1000


def test_a_flipped_bit_in_a_compressed_file_is_an_error(write: Write) -> None:
    data = bytearray(gzip.compress(GOOD.encode() * 1000, compresslevel=0))
    data[len(data) // 2] ^= 1
    with pytest.raises(ScoreError, match="the compressed file is damaged"):
        list(read_answers(write(bytes(data))))


def test_decompression_bombs_are_refused(write: Write) -> None:
    line = b'{"id": "a", "prediction": "' + b"x" * 70_000_000 + b'"}\n'
    with pytest.raises(ResourceError, match="unpacks to more than 1000 times") as caught:
        list(read_answers(write(zstandard.compress(line))))
    assert caught.value.exit_code == 5
    with pytest.raises(ResourceError, match="unpacks to more than 1000 times"):
        list(read_answers(write(parquet_bomb(70_000_000, 1))))


@pytest.mark.parametrize(
    ("data", "named"),
    [
        (b"BZh9" + bytes(20), "bzip2"),
        (b"\xfd7zXZ\0" + bytes(20), "xz"),
        (b"ARROW1\0\0" + bytes(20), "Arrow"),
        (b"%PDF-1.7 some text", "PDF"),
        (b"\x7fELF" + bytes(50), "binary"),
        (b"PK\x03\x04" + bytes(50), "zip is damaged"),
        (b"Dear all, here are the answers.\n", "neither JSON nor a table"),
        (b"name,value\na,b\n", "neither JSON nor a table"),
        (b'{"name": "a", "value": "b"}\n', "fields 'name', 'value'"),
        (b'[{"name": "a", "value": "b"}]', "fields 'name', 'value'"),
        (gzip.compress(gzip.compress(GOOD.encode(), mtime=0), mtime=0), "a compressed file inside a compressed file"),
        (gzip.compress(parquet(1), mtime=0), "a compressed file inside a compressed file"),
    ],
)
def test_other_kinds_of_files_are_refused_with_a_description(read: Read, data: bytes, named: str) -> None:
    with pytest.raises(ScoreError, match=named):
        read(data)


@pytest.mark.skipif(sys.platform == "win32", reason="some of these are not there")
def test_paths_that_are_not_regular_files_are_reported_without_waiting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "loop").symlink_to("loop")
    monkeypatch.chdir(tmp_path)  # the path of a socket must be short
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("socket")
    for path, named in (
        (tmp_path, "a folder"),
        (tmp_path / "none", "missing"),
        (tmp_path / "pipe", "not a regular file; expected a file with answers, or - for standard input"),
        (tmp_path / "loop", "cannot be read (Too many levels of symbolic links)"),
        (tmp_path / "socket", "not a regular file"),
        (Path("/dev/null"), "not a regular file"),
        (Path("/dev/zero"), "not a regular file"),
    ):
        with pytest.raises(ScoreError, match=re.escape(f"{path}: {named}")):
            list(read_answers(path))


class Failing(io.BytesIO):
    """A file on a disk that fails after `good` bytes."""

    def __init__(self, data: bytes, good: int, number: int) -> None:
        super().__init__(data)
        self._good, self._number = good, number

    def read(self, size: int | None = -1, /) -> bytes:
        if self.tell() >= self._good:
            raise OSError(self._number, os.strerror(self._number))
        return super().read(size)

    def fileno(self) -> int:
        return 0


@each("number", [errno.EIO, errno.ESTALE, errno.EACCES])
@each("pack", [bytes, gzip.compress, zstandard.compress])
def test_a_failing_disk_is_not_reported_as_a_damaged_file(pack: Callable[[bytes], bytes], number: int) -> None:
    data = pack(random.Random(1).randbytes(4_000_000))
    with pytest.raises(OSError, match=r"answers\.jsonl") as caught:
        for _ in Source(Path("answers.jsonl"), Failing(data, 2_000_000, number), data[:16]).chunks():
            pass
    assert (caught.value.errno, caught.value.filename) == (number, "answers.jsonl")


@pytest.mark.parametrize("number", [errno.EMFILE, errno.EIO, errno.EACCES])
def test_a_file_that_the_system_refuses_to_open_raises_the_systems_error(
    write: Write, number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write(GOOD.encode())

    def refused(name: object, *_: object) -> int:
        raise OSError(number, os.strerror(number), str(path))

    file = read_answers(path)
    with monkeypatch.context() as patch:
        patch.setattr("os.open", refused)
        with pytest.raises(OSError, match=re.escape(str(path))) as caught:
            list(file)
    assert (ending := system_ending(caught.value)) is not None
    assert ending[1] == 5
    with monkeypatch.context() as patch:
        patch.setattr("os.stat", refused)
        for again in (file.state, lambda: list(file)):
            with pytest.raises(OSError, match=re.escape(str(path))):
                again()
    assert len(list(file)) == 1


LINES = "".join(f'{{"id": "{number}", "prediction": "x"}}\n' for number in range(40_000)).encode()


def in_place(path: Path) -> None:
    with path.open("r+b") as file:
        file.seek(len(LINES) - 10)
        file.write(b"y")
    os.utime(path, ns=(1, 1))


def longer(path: Path) -> None:
    with path.open("ab") as file:
        file.write(b"{}")


def replaced(path: Path) -> None:
    before = path.stat()
    other = path.with_name("other")
    other.write_bytes(LINES)
    os.utime(other, ns=(before.st_atime_ns, before.st_mtime_ns))
    other.replace(path)


def linked_elsewhere(path: Path) -> None:
    other = path.with_name("other")
    other.write_bytes(path.read_bytes())
    path.unlink()
    path.symlink_to(other)


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
@pytest.mark.parametrize("change", [in_place, longer, replaced, linked_elsewhere])
def test_a_file_that_changes_while_it_is_read_is_an_error(
    write: Write, change: Callable[[Path], None], pack: Callable[[bytes], bytes]
) -> None:
    path = write(pack(LINES))
    records = iter(read_answers(path))
    next(records)
    change(path)
    with pytest.raises(IntegrityError, match=f"{path}: was changed or replaced while it was read") as caught:
        list(records)
    assert caught.value.exit_code == 4


def test_damage_from_a_change_during_reading_is_reported_as_the_change(write: Write) -> None:
    path = write(gzip.compress(LINES))
    records = iter(read_answers(path))
    next(records)
    with path.open("r+b") as file:
        file.seek(path.stat().st_size // 2)
        file.write(bytes(1000))
    os.utime(path, ns=(1, 1))
    with pytest.raises(IntegrityError, match="was changed or replaced"):
        list(records)


def test_a_file_removed_or_abandoned_while_it_is_read_is_not_an_error(write: Write) -> None:
    path = write(LINES)
    records = iter(read_answers(path))
    next(records)
    longer(path)
    records.close()  # type: ignore[attr-defined]
    records = iter(read_answers(path))
    next(records)
    path.unlink()
    assert len(list(records)) == 40_000


@pytest.mark.parametrize("pack", [bytes, gzip.compress, zstandard.compress])
@pytest.mark.parametrize("size", [0, 10, 2**20 - 3, 2**20, 3 * 2**20])
def test_a_text_can_be_read_again_after_any_partial_reading(
    write: Write, size: int, pack: Callable[[bytes], bytes]
) -> None:
    text = bytes(range(1, 251)) * (size // 250) + b"z" * (size % 250)
    with streams.opened(write(pack(b"\xef\xbb\xbf" + text))) as source:
        assert text.startswith(source.head)
        for pieces in (1, 2, 0, 3):
            list(islice(source.chunks(), pieces))
            assert b"".join(source.chunks()) == text


def test_lines_between_two_offsets_are_those_of_the_file(write: Write) -> None:
    with streams.opened(write(b"\xef\xbb\xbfa\nbc\n\nd")) as source:
        assert list(source.blocks_between(0, 8)) == [([b"a", b"bc"], False)]
        assert list(source.blocks_between(8, 10)) == [([b""], False), ([b"d"], True)]
        assert list(source.blocks()) == [([b"a", b"bc", b""], False), ([b"d"], True)]
