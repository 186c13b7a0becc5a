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
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict, dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, NamedTuple, Protocol, TypeVar

from niah_gen.rows.assemble import PendingRow
from niah_score.contract import (
    COLUMNS,
    REPEATING_COLUMNS,
    FileEntry,
    PromptForm,
    canonical_json,
    file_sha256,
    row_schema,
    sha256_hex,
)

if TYPE_CHECKING:
    from niah_gen.dataset.arrow import Scratch

Result = TypeVar("Result")

# Row group limits: small enough for a reader's memory and the Hub's viewer, large enough to share a window.
GROUP_BYTES = 64 * 1000 * 1000
GROUP_ROWS = 1024
# Rows up to this size fit twice into the 4 MiB window of zstd level 9; longer ones need the 8 MiB of level 17. So do
# rows over one haystack that go through that window many times: level 9 indexes little of what it has matched, and
# stores the text again when the first copy leaves the window (200 rows of 140 kB: 103 kB, by level 17 54 kB).
_LEVEL_9_ROW_BYTES = 1_500_000
_LEVEL_9_ALIKE_BYTES = 16_000_000
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


class GroupWriter(Protocol):
    """Takes a group of rows at a time."""

    def write(self, group: Sequence[PendingRow]) -> None: ...
    def close(self) -> None: ...


class ParquetWriter:
    """One Parquet file; each call writes one row group."""

    def __init__(self, file: IO[bytes], form: PromptForm, level: int, scratch: Scratch) -> None:
        import pyarrow.parquet as pq

        self._form = form
        self._scratch = scratch
        self._writer = pq.ParquetWriter(
            file,
            row_schema(form),
            compression="zstd",
            compression_level=level,
            use_dictionary=list(REPEATING_COLUMNS),
            # Of the least and the greatest prompt nobody can make use.
            write_statistics=[name for name in COLUMNS if name != "prompt"],
            write_page_index=True,
            write_page_checksum=True,
            # One page a row group: by default lists of messages are cut into pages of 1 MiB and lose the repeats.
            data_page_size=2**30,
        )

    def write(self, group: Sequence[PendingRow]) -> None:
        """Write rows as one row group."""
        from niah_gen.dataset.arrow import table

        self._writer.write_table(table(group, self._form, self._scratch), row_group_size=len(group))

    def close(self) -> None:
        """Write the footer."""
        self._writer.close()


class JsonlWriter:
    """One JSON object a line, columns in file order; plain, .gz or .zst."""

    def __init__(self, file: IO[bytes], suffix: str) -> None:
        self._owned: gzip.GzipFile | Any = None
        if suffix == "jsonl.gz":
            self._owned = gzip.GzipFile(filename="", mode="wb", compresslevel=6, fileobj=file, mtime=0)
        elif suffix == "jsonl.zst":
            import zstandard

            parameters = zstandard.ZstdCompressionParameters.from_level(
                3, window_log=_JSONL_WINDOW_LOG, enable_ldm=True
            )
            compressor = zstandard.ZstdCompressor(compression_params=parameters)
            self._owned = compressor.stream_writer(file, closefd=False)
        self._out = self._owned or file

    def write(self, group: Sequence[PendingRow]) -> None:
        """Append rows."""
        import orjson

        for draft in group:
            # The prompt is the last column, so its JSON goes in before the closing brace.
            head = orjson.dumps(draft.truth)[:-1]
            self._out.write(b"".join((head, b',"prompt":', *draft.json, b"}\n")))

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


@dataclass(frozen=True, slots=True)
class ShardJob:
    """A shard to be written. `row_bytes`: nominal size of a row; `alike`: how many rows share a haystack."""

    folder: Path
    stem: str
    formats: tuple[str, ...]
    form: PromptForm
    row_bytes: int
    alike: int

    @property
    def level(self) -> int:
        """The zstd level of Parquet files: by sizes alone, never by timing, so that bytes are the same everywhere."""
        short = self.row_bytes <= _LEVEL_9_ROW_BYTES and self.row_bytes * self.alike <= _LEVEL_9_ALIKE_BYTES
        return 9 if short else 17


