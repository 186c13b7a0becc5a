"""Writes one shard of rows in every wanted format, and records the result.

Each file is written aside, synced, and only then given its name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import ExitStack, suppress
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import IO, Any, Protocol

from niah_gen.dataset.jsonl import JsonlWriter
from niah_gen.dataset.parquet import ParquetWriter, compression_level
from niah_gen.dataset.preview import is_short_row, short_row
from niah_gen.dataset.writer_thread import WriterThread
from niah_gen.rows.assemble import PendingRow
from niah_score.contract import (
    FileEntry,
    PromptForm,
    canonical_json,
    data_path,
    file_sha256,
    sha256_hex,
    strict_json,
)
from niah_score.machine.files import atomic_file

# Row group limits: small enough for a reader's memory and the Hub's viewer, large enough to share a window.
GROUP_BYTES = 64 * 1000 * 1000
GROUP_ROWS = 1024
# The largest record to read: it has some 70 bytes for each row of a shard.
MOST_RECORD_BYTES = 512 * 2**20


@dataclass(frozen=True, slots=True)
class ShardJob:
    """A shard to write: the `number`th of a plan.

    `stem`: its config and the name of its files, without suffix. `row_bytes`: nominal size of a row; `alike`: how many
    rows share a haystack; `quick`: whether slow compression gains nothing over fast; `again`: after how many bytes a
    row repeats its own text, if it does. `shown`: the positions of the rows that the preview shows, from 0.
    """

    plan_digest: str
    number: int
    folder: Path
    stem: str
    formats: tuple[str, ...]
    form: PromptForm
    row_bytes: int
    alike: int
    quick: bool = False
    again: int | None = None
    shown: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class ShardRecord:
    """The result of a shard: its files, the digests of its rows in order, its preview rows, and notes on the rows."""

    plan_digest: str
    number: int
    files: tuple[FileEntry, ...]
    digests: tuple[str, ...]
    tokens: int
    notes: tuple[str, ...]
    shown: tuple[Mapping[str, Any], ...]

    def to_bytes(self) -> bytes:
        """The record as a file: its content, and the content's sha256 to detect damage."""
        body = asdict(self)
        return canonical_json({"record": body, "sha256": sha256_hex(canonical_json(body))})

    @staticmethod
    def from_bytes(data: bytes) -> ShardRecord | None:
        """The record in a file; None if it is damaged."""
        try:
            outer = strict_json(data)
            body = outer["record"]
            if sha256_hex(canonical_json(body)) != outer["sha256"]:
                return None
            files = tuple(FileEntry.of(entry) for entry in body["files"])
            record = ShardRecord(
                body["plan_digest"], body["number"], files, tuple(body["digests"]), body["tokens"],
                tuple(body["notes"]), tuple(body["shown"]),
            )  # fmt: skip
        except (ValueError, KeyError, TypeError, RecursionError):
            return None
        texts = (record.plan_digest, *record.digests, *record.notes)
        numbers = (record.number, record.tokens)
        typed = all(isinstance(text, str) for text in texts) and all(type(n) is int and n >= 0 for n in numbers)
        counted = {entry.rows for entry in record.files} <= {len(record.digests)}
        return record if typed and counted and all(map(is_short_row, record.shown)) else None


def write_shard(
    job: ShardJob, drafts: Iterable[PendingRow], writer: WriterThread, advance: Callable[[int, int], None]
) -> Future[ShardRecord]:
    """Write a shard's rows in every format; the files get their names only once they are complete on disk.

    `advance(rows, tokens)` is called as rows are made. Returns once all rows are made; the future has the record once
    they are written.
    """
    digests: list[str] = []
    tokens = 0
    notes: dict[str, None] = {}
    shown: list[Mapping[str, Any]] = []
    files = _ShardFiles(job, writer)
    groups: list[Future[None]] = []
    writer.unfinished[files] = files.abandon

    def write(group: Sequence[PendingRow]) -> None:
        files.write(group)
        # Preview rows are taken here: reading some rows of a file back means unpacking all of it.
        first = len(digests)
        places = (place - first for place in job.shown if first <= place < first + len(group))
        shown.extend(short_row(group[place].row()) for place in places)
        # Hashing releases the GIL, too.
        digests.extend(draft.digest() for draft in group)

    def finish() -> ShardRecord:
        try:
            for group in groups:
                group.result()
            entries = files.finish(len(digests))
            made = tuple(digests), tokens, tuple(notes), tuple(shown)
            return ShardRecord(job.plan_digest, job.number, entries, *made)
        except BaseException as error:
            files.abandon(error)
            raise
        finally:
            del writer.unfinished[files]

    try:
        for group in _groups(drafts):
            group_tokens = sum(draft.truth["prompt_tokens"] for draft in group)
            tokens += group_tokens
            notes |= dict.fromkeys(note for draft in group for note in draft.notes)
            groups.append(writer.write(partial(write, group)))
            advance(len(group), group_tokens)
    except BaseException as error:
        writer.then(partial(files.abandon, error))
        raise
    return writer.then(finish)


class _ShardFiles:
    """The open files of one shard."""

    def __init__(self, job: ShardJob, writer: WriterThread) -> None:
        self._job = job
        self._thread = writer
        self._paths = {suffix: job.folder / data_path(suffix, job.stem) for suffix in job.formats}
        self._stack = ExitStack()
        self._writers: list[GroupWriter] = []

    def write(self, group: Sequence[PendingRow]) -> None:
        """Append a group to every file."""
        if not self._writers:
            for suffix, path in self._paths.items():
                file = self._stack.enter_context(atomic_file(path))
                self._writers.append(self._writer(suffix, file))
        for writer in self._writers:
            writer.write(group)

    def _writer(self, suffix: str, file: IO[bytes]) -> GroupWriter:
        if suffix == "parquet":
            job = self._job
            level = compression_level(job.row_bytes, job.alike, quick=job.quick, again=job.again)
            return ParquetWriter(file, job.form, level, self._thread.scratch)
        return JsonlWriter(file, suffix)

    def finish(self, rows: int) -> tuple[FileEntry, ...]:
        """Complete the files and describe them."""
        for writer in self._writers:
            writer.close()
        self._stack.close()
        return tuple(
            FileEntry(data_path(suffix, self._job.stem), file_sha256(path), rows, path.stat().st_size)
            for suffix, path in self._paths.items()
        )

    def abandon(self, error: BaseException) -> None:
        """Remove what was written; calling it again does nothing."""
        writers, self._writers = self._writers, []
        for writer in writers:
            with suppress(Exception):
                writer.close()
        self._stack.__exit__(type(error), error, error.__traceback__)


def _groups(drafts: Iterable[PendingRow]) -> Iterator[list[PendingRow]]:
    """Rows in groups within the row group limits; a single row beyond them is its own group."""
    group: list[PendingRow] = []
    size = 0
    for draft in drafts:
        length = draft.bytes
        if group and (len(group) == GROUP_ROWS or size + length > GROUP_BYTES):
            yield group
            group, size = [], 0
        group.append(draft)
        size += length
    if group:
        yield group


class GroupWriter(Protocol):
    """Takes a group of rows at a time."""

    def write(self, group: Sequence[PendingRow]) -> None: ...
    def close(self) -> None: ...
