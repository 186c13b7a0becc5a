"""Reads the documents of one file of a corpus, one after another, whatever its size.

A .txt file is one document; .jsonl files, also compressed, have one per line, .parquet files one per row.
"""

from __future__ import annotations

import io
import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from niah_gen.corpora.declarations import suffix_of
from niah_gen.errors import CorpusError, ResourceError
from niah_score.machine.refusals import is_refused
from niah_score.machine.unpacking import batch_rows, bomb, packed_group

# A line of a .jsonl file, or a file that is one document, in bytes; building from one takes up to 50 times the memory.
LONGEST_BYTES = 32 * 1024 * 1024
_BUFFER_BYTES = 1024 * 1024
# Rows of a Parquet file that are held at once, each of up to 32 MiB.
_BATCH_ROWS = 16
_UTF16_MARKS = (b"\xff\xfe", b"\xfe\xff")


@dataclass(frozen=True, slots=True)
class Document:
    """One text and where it comes from. All later offsets are into `text` joined in corpus order.

    `summary`: a summary of the text, if its file has a field of that name; else empty.
    """

    text: str
    file: str
    line: int
    summary: str = ""


def read_documents(path: Path, name: str, field: str = "text") -> Iterator[Document]:
    """The documents of one file of a corpus.

    Raises CorpusError with file and line, also for a file without any, and ResourceError for a document of more than
    32 MiB.
    """
    readers = {".txt": _read_text, ".parquet": _read_parquet}
    empty = True
    for document in readers.get(suffix_of(path.name) or "", _read_jsonl)(path, name, field):
        empty = False
        yield document
    if empty:
        raise CorpusError(f"{path}: the file is empty")


def _decoded(data: bytes, path: Path, line: int = 1, offset: int = 0) -> str:
    """UTF-8 as text, without a byte order mark. `line`, `offset`: where the data begin in the file."""
    if offset == 0 and data[:2] in _UTF16_MARKS:
        raise CorpusError(f"{path}:1: the file is UTF-16; save it as UTF-8")
    try:
        return data.decode("utf-8" if offset else "utf-8-sig")
    except UnicodeDecodeError as error:
        line += data.count(b"\n", 0, error.start)
        raise CorpusError(
            f"{path}:{line}: byte 0x{data[error.start]:02x} at offset {offset + error.start} is not UTF-8; save it as "
            "UTF-8"
        ) from None


def _read_text(path: Path, name: str, field: str) -> Iterator[Document]:
    """A file that is one document; none if it is blank."""
    if (size := path.stat().st_size) > LONGEST_BYTES:
        raise ResourceError(
            f"{path}: {size:,} bytes, and a .txt file is one document, of at most {LONGEST_BYTES:,} bytes; split it, "
            "or write it as .jsonl, one document per line"
        )
    text = _decoded(path.read_bytes(), path).replace("\r\n", "\n").replace("\r", "\n")
    if text.strip():
        yield Document(text, name, 1)


def _read_jsonl(path: Path, name: str, field: str) -> Iterator[Document]:
    for number, offset, data in _lines(path):
        line = _decoded(data, path, number, offset)
        if not line.strip():
            continue
        try:
            record = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise CorpusError(f"{path}:{number}: not a JSON object ({error})") from None
        text = record.get(field) if isinstance(record, dict) else None
        if not isinstance(text, str):
            found = ", ".join(record) if isinstance(record, dict) else type(record).__name__
            raise CorpusError(f"{path}:{number}: expected a string field {field!r}, found {found}")
        summary = record.get("summary")
        summary = summary if isinstance(summary, str) else ""
        try:
            (text + summary).encode()
        except UnicodeEncodeError as error:
            half = ord(error.object[error.start])
            raise CorpusError(f"{path}:{number}: half a surrogate pair (\\u{half:04x}); remove it") from None
        yield Document(text, name, number, summary)


def _lines(path: Path) -> Iterator[tuple[int, int, bytes]]:
    """The lines of a file, unpacked: number, first byte, bytes. Raises ResourceError for one that is too long."""
    packed = None if path.suffix == ".jsonl" else path.stat().st_size
    number = offset = 0
    try:
        with _opened(path) as file:
            while line := file.readline(LONGEST_BYTES + 1):
                number += 1
                if len(line) > LONGEST_BYTES:
                    raise ResourceError(
                        f"{path}:{number}: the line is longer than {LONGEST_BYTES:,} bytes; write each document on its "
                        "own line, and split documents that are longer"
                    )
                if packed is not None and (problem := bomb(path, offset + len(line), packed)) is not None:
                    raise ResourceError(problem)
                yield number, offset, line
                offset += len(line)
    except OSError as error:
        if error.errno is not None:
            raise
        raise CorpusError(f"{path}: damaged, or not a {path.suffix} file ({error}); copy it again") from None


def _opened(path: Path) -> IO[bytes]:
    if path.suffix == ".jsonl":
        return path.open("rb")
    import pyarrow as pa

    # Arrow's stream raises if the file is cut off, or if unpacking would take too much memory.
    stream = pa.input_stream(str(path), compression={".gz": "gzip", ".zst": "zstd"}[path.suffix])
    return io.BufferedReader(stream, _BUFFER_BYTES)


def _read_parquet(path: Path, name: str, field: str) -> Iterator[Document]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        # Without pre-buffering, and with a buffer, column chunks are read piece by piece instead of whole.
        with pq.ParquetFile(pa.OSFile(os.fsencode(path)), pre_buffer=False, buffer_size=_BUFFER_BYTES) as file:
            if (problem := packed_group(path, file.metadata)) is not None:
                raise ResourceError(problem)
            names = file.schema_arrow.names
            if field not in names:
                raise CorpusError(f"{path}: no column {field!r}; it has {', '.join(names)}")
            columns = list({field, "summary"} & set(names))
            rows = batch_rows(file.metadata, _BATCH_ROWS, columns)
            packed, unpacked, number = path.stat().st_size, 0, 0
            for batch in file.iter_batches(batch_size=rows, columns=columns, use_threads=False):
                unpacked += batch.nbytes
                if (problem := bomb(path, unpacked, packed)) is not None:
                    raise ResourceError(problem)
                for record in batch.to_pylist():
                    number += 1
                    text, summary = record[field], record.get("summary")
                    if not isinstance(text, str):
                        raise CorpusError(f"{path}: row {number}: expected a string in {field!r}, found {text!r:.80}")
                    if len(text) > LONGEST_BYTES:
                        raise ResourceError(
                            f"{path}: row {number}: a text of more than {LONGEST_BYTES:,} characters; split it"
                        )
                    short = summary if isinstance(summary, str) and field != "summary" else ""
                    yield Document(text, name, number, short)
    except (pa.ArrowException, ValueError, OSError) as error:
        if is_refused(error) or (isinstance(error, OSError) and error.errno is not None):
            raise
        raise CorpusError(f"{path}: damaged, or not a readable Parquet file ({error}); write it again") from None
