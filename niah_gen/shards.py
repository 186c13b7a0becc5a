"""Rows to files: one shard in every wanted format, each file written aside, synced, and only then given its name.

Rows that share a haystack are near-copies side by side, so a window that spans two rows compresses nearly everything
away: row groups are written whole, and the compression level follows the row size.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Protocol

from niah_score.contract import (
    REPEATING_COLUMNS,
    FileEntry,
    PromptForm,
    Row,
    canonical_json,
    file_sha256,
    row_digest,
    row_schema,
    sha256_hex,
)

if TYPE_CHECKING:
    import pyarrow as pa

# Row group limits: small enough for a reader's memory and the Hub's viewer, large enough to share a window.
GROUP_BYTES = 64 * 1000 * 1000
GROUP_ROWS = 1024
# Rows up to this size fit twice into the 4 MiB window of zstd level 9; longer ones need the 8 MiB of level 17.
_LEVEL_9_ROW_BYTES = 1_500_000
# Larger windows than 2**27 cannot be opened by the common readers.
_JSONL_WINDOW_LOG = 27


@dataclass(frozen=True, slots=True)
class ShardRecord:
    """What a finished shard left behind: its files, and the digests of its rows in order."""

    plan_digest: str
    number: int
    files: tuple[FileEntry, ...]
    digests: tuple[str, ...]
    tokens: int
    notes: tuple[str, ...]

    def to_bytes(self) -> bytes:
        """The record as a file: its content and the content's sha256, so that damage to it is seen."""
        body = asdict(self)
        return canonical_json({"record": body, "sha256": sha256_hex(canonical_json(body))})

    @staticmethod
    def from_bytes(data: bytes) -> ShardRecord | None:
        """The record in a file; None if it is damaged."""
        try:
            outer = json.loads(data)
            body = outer["record"]
            if sha256_hex(canonical_json(body)) != outer["sha256"]:
                return None
            files = tuple(FileEntry(**entry) for entry in body["files"])
            return ShardRecord(
                body["plan_digest"], body["number"], files, tuple(body["digests"]), body["tokens"], tuple(body["notes"])
            )
        except (ValueError, KeyError, TypeError):
            return None


class RowWriter(Protocol):
    """Takes a group of rows at a time."""

    def write(self, rows: Sequence[Row]) -> None: ...
    def close(self) -> None: ...


class ParquetWriter:
    """One Parquet file; each call writes one row group."""

    def __init__(self, file: IO[bytes], form: PromptForm, row_bytes: int) -> None:
        import pyarrow.parquet as pq

        self._schema = row_schema(form)
        self._writer = pq.ParquetWriter(
            file,
            self._schema,
            compression="zstd",
            compression_level=9 if row_bytes <= _LEVEL_9_ROW_BYTES else 17,
            use_dictionary=list(REPEATING_COLUMNS),
            write_page_index=True,
            write_page_checksum=True,
        )

    def write(self, rows: Sequence[Row]) -> None:
        """Write rows as one row group."""
        import pyarrow as pa

        # from_pylist makes one chunk a column: chunked input would cut pages at every chunk and lose the repeats.
        table: pa.Table = pa.Table.from_pylist(rows, schema=self._schema)
        self._writer.write_table(table, row_group_size=len(rows))

    def close(self) -> None:
        """Write the footer."""
        self._writer.close()


class JsonlWriter:
    """One JSON object a line, columns in file order; plain, .gz or .zst."""

    def __init__(self, file: IO[bytes], suffix: str) -> None:
        self._owned: IO[bytes] | None = None
        self._out: IO[bytes] = file
        if suffix == "jsonl.gz":
            self._owned = gzip.GzipFile(filename="", mode="wb", compresslevel=6, fileobj=file, mtime=0)
        elif suffix == "jsonl.zst":
            import zstandard

            parameters = zstandard.ZstdCompressionParameters.from_level(
                3, window_log=_JSONL_WINDOW_LOG, enable_ldm=True
            )
            compressor = zstandard.ZstdCompressor(compression_params=parameters)
            self._owned = compressor.stream_writer(file, closefd=False)
        if self._owned is not None:
            self._out = self._owned

    def write(self, rows: Sequence[Row]) -> None:
        """Append rows."""
        import orjson

        for row in rows:
            self._out.write(orjson.dumps(row) + b"\n")

    def close(self) -> None:
        """Finish the compressed frame."""
        if self._owned is not None:
            self._owned.close()


