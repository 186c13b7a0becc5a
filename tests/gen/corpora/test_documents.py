"""Reading the files of a corpus as streams: compressed, damaged, too long, too large for memory."""

from __future__ import annotations

import errno
import gzip
import os
import subprocess
import sys
from pathlib import Path
from unittest.mock import Mock

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zstandard
from each import each
from peak_memory import PEAK, RETURNED_AT_ONCE, needs_linux

from niah_gen.corpora import documents as reading
from niah_gen.corpora.documents import Document, read_documents, wanted_documents
from niah_gen.errors import CorpusError, ResourceError

LINES = b'{"text": "One."}\n{"text": "Two.", "summary": "2"}\n'


def packed(data: bytes, suffix: str) -> bytes:
    return gzip.compress(data) if suffix == "gz" else bytes(zstandard.compress(data))


@each("suffix", ["gz", "zst"])
def test_compressed_lines_are_read_across_several_frames(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"a.jsonl.{suffix}"
    path.write_bytes(packed(LINES, suffix) + packed(b'{"text": "Three."}', suffix))
    assert list(read_documents(path, path.name)) == [
        Document("One.", path.name, 1), Document("Two.", path.name, 2, "2"), Document("Three.", path.name, 3),
    ]  # fmt: skip


@each("suffix", ["gz", "zst"])
@each("damage", ["cut", "not"])
def test_a_file_that_is_truncated_or_not_compressed_is_reported_as_damaged(
    suffix: str, damage: str, tmp_path: Path
) -> None:
    path = tmp_path / f"a.jsonl.{suffix}"
    path.write_bytes(packed(LINES, suffix)[:-3] if damage == "cut" else LINES)
    with pytest.raises(CorpusError, match=rf"a\.jsonl\.{suffix}: damaged, or not a \.{suffix} file"):
        list(read_documents(path, path.name))


def test_a_line_that_is_too_long_is_reported_before_it_is_read_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, "LONGEST_BYTES", 1000)
    monkeypatch.setattr(reading, "_CHUNK_BYTES", 100)
    path = tmp_path / "a.jsonl"
    path.write_bytes(LINES + b'{"text": "' + b"x" * 5000)
    documents = read_documents(path, path.name)
    assert [next(documents).text, next(documents).text] == ["One.", "Two."]
    with pytest.raises(ResourceError, match=r"a\.jsonl:3: the line is longer than 1,000 bytes; write each document"):
        next(documents)
    (tmp_path / "b.txt").write_text("x" * 1001)
    with pytest.raises(ResourceError, match=r"b\.txt: 1,001 bytes, and a \.txt file is one document, of at most 1,000"):
        list(read_documents(tmp_path / "b.txt", "b.txt"))


def test_unwanted_documents_are_counted_and_their_errors_ignored(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(b'{"text": "One."}\n\n{"text": 2}\n{"text": \xff\n{"text": "Four."}\n')
    answers = iter([True, False, False, True])
    assert list(wanted_documents(path, "a", "text", lambda: next(answers))) == [
        Document("One.", "a", 1), None, None, Document("Four.", "a", 5),
    ]  # fmt: skip
    pq.write_table(pa.table({"text": ["One.", None, "Three."]}), tmp_path / "a.parquet")
    answers = iter([True, False, True])
    documents = list(wanted_documents(tmp_path / "a.parquet", "a", "text", lambda: next(answers)))
    assert documents == [Document("One.", "a", 1), None, Document("Three.", "a", 3)]


def test_parquet_rows_keep_their_summary_and_need_a_text_column_of_strings(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    table = {"body": ["One.", "Two."], "summary": ["1", None], "n": [[1], [2]], "struct": [{"text": 1}, {"text": 2}]}
    pq.write_table(pa.table(table), path)
    assert list(read_documents(path, "a", "body")) == [Document("One.", "a", 1, "1"), Document("Two.", "a", 2)]
    with pytest.raises(CorpusError, match=r"a\.parquet: no column 'text'; it has body, summary, n, struct"):
        list(read_documents(path, "a"))
    with pytest.raises(CorpusError, match=r"a\.parquet: row 1: expected a string in 'n', found \[1\]"):
        list(read_documents(path, "a", "n"))


@each("error", [pa.ArrowMemoryError("malloc of size 64 failed"), OSError(errno.EIO, "I/O error")])
def test_an_error_of_the_system_is_not_blamed_on_the_parquet_file(
    error: Exception, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pq.write_table(pa.table({"text": ["One."]}), tmp_path / "a.parquet")
    monkeypatch.setattr(pq.ParquetFile, "iter_batches", Mock(side_effect=error))
    with pytest.raises(type(error)) as caught:
        list(read_documents(tmp_path / "a.parquet", "a"))
    assert caught.value is error


def test_a_damaged_parquet_file_is_reported(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"text": ["Words. " * 100 + str(n) for n in range(500)]}), path, compression="zstd")
    data = bytearray(path.read_bytes())
    data[20:400] = bytes(380)
    path.write_bytes(data)
    with pytest.raises(CorpusError, match=r"a\.parquet: (damaged|not a readable Parquet file)"):
        list(read_documents(path, "a"))


_MEMORY = f"""{PEAK}
import sys
from niah_gen.corpora.draw import Bounds
from niah_gen.corpora.find import locate
from niah_gen.corpora.read import corpus_figures, read_corpus

def read(path):
    corpus_figures(locate(path))
    return read_corpus(locate(path), Bounds(500_000, 500_000, 0))

read(sys.argv[1])
before = peak_kib()
corpus = read(sys.argv[2])
print((peak_kib() - before) // 1024, len(corpus.documents), corpus.draw.of)
"""


@pytest.mark.slow
@needs_linux
@each("suffix", ["jsonl", "jsonl.gz", "jsonl.zst", "parquet"])
def test_memory_stays_flat_however_large_a_corpus_is(suffix: str, tmp_path: Path) -> None:
    body = "So it went on from day to day. " * 60
    for name, count in (("small", 1000), ("large", 32_000)):
        path = tmp_path / f"{name}.{suffix}"
        texts = [f"Number {number}. {body}" for number in range(count)]
        if suffix == "parquet":
            # One row group: reading it whole would take too much memory.
            table = pa.table({"text": texts})
            pq.write_table(table, path, row_group_size=count, use_dictionary=False, compression="zstd")
        else:
            with pa.output_stream(str(path), compression={"gz": "gzip", "zst": "zstd"}.get(suffix[6:])) as file:
                for text in texts:
                    file.write(b'{"text": "%s"}\n' % text.encode())
    done = subprocess.run(
        [sys.executable, "-c", _MEMORY, tmp_path / f"small.{suffix}", tmp_path / f"large.{suffix}"],
        env={**os.environ, **RETURNED_AT_ONCE}, capture_output=True, text=True, check=True,
    )  # fmt: skip
    more, documents, of = map(int, done.stdout.split())
    assert of == 32_000
    assert 200 < documents < 300
    # 60 MB of text, of which half a megabyte is drawn.
    assert more < 16
