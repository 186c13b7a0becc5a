"""Files that are cut off, damaged, too large or of another kind are reported."""

from __future__ import annotations

import errno
import gzip
import io
import os
import re
import sys
from pathlib import Path

import pytest
import zstandard
from answer_files import GOOD, Read, Write, parquet
from each import each

from niah_score.errors import IntegrityError, ResourceError, ScoreError
from niah_score.formats import read_answers, streams
from niah_score.machine.run import system_ending

EXAMPLES = sorted((Path(__file__).parent / "examples").iterdir())
LINES = "".join(f'{{"id": "{number}", "prediction": "{number**7}"}}\n' for number in range(6_000)).encode()


def test_other_kinds_of_files_are_refused_with_a_description(read: Read) -> None:
    cases = [
        *((GOOD.encode(encoding), "UTF-16") for encoding in ("utf-16", "utf-16-le", "utf-16-be", "utf-32")),
        (b"\x7fELF" + bytes(50), "binary"),
        (b"%PDF-1.7 \xe2\xe3\xcf\xd3", "binary"),
        (gzip.compress(gzip.compress(GOOD.encode(), mtime=0), mtime=0), "packed twice"),
        (gzip.compress(parquet(1), mtime=0), "packed twice"),
        (b"PK\x03\x04" + bytes(50), "zip is damaged"),
        (b"Dear all, here are the answers.\n", "neither JSON nor a table"),
        (b"\rid,prediction\ra,b\n", "neither JSON nor a table"),
        (b"name,value\na,b\n", "neither JSON nor a table"),
        (b'{"name": "a", "value": "b"}\n', "fields 'name', 'value'"),
        (b'[{"name": "a", "value": "b"}]', "fields 'name', 'value'"),
    ]
    for data, named in cases:
        with pytest.raises(ScoreError, match=named):
            read(data)


def test_compressed_files_that_are_cut_off_or_damaged_are_errors(write: Write) -> None:
    sink = io.BytesIO()
    writer = zstandard.ZstdCompressor().stream_writer(sink, closefd=False)
    writer.write(LINES)
    writer.flush(zstandard.FLUSH_BLOCK)
    flipped = bytearray(gzip.compress(LINES, compresslevel=0))
    flipped[len(flipped) // 2] ^= 1
    whole = (gzip.compress(LINES), zstandard.compress(LINES))
    cut = [packed[: int(share * len(packed))] for packed in whole for share in (0.1, 0.5, 0.999)]
    for data in (*cut, sink.getvalue(), bytes(flipped)):
        with pytest.raises(ScoreError, match="the compressed file is damaged or cut off"):
            list(read_answers(write(data)))
    writer.close()  # type: ignore[no-untyped-call]
    assert len(list(read_answers(write(sink.getvalue())))) == 6_000


def test_overlong_lines_are_refused(read: Read, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streams, "MAX_LINE", 3_000_000)
    long = '{"id": "a", "prediction": "' + "x" * 4_000_000 + '"}'
    for text in (GOOD + long + "\n" + GOOD, GOOD + long, "id,prediction\na," + long):
        with pytest.raises(
            ResourceError, match=":2: a line of more than 3,000,000 bytes; one record per line is expected"
        ):
            read(text)


@pytest.mark.skipif(sys.platform == "win32", reason="some of these are not there")
def test_paths_that_are_not_regular_files_are_reported_without_waiting(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path, named in (
        (tmp_path, "cannot be read (a folder; expected a file)"),
        (tmp_path / "none", "cannot be read (No such file or directory)"),
        (tmp_path / "pipe", "cannot be read (not a regular file; expected a file)"),
        (Path("/dev/zero"), "cannot be read (not a regular file"),
    ):
        with pytest.raises(ScoreError, match=re.escape(f"{path}: {named}")):
            list(read_answers(path))


@each("number", [errno.EIO, errno.ESTALE, errno.EACCES])
def test_what_the_system_refuses_is_not_reported_as_a_damaged_file(
    write: Write, number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write(GOOD)

    def refused(*_: object) -> int:
        raise OSError(number, os.strerror(number), str(path))

    for name in ("os.open", "os.stat"):
        with monkeypatch.context() as patch:
            patch.setattr(name, refused)
            with pytest.raises(OSError, match=re.escape(str(path))) as caught:
                list(read_answers(path))
        assert (ending := system_ending(caught.value)) is not None
        assert ending[1] == 5


def test_a_file_that_changes_while_it_is_read_is_an_error_but_not_one_that_is_removed(write: Write) -> None:
    """Also if the change damaged it, which is then reported as the change."""
    lines = b"".join(b'{"id": "%d", "prediction": "It is 42."}\n' % number for number in range(12_000))
    for pack in (bytes, gzip.compress):
        for removed in (False, True):
            path = write(pack(lines))
            records = iter(read_answers(path))
            next(records)
            path.unlink() if removed else path.write_bytes(b"{}")
            if removed:
                assert len(list(records)) == 11_999
                continue
            with pytest.raises(IntegrityError, match=f"{path}: was changed or replaced while it was read") as caught:
                list(records)
            assert caught.value.exit_code == 4
