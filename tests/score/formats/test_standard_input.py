"""Standard input is read like any file, whatever its format, and its temporary copy is removed."""

from __future__ import annotations

import gc
import gzip
import io
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest
import zstandard
from answer_files import GOOD
from each import each, few_fast

from niah_score.errors import ResourceError, ScoreError
from niah_score.formats import Answer, read_answers

EXAMPLES = sorted((Path(__file__).parent / "examples").iterdir())


@pytest.fixture(autouse=True)
def kept_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder for temporary files."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def feed(monkeypatch: pytest.MonkeyPatch, data: bytes) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))


@pytest.mark.parametrize("example", few_fast(EXAMPLES, 7), ids=lambda path: str(path.name))
def test_every_format_is_read_from_standard_input_and_no_copy_remains(
    example: Path, kept_in: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Including formats that are read from their end, such as Parquet and zip."""
    feed(monkeypatch, example.read_bytes())
    file, named = read_answers(Path("-")), read_answers(example)
    assert list(file) == list(named)
    assert list(file) == list(named)
    assert (file.format, str(file.name)) == (named.format, "standard input")
    assert len(list(kept_in.iterdir())) == 1
    del file
    gc.collect()
    assert list(kept_in.iterdir()) == []


@each("pack", [gzip.compress, zstandard.compress])
def test_compressed_input_is_unpacked_and_messages_name_standard_input(
    pack: Callable[[bytes], bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    feed(monkeypatch, pack(GOOD.encode() * 2))
    assert [record.id for record in read_answers(Path("-")) if isinstance(record, Answer)] == ["good", "good"]
    feed(monkeypatch, GOOD.encode() + b'{"id": "a", "prediction": "\xff"}\n')
    with pytest.raises(ScoreError, match=r"^standard input:2: byte 28 "):
        list(read_answers(Path("-")))
    feed(monkeypatch, b"PAR1 and no more")
    with pytest.raises(ScoreError, match=r"^standard input: the Parquet file is damaged"):
        list(read_answers(Path("-")))
    feed(monkeypatch, b"")
    with pytest.raises(ScoreError, match=r"^standard input: no predictions in it"):
        list(read_answers(Path("-")))


def test_an_input_that_is_missing_or_cannot_be_read_or_stored_is_reported(
    kept_in: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", None)
    with pytest.raises(ScoreError, match="standard input: there is none"):
        read_answers(Path("-")).state()

    def full(_: int) -> bytes:
        raise OSError(28, os.strerror(28))

    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=SimpleNamespace(read=full)))
    with pytest.raises(ResourceError, match="standard input: no room for it"):
        read_answers(Path("-")).state()

    def broken(_: int) -> bytes:
        raise OSError(5, os.strerror(5))

    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=SimpleNamespace(read=broken)))
    with pytest.raises(ScoreError, match="standard input: cannot be read"):
        read_answers(Path("-")).state()
    assert list(kept_in.iterdir()) == []


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs a process that can be killed")
def test_the_copy_left_by_a_killed_process_is_removed_by_the_next_one(kept_in: Path) -> None:
    code = """
import sys, time
from niah_score.formats import read_answers
file = read_answers("-")
file.state()
print("kept", flush=True)
time.sleep(600 * (len(sys.argv) > 1))
"""
    environment = {**os.environ, "TMPDIR": str(kept_in)}
    with subprocess.Popen(
        [sys.executable, "-c", code, "wait"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.close()
        assert process.stdout.readline() == "kept\n"
        process.kill()
    assert len(list(kept_in.iterdir())) == 1
    subprocess.run(
        [sys.executable, "-c", code], stdin=subprocess.DEVNULL, env=environment, check=True, capture_output=True
    )
    assert list(kept_in.iterdir()) == []


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="devices are not there")
@each(
    ("device", "message"), [("/dev/zero", "a device; expected a file or a pipe"), ("/dev/null", "no predictions in it")]
)
def test_devices_as_standard_input_are_reported_and_do_not_fill_the_disk(device: str, message: str) -> None:
    code = "from niah_score.formats import read_answers; list(read_answers('-'))"
    handle = os.open(device, os.O_RDONLY)
    try:
        process = subprocess.run(
            [sys.executable, "-c", code], stdin=handle, capture_output=True, text=True, check=False
        )
    finally:
        os.close(handle)
    assert f"standard input: {message}" in process.stderr
