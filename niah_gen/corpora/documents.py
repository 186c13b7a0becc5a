"""Reads the documents of one file of a corpus, one after another, whatever its size.

.txt, .md, .markdown, .html and .htm files are one document each; .jsonl files, also compressed, have one per line,
.parquet files one per row. Documents that are not wanted are skipped unread.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, NamedTuple

from niah_gen.corpora.declarations import MARKUP, suffix_of
from niah_gen.corpora.encodings import decode_utf8
from niah_gen.corpora.markup import markup_text
from niah_gen.errors import CorpusError, ResourceError
from niah_score.machine.refusals import is_refused
from niah_score.machine.unpacking import batch_rows, bomb, packed_group

# A line of a .jsonl file, or a file that is one document, in bytes; building from one takes up to 50 times the memory.
LONGEST_BYTES = 32 * 1024 * 1024
_CHUNK_BYTES = 1024 * 1024
# Parquet: the bytes of a column that are read from the disk at once, and about how many are turned into rows at once.
_BUFFER_BYTES = 1024 * 1024
_BATCH_BYTES = 1024 * 1024
_MOST_BATCH_ROWS = 256


@dataclass(frozen=True, slots=True)
class Document:
    """One text and where it comes from. All later offsets are into `text` joined in corpus order.

    `summary`: a summary of the text, if its file has a field of that name; else empty.
    """

    text: str
    file: str
    line: int
    summary: str = ""


# Called before each document, in order, to ask whether it should be read.
Wanted = Callable[[], bool]


def read_documents(path: Path, name: str, field: str = "text") -> Iterator[Document]:
    """The documents of one file of a corpus.

    Raises CorpusError with file and line, also for a file without any, and ResourceError for a document of more than
    32 MiB.
    """
    for document in wanted_documents(path, name, field, lambda: True):
        if document is not None:
            yield document


def wanted_documents(path: Path, name: str, field: str, wanted: Wanted) -> Iterator[Document | None]:
    """The documents of one file, None for each that is not wanted. Raises what `read_documents` does.

    Documents that are not wanted are only counted: what is wrong with them goes unnoticed.
    """
    suffix = suffix_of(path.name)
    if suffix == ".parquet":
        documents = _read_parquet(path, name, field, wanted)
    elif suffix is not None and suffix.startswith(".jsonl"):
        documents = _read_jsonl(path, name, field, wanted)
    else:
        documents = _read_whole(path, name, wanted)
    empty = True
    for document in documents:
        empty = False
        yield document
    if empty:
        raise CorpusError(f"{path}: the file is empty")


def _read_whole(path: Path, name: str, wanted: Wanted) -> Iterator[Document | None]:
    """A file that is one document; none if it is blank."""
    if not wanted():
        yield None
        return
    with path.open("rb", buffering=0) as file:
        size = os.fstat(file.fileno()).st_size
        if size > LONGEST_BYTES:
            raise ResourceError(
                f"{path}: {size:,} bytes, and a {path.suffix} file is one document, of at most {LONGEST_BYTES:,} "
                "bytes; split it, or write it as .jsonl, one document per line"
            )
        data = file.readall()
    text = markup_text(data, str(path)) if path.suffix in MARKUP else decode_utf8(data, str(path))
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    if text.strip():
        yield Document(text, name, 1)


class _RawLine(NamedTuple):
    """A line without its line feed; `offset`: its first byte, counted from 0, in the unpacked file."""

    number: int
    offset: int
    data: bytes


def _lines(path: Path) -> Iterator[_RawLine]:
    """The lines of a file, unpacked. Raises ResourceError for one that is too long, CorpusError for damage."""
    number, offset, unpacked = 1, 0, 0
    packed = None if path.suffix == ".jsonl" else path.stat().st_size
    pieces: list[bytes] = []
    held = 0
    with _opened(path) as file:
        while chunk := _read(file, path):
            unpacked += len(chunk)
            if packed is not None and (problem := bomb(path, unpacked, packed)) is not None:
                raise ResourceError(problem)
            first, *more = chunk.split(b"\n")
            pieces.append(first)
            held += len(first)
            if held > LONGEST_BYTES:
                raise ResourceError(
                    f"{path}:{number}: the line is longer than {LONGEST_BYTES:,} bytes; write each document on its "
                    "own line, and split documents that are longer"
                )
            for rest in more:
                line = b"".join(pieces) if len(pieces) > 1 else pieces[0]
                yield _RawLine(number, offset, line)
                number += 1
                offset += held + 1
                pieces, held = [rest], len(rest)
    yield _RawLine(number, offset, b"".join(pieces))


def _opened(path: Path) -> IO[bytes]:
    if path.suffix == ".jsonl":
        return path.open("rb", buffering=0)
    import pyarrow as pa

    # Arrow's stream raises if the file is cut off, or if unpacking would take too much memory.
    file: IO[bytes] = pa.input_stream(str(path), compression={".gz": "gzip", ".zst": "zstd"}[path.suffix])
    return file


def _read(file: IO[bytes], path: Path) -> bytes:
    try:
        return file.read(_CHUNK_BYTES)
    except OSError as error:
        if error.errno is not None:
            raise
        raise CorpusError(f"{path}: damaged, or not a {path.suffix} file ({error}); copy it again") from None


def _read_jsonl(path: Path, name: str, field: str, wanted: Wanted) -> Iterator[Document | None]:
    import orjson

    for line in _lines(path):
        # A line that does not begin as an object may be white space of any script, or a mistake: it is always read.
        if line.data[:1] != b"{" or not line.offset:
            if not line.data:
                continue
            text = decode_utf8(line.data, str(path), line.offset, line.number)
            if text.strip():
                wanted()
                yield _parsed(text, path, name, field, line.number)
        elif wanted():
            try:
                record = orjson.loads(line.data)
            except orjson.JSONDecodeError:
                record = {}
            if isinstance(value := record.get(field), str):
                summary = record.get("summary")
                yield Document(value, name, line.number, summary if isinstance(summary, str) else "")
            else:
                text = decode_utf8(line.data, str(path), line.offset, line.number)
                yield _parsed(text, path, name, field, line.number)
        else:
            yield None


def _parsed(line: str, path: Path, name: str, field: str, number: int) -> Document:
    """The document of a line, by a parser that accepts more than the fast one and says what is wrong."""
    try:
        record = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise CorpusError(f"{path}:{number}: not a JSON object ({error})") from None
    text = record.get(field) if isinstance(record, dict) else None
    if not isinstance(text, str):
        fields = ", ".join(record) if isinstance(record, dict) else type(record).__name__
        raise CorpusError(f"{path}:{number}: expected a string field {field!r}, found {fields}")
    summary = record.get("summary")
    short = _checked(summary, path, number) if isinstance(summary, str) else ""
    return Document(_checked(text, path, number), name, number, short)


def _read_parquet(path: Path, name: str, field: str, wanted: Wanted) -> Iterator[Document | None]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        # Without pre-buffering, and with a buffer, column chunks are read piece by piece instead of whole.
        with pq.ParquetFile(pa.OSFile(os.fsencode(path)), pre_buffer=False, buffer_size=_BUFFER_BYTES) as file:
            if (problem := packed_group(path, file.metadata)) is not None:
                raise ResourceError(problem)
            packed, unpacked = path.stat().st_size, 0
            names = file.schema_arrow.names
            if field not in names:
                raise CorpusError(f"{path}: no column {field!r}; it has {', '.join(names)}")
            columns = [field, "summary"] if "summary" in names and field != "summary" else [field]
            number = 0
            for batch in file.iter_batches(batch_size=_batch_rows(file, field), columns=columns, use_threads=False):
                unpacked += batch.nbytes
                if (problem := bomb(path, unpacked, packed)) is not None:
                    raise ResourceError(problem)
                texts = batch.column(field)
                summaries = batch.column("summary") if len(columns) > 1 else None
                for place in range(batch.num_rows):
                    number += 1
                    if not wanted():
                        yield None
                        continue
                    value = _value(texts, place, path, number, field)
                    if not isinstance(value, str):
                        raise CorpusError(f"{path}: row {number}: expected a string in {field!r}, found {value!r:.80}")
                    if len(value) > LONGEST_BYTES:
                        raise ResourceError(
                            f"{path}: row {number}: a text of more than {LONGEST_BYTES:,} characters; split it"
                        )
                    summary = None if summaries is None else _value(summaries, place, path, number, "summary")
                    yield Document(value, name, number, summary if isinstance(summary, str) else "")
    except (pa.ArrowException, ValueError) as error:
        if is_refused(error):
            raise
        raise CorpusError(f"{path}: not a readable Parquet file ({error})") from None
    except OSError as error:
        if is_refused(error) or error.errno is not None:
            raise
        raise CorpusError(f"{path}: damaged ({error}); copy it again") from None


def _batch_rows(file: Any, field: str) -> int:
    """Rows of about 1 MiB, by the column's size in the row groups."""
    metadata = file.metadata
    rows: int = metadata.num_rows
    column = metadata.schema.names.index(field) if field in metadata.schema.names else None
    if column is None or not rows:
        return 1
    groups = map(metadata.row_group, range(metadata.num_row_groups))
    size: int = sum(group.column(column).total_uncompressed_size for group in groups)
    most = batch_rows(metadata, _MOST_BATCH_ROWS, {field, "summary"})
    return max(1, min(most, _BATCH_BYTES * rows // max(size, 1)))


def _value(column: Any, place: int, path: Path, number: int, field: str) -> Any:
    try:
        return column[place].as_py()
    except UnicodeDecodeError:
        raise CorpusError(f"{path}: row {number}: {field!r} is not UTF-8; write the file again") from None


def _checked(text: str, path: Path, line: int) -> str:
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise CorpusError(
            f"{path}:{line}: half a surrogate pair (\\u{ord(text[error.start]):04x}); remove it"
        ) from None
    return text
