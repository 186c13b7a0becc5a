"""Reads the documents of one file of a corpus, one after another, whatever its size.

A .txt file is one document; .jsonl files, also compressed, have one per line, .parquet files one per row.
"""

from __future__ import annotations

import io
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from niah_gen.corpora.declarations import suffix_of
from niah_gen.errors import CorpusError, ResourceError
from niah_score.machine.refusals import is_refused
from niah_score.machine.unpacking import batch_rows, bomb, packed_group

# A line of a .jsonl file, or a file that is one document, in bytes; building from one takes up to 50 times the memory.
LONGEST_BYTES = 32 * 1024 * 1024
_BUFFER_BYTES = 1024 * 1024


class Document(NamedTuple):
    """One text and where it comes from. All later offsets are into `text` joined in corpus order.

    `line`: of a .jsonl file, or the row of a .parquet file, from 1. `summary`: a summary of the text, if its file has a
    field of that name; else empty.
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
    line = 0
    readers = {".txt": _text, ".parquet": _rows}
    for line, record in readers.get(suffix_of(path.name) or "", _lines)(path, field):
        fields = record if isinstance(record, dict) else {}
        text, summary = fields.get(field), fields.get("summary")
        summary = summary if isinstance(summary, str) else ""
        if not isinstance(text, str):
            raise CorpusError(f"{path}:{line}: expected a text in {field!r}, found {text!r:.80}; it has {[*fields]}")
        if len(text) > LONGEST_BYTES:
            raise ResourceError(f"{path}:{line}: a text of more than {LONGEST_BYTES:,} characters; split it")
        try:
            (text + summary).encode()
        except UnicodeEncodeError as error:
            raise CorpusError(f"{path}:{line}: half a surrogate pair ({error}); remove it") from None
        yield Document(text, name, line, summary)
    if not line:
        raise CorpusError(f"{path}: the file is empty")


def _decoded(data: bytes, path: Path, line: int = 1, offset: int = 0) -> str:
    """UTF-8 as text, without a byte order mark. `line`, `offset`: where the data begin in the file."""
    try:
        return data.decode("utf-8" if offset else "utf-8-sig")
    except UnicodeDecodeError as error:
        line += data.count(b"\n", 0, error.start)
        byte = f"byte 0x{data[error.start]:02x} at offset {offset + error.start}"
        raise CorpusError(f"{path}:{line}: {byte} is not UTF-8; save it as UTF-8") from None


def _text(path: Path, field: str) -> Iterator[tuple[int, Any]]:
    """A file that is one document; none if it is blank."""
    if (size := path.stat().st_size) > LONGEST_BYTES:
        what = f"{size:,} bytes, and a .txt file is one document, of at most {LONGEST_BYTES:,} bytes"
        raise ResourceError(f"{path}: {what}; split it, or write it as .jsonl, one document per line")
    text = _decoded(path.read_bytes(), path).replace("\r\n", "\n").replace("\r", "\n")
    if text.strip():
        yield 1, {field: text}


def _lines(path: Path, field: str) -> Iterator[tuple[int, Any]]:
    """The lines that are not blank, unpacked, with their numbers."""
    import pyarrow as pa

    packing, packed = {".gz": "gzip", ".zst": "zstd"}.get(path.suffix), path.stat().st_size
    number = offset = 0
    try:
        # Arrow's stream raises if the file is cut off, or if unpacking would take too much memory.
        with path.open("rb") as raw, io.BufferedReader(pa.input_stream(raw, packing), _BUFFER_BYTES) as file:
            while line := file.readline(LONGEST_BYTES + 1):
                number += 1
                if len(line) > LONGEST_BYTES:
                    what = f"the line is longer than {LONGEST_BYTES:,} bytes; write each document on its own line"
                    raise ResourceError(f"{path}:{number}: {what}, and split documents that are longer")
                if problem := bomb(path, offset + len(line), packed):
                    raise ResourceError(problem)
                if text := _decoded(line, path, number, offset).strip():
                    yield number, json.loads(text)
                offset += len(line)
    except (ValueError, RecursionError) as error:
        raise CorpusError(f"{path}:{number}: not a JSON object ({error})") from None
    except OSError as error:
        if error.errno is not None:
            raise
        raise CorpusError(f"{path}: damaged, or not a {path.suffix} file ({error}); copy it again") from None


def _rows(path: Path, field: str) -> Iterator[tuple[int, Any]]:
    """The rows of a Parquet file, numbered from 1, with the column and the summary."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        # Without pre-buffering, and with a buffer, column chunks are read piece by piece instead of whole.
        with pq.ParquetFile(pa.OSFile(os.fsencode(path)), pre_buffer=False, buffer_size=_BUFFER_BYTES) as file:
            names = file.schema_arrow.names
            if field not in names:
                raise CorpusError(f"{path}: no column {field!r}; it has {', '.join(names)}")
            columns = list({field, "summary"} & set(names))
            packed, unpacked, number = path.stat().st_size, 0, 0
            problem = packed_group(path, file.metadata)
            # At most 16 rows are held at once, each of up to 32 MiB.
            rows = batch_rows(file.metadata, 16, columns)
            for batch in file.iter_batches(batch_size=rows, columns=columns, use_threads=False):
                unpacked += batch.nbytes
                if problem := problem or bomb(path, unpacked, packed):
                    raise ResourceError(problem)
                yield from enumerate(batch.to_pylist(), number + 1)
                number += len(batch)
    except (pa.ArrowException, ValueError, OSError) as error:
        if is_refused(error) or (isinstance(error, OSError) and error.errno is not None):
            raise
        raise CorpusError(f"{path}: damaged, or not a readable Parquet file ({error}); write it again") from None