FORMATS: dict[str, str] = {
    "parquet": "data",
    "jsonl": "jsonl",
    "jsonl.gz": "jsonl",
    "jsonl.zst": "jsonl",
}


def shard_path(stem: str, suffix: str) -> str:
    """Path of a shard's file below the dataset folder."""
    return f"{FORMATS[suffix]}/{stem}.{suffix}"


def write_shard(
    folder: Path,
    stem: str,
    rows: Iterable[Row],
    formats: Sequence[str],
    form: PromptForm,
    row_bytes: int,
    advance: Callable[[int, int], None],
) -> tuple[tuple[FileEntry, ...], tuple[str, ...], int, tuple[str, ...]]:
    """Write a shard's rows in every format; the files have their names only once they are complete on disk.

    Returns their entries, the rows' digests, their tokens, and notes worth telling (repeated haystacks, leaks).
    `row_bytes`: nominal size of a row. `advance(rows, tokens)` is called as rows are made.
    """
    digests: list[str] = []
    tokens = 0
    notes: dict[str, None] = {}
    paths = [shard_path(stem, suffix) for suffix in formats]
    with ExitStack() as stack:
        writers: list[RowWriter] = []
        for suffix, path in zip(formats, paths, strict=True):
            file = stack.enter_context(atomic_file(folder / path))
            writer: RowWriter = (
                ParquetWriter(file, form, row_bytes) if suffix == "parquet" else JsonlWriter(file, suffix)
            )
            writers.append(writer)
        for group in _groups(rows):
            for row in group:
                digests.append(row_digest(row))
                tokens += row["prompt_tokens"]
                if row["leak"] is not None:
                    notes[f"{row['corpus']} already holds {row['leak']!r}, a keyword of needle {row['needle_id']}"] = None
                if row["haystack_passes"] > 1:
                    notes[f"{row['corpus']} is repeated to fill length {row['length']}"] = None
            for writer in writers:
                writer.write(group)
            advance(len(group), sum(row["prompt_tokens"] for row in group))
        for writer in writers:
            writer.close()
    entries = tuple(
        FileEntry(path, file_sha256(folder / path), len(digests), (folder / path).stat().st_size) for path in paths
    )
    return entries, tuple(digests), tokens, tuple(notes)


def _groups(rows: Iterable[Row]) -> Iterator[list[Row]]:
    """Rows in groups within the row group limits; a single longer row is a group of its own."""
    group: list[Row] = []
    size = 0
    for row in rows:
        length = prompt_bytes(row)
        if group and (len(group) == GROUP_ROWS or size + length > GROUP_BYTES):
            yield group
            group, size = [], 0
        group.append(row)
        size += length
    if group:
        yield group


def prompt_bytes(row: Row) -> int:
    """UTF-8 bytes of a row's prompt texts, at most: three for each character that is not ASCII."""
    prompt = row["prompt"]
    texts = [prompt] if isinstance(prompt, str) else [message["content"] for message in prompt]
    return sum(len(text) if text.isascii() else len(text.encode()) for text in texts)


@contextmanager
def atomic_file(path: Path) -> Iterator[IO[bytes]]:
    """A file that appears under its name complete and synced, or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    # The process id keeps two writers apart; a leftover of a killed one is swept by the next build.
    aside = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        with aside.open("wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        aside.replace(path)
        sync_folder(path.parent)
    except BaseException:
        aside.unlink(missing_ok=True)
        raise


def write_atomically(path: Path, data: bytes) -> FileEntry:
    """Write a whole file at once; returns its entry, the path being the file's name."""
    with atomic_file(path) as file:
        file.write(data)
    return FileEntry(path.name, hashlib.sha256(data).hexdigest(), None, len(data))


def sync_folder(folder: Path) -> None:
    """Make a rename in a folder durable, where the system can."""
    if os.name != "posix":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def entry_problem(folder: Path, entry: FileEntry) -> str | None:
    """What is wrong with a file against its entry; None if it is intact."""
    path = folder / entry.path
    if not path.is_file():
        return f"{entry.path}: missing"
    size = path.stat().st_size
    if size != entry.bytes:
        return f"{entry.path}: {size} bytes, expected {entry.bytes}"
    found = file_sha256(path)
    return None if found == entry.sha256 else f"{entry.path}: sha256 is {found}, expected {entry.sha256}"