class Written(NamedTuple):
    """A finished shard: its files, its rows' digests in order, their tokens, and what is worth telling the user."""

    files: tuple[FileEntry, ...]
    digests: tuple[str, ...]
    tokens: int
    notes: tuple[str, ...]


class Lane:
    """A second thread that writes while the next rows are made, one piece of work after the other.

    Compression, hashing and syncing release the interpreter, so they run beside it.
    """

    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(1)
        self._group: Future[None] | None = None

    def __enter__(self) -> Lane:
        return self

    def __exit__(self, kind: type[BaseException] | None, *rest: object) -> None:
        self._thread.shutdown(wait=True, cancel_futures=kind is not None)

    @cached_property
    def scratch(self) -> Scratch:
        """Memory for the prompts that the lane is writing."""
        from niah_gen.dataset.arrow import Scratch

        return Scratch(GROUP_BYTES)

    def then(self, work: Callable[[], Result]) -> Future[Result]:
        """Do some work after all work before it."""
        return self._thread.submit(work)

    def write(self, work: Callable[[], None]) -> Future[None]:
        """Write a group, once the group before it is written: what waits to be written stays in memory."""
        if self._group is not None:
            self._group.result()
        self._group = self.then(work)
        return self._group


def write_shard(
    job: ShardJob, drafts: Iterable[PendingRow], lane: Lane, advance: Callable[[int, int], None]
) -> Future[Written]:
    """Write a shard's rows in every format; the files get their names only once they are complete on disk.

    `advance(rows, tokens)` is called as rows are made. Returns once all rows are made; the future tells when they are
    written.
    """
    digests: list[str] = []
    tokens = 0
    notes: dict[str, None] = {}
    files = _ShardFiles(job, lane)
    groups: list[Future[None]] = []

    def finish() -> Written:
        try:
            for group in groups:
                group.result()
            return Written(files.finish(len(digests)), tuple(digests), tokens, tuple(notes))
        except BaseException as error:
            files.abandon(error)
            raise

    try:
        for group in _groups(drafts):
            more = sum(draft.truth["prompt_tokens"] for draft in group)
            tokens += more
            digests += [draft.digest() for draft in group]
            notes |= dict.fromkeys(note for draft in group for note in draft.notes)
            groups.append(lane.write(partial(files.write, group)))
            advance(len(group), more)
    except BaseException as error:
        lane.then(partial(files.abandon, error))
        raise
    return lane.then(finish)


class _ShardFiles:
    """The open files of one shard."""

    def __init__(self, job: ShardJob, lane: Lane) -> None:
        self._job = job
        self._lane = lane
        self._paths = {suffix: job.folder / shard_path(job.stem, suffix) for suffix in job.formats}
        self._stack = ExitStack()
        self._writers: list[GroupWriter] = []

    def write(self, group: Sequence[PendingRow]) -> None:
        """Append a group to every file."""
        if not self._writers:
            for suffix, path in self._paths.items():
                file = self._stack.enter_context(atomic_file(path))
                self._writers.append(
                    ParquetWriter(file, self._job.form, self._job.level, self._lane.scratch)
                    if suffix == "parquet"
                    else JsonlWriter(file, suffix)
                )
        for writer in self._writers:
            writer.write(group)

    def finish(self, rows: int) -> tuple[FileEntry, ...]:
        """Complete the files and describe them."""
        for writer in self._writers:
            writer.close()
        self._stack.close()
        return tuple(
            FileEntry(shard_path(self._job.stem, suffix), file_sha256(path), rows, path.stat().st_size)
            for suffix, path in self._paths.items()
        )

    def abandon(self, error: BaseException) -> None:
        """Remove what was written."""
        for writer in self._writers:
            with suppress(Exception):
                writer.close()
        self._stack.__exit__(type(error), error, error.__traceback__)


def _groups(drafts: Iterable[PendingRow]) -> Iterator[list[PendingRow]]:
    """Rows in groups within the row group limits; a single longer row is a group of its own."""
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
