"""Writes the data files of a plan, one shard of rows in every wanted format, and a record of each shard.

Rows over one haystack are near-copies, so a compression window that spans two of them removes nearly everything: the
row groups of Parquet files are written whole, and the compression level follows the row size.
"""

from __future__ import annotations

import gzip
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict
from typing import IO, Any, NamedTuple

from niah_gen.corpora.read import Corpus
from niah_gen.dataset.folders import BuildFolders
from niah_gen.dataset.preview import chosen_rows, short_row
from niah_gen.errors import IntegrityError
from niah_gen.recipe.recipe import Recipe
from niah_gen.rows.assemble import Assembler, PendingRow
from niah_gen.rows.plan import Plan, PlannedPart, make_plan
from niah_gen.tasks.base import NO_CONTEXT
from niah_gen.tasks.records import Cell
from niah_score.contract import (
    COLUMNS,
    DATA_FORMATS,
    REPEATING_COLUMNS,
    FileEntry,
    PromptForm,
    canonical_json,
    data_path,
    file_problem,
    file_sha256,
    read_regular,
    row_schema,
    seal_is_broken,
    sealed,
    strict_json,
)
from niah_score.contract.regular_files import NoRegularFileError
from niah_score.machine.files import atomic_file, write_atomically
from niah_score.text.language import find_language

Advance = Callable[[int, int], None]
Write = Callable[[Sequence[PendingRow]], object]

# Row group limits: small enough for a reader's memory and the Hub's viewer, large enough to share a window.
GROUP_BYTES = 64 * 1000 * 1000
GROUP_ROWS = 1024
# The largest record to read: it has some 70 bytes for each row of a shard.
_MOST_RECORD_BYTES = 512 * 2**20
# Common readers cannot open windows larger than 2**27.
_WINDOW_LOG = 27

# Text that repeats within this many bytes is still in the 4 MiB window of zstd level 9, as nominal row sizes are up to
# a third too low; later repeats need the 8 MiB of level 17. A row over a shorter corpus repeats that corpus: 14 rows of
# a million tokens of essays (61 MB) take 0.1 s and 0.47 MB at level 9, 0.9 s and 0.24 to 0.28 MB at level 17. Rows of
# 2.5 MB over a corpus that does not repeat take 0.2 s and 1/40 of the text, and 2.4 s and 1/50 at level 17.
_LEVEL_9_AGAIN_BYTES = 3_000_000

# Short rows over one haystack that fill that window many times: level 9 indexes little of what it has matched, and
# stores the text again when the first copy leaves the window (200 rows of 140 kB: 103 kB; 54 kB at level 17).
_SHORT_ROW_BYTES = 200_000
_LEVEL_9_ALIKE_BYTES = 16_000_000

# For rows that share no text, where a window over two rows gains nothing: a row of a million tokens of keys and values
# takes 9 ms and 670 kB, at level 9 98 ms and 603 kB, at level 17 1.6 s and 497 kB. And for rows that repeat one line of
# noise, which every level compresses fully: a row of 128k tokens takes 0.7 ms and 1.4 kB, at level 9 5.2 ms and 1.7 kB.
_QUICK_LEVEL = 1


class ShardRecord(NamedTuple):
    """What a shard adds to the manifest: its files, the digests of its rows in order, notes, and its preview rows."""

    plan_digest: str
    number: int
    files: tuple[FileEntry, ...]
    digests: tuple[str, ...]
    tokens: int
    notes: tuple[str, ...]
    shown: tuple[Mapping[str, Any], ...]


class SentPlan(NamedTuple):
    """What another process needs to make the plan again, and shards of it.

    given: the recipe as given; drawn: the corpora of which some documents were drawn, so that nobody reads all
    documents again.
    """

    digest: str
    given: Recipe
    drawn: Mapping[str, Corpus]
    target: BuildFolders
    formats: tuple[str, ...]


def sent_plan(plan: Plan, target: BuildFolders, formats: Sequence[str]) -> SentPlan:
    """The plan in a form that another process can be sent."""
    drawn = {spec: corpus for spec, corpus in plan.sources.items() if corpus.draw}
    return SentPlan(plan.digest, plan.given, drawn, target, tuple(formats))


def maker_of(sent: SentPlan, advance: Advance, differs: str) -> Callable[[int], ShardRecord]:
    """As `shard_maker`, of a plan that was sent. Raises IntegrityError, saying `differs`, if it becomes another one."""
    plan = make_plan(sent.given, known=sent.drawn)
    if plan.digest != sent.digest:
        raise IntegrityError(differs)
    return shard_maker(plan, sent.target, sent.formats, advance)


def shard_maker(
    plan: Plan, target: BuildFolders, formats: Sequence[str], advance: Advance
) -> Callable[[int], ShardRecord]:
    """What writes the numbered shard of a plan and returns its record; `advance` gets rows and tokens as they are made.

    Each file gets its name only once it is complete on disk, and the record is written last.
    """
    assembler = Assembler(plan)
    shown = chosen_rows(plan)

    def write(number: int) -> ShardRecord:
        shard = plan.shards[number]
        cells = plan.cells[shard.first : shard.last]
        paths = {suffix: target.dataset / data_path(suffix, shard.stem) for suffix in formats}
        digests: list[str] = []
        notes: dict[str, None] = {}
        previewed: list[Mapping[str, Any]] = []
        total = 0
        with ExitStack() as stack:
            writers = [
                _writer(stack, suffix, stack.enter_context(atomic_file(path)), plan, cells)
                for suffix, path in paths.items()
            ]
            for group in _groups(assembler.pending_rows(cells)):
                for write_group in writers:
                    write_group(group)
                places = (place - len(digests) for place in shown[number])
                # Taken here, as reading some rows of a file back means unpacking all of it.
                previewed += [short_row(group[place].row()) for place in places if 0 <= place < len(group)]
                digests += [pending.digest() for pending in group]
                notes |= dict.fromkeys(note for pending in group for note in pending.notes)
                tokens = sum(pending.truth["prompt_tokens"] for pending in group)
                total += tokens
                advance(len(group), tokens)
        files = tuple(
            FileEntry(data_path(suffix, shard.stem), file_sha256(path), len(digests), path.stat().st_size)
            for suffix, path in paths.items()
        )
        record = ShardRecord(plan.digest, number, files, tuple(digests), total, tuple(notes), tuple(previewed))
        fields = {**record._asdict(), "files": [asdict(entry) for entry in files]}
        write_atomically(target.record(number), canonical_json(sealed(fields)))
        return record

    return write


def written_record(
    target: BuildFolders, plan_digest: str, number: int, stem: str, formats: Sequence[str]
) -> ShardRecord | str:
    """The record of a shard whose files are all intact, else what is wrong.

    `stem`: the path of its files without format folder and suffix.
    """
    path = target.record(number)
    if not os.path.lexists(path):
        return "not written"
    try:
        if path.is_symlink():
            raise ValueError("a link")
        record = _read_record(read_regular(path, _MOST_RECORD_BYTES))
    except (NoRegularFileError, ValueError, KeyError, TypeError, RecursionError):
        return f"{path.name} is damaged"
    if record.plan_digest != plan_digest:
        return "written for another plan"
    names = [entry.path for entry in record.files]
    if record.number != number or not {*names} <= {data_path(suffix, stem) for suffix in DATA_FORMATS}:
        return f"{path.name} is another file's record"
    there = {entry.suffix for entry in record.files}
    if there != {*formats}:
        return f"written as {', '.join(sorted(there))}, not as {', '.join(formats)}"
    for name in names:
        if (target.dataset / name).is_symlink():
            return f"{name}: a symbolic link; its target is not part of the dataset"
    problems = [problem for entry in record.files if (problem := file_problem(target.dataset, entry))]
    return "; ".join(problems) or record


def _read_record(data: bytes) -> ShardRecord:
    """Raises ValueError, KeyError, TypeError or RecursionError if it is not what a build writes."""
    fields = strict_json(data)
    files = tuple(map(FileEntry.of, fields["files"]))
    record = ShardRecord(**{name: fields[name] for name in ShardRecord._fields} | {"files": files})
    texts = (record.plan_digest, *record.digests, *record.notes)
    counts = (record.number, record.tokens)
    if (
        seal_is_broken(fields)
        or not all(isinstance(text, str) for text in texts)
        or not all(type(count) is int and count >= 0 for count in counts)
        or not {entry.rows for entry in files} <= {len(record.digests)}
    ):
        raise ValueError("not what a build writes")
    return record


def _groups(rows: Iterable[PendingRow]) -> Iterator[list[PendingRow]]:
    """Rows in groups within the row group limits; a single row beyond them is its own group."""
    group: list[PendingRow] = []
    size = 0
    for pending in rows:
        length = pending.bytes
        if group and (len(group) == GROUP_ROWS or size + length > GROUP_BYTES):
            yield group
            group, size = [], 0
        group.append(pending)
        size += length
    if group:
        yield group


def _writer(stack: ExitStack, suffix: str, file: IO[bytes], plan: Plan, cells: Sequence[Cell]) -> Write:
    """What appends a group of rows to an open file, which is completed when the stack closes."""
    if suffix == "parquet":
        return _parquet_writer(stack, file, plan.recipe.form, _level(plan, cells))
    import orjson

    out: Any = file
    if suffix == "jsonl.gz":
        out = stack.enter_context(gzip.GzipFile(filename="", mode="wb", compresslevel=6, fileobj=file, mtime=0))
    elif suffix == "jsonl.zst":
        import zstandard

        parameters = zstandard.ZstdCompressionParameters.from_level(
            3, window_log=_WINDOW_LOG, enable_ldm=True, write_checksum=True
        )
        compressor = zstandard.ZstdCompressor(compression_params=parameters)
        out = stack.enter_context(compressor.stream_writer(file, closefd=False))

    def write(group: Sequence[PendingRow]) -> None:
        for pending in group:
            # The prompt is the last column, so its JSON goes in before the closing brace.
            out.write(b"".join((orjson.dumps(pending.truth)[:-1], b',"prompt":', *pending.json, b"}\n")))

    return write


def _parquet_writer(stack: ExitStack, file: IO[bytes], form: PromptForm, level: int) -> Write:
    import pyarrow as pa
    import pyarrow.parquet as pq

    schema = row_schema(form)
    writer = stack.enter_context(
        pq.ParquetWriter(
            file,
            schema,
            compression="zstd",
            compression_level=level,
            use_dictionary=list(REPEATING_COLUMNS),
            # The least and the greatest prompt are of no use to readers.
            write_statistics=[name for name in COLUMNS if name != "prompt"],
            write_page_index=True,
            write_page_checksum=True,
            # One page per row group: by default, lists of messages are cut into 1 MiB pages, which lose the repeats.
            data_page_size=2**30,
        )
    )

    def write(group: Sequence[PendingRow]) -> None:
        table = pa.Table.from_pylist([pending.row() for pending in group], schema)
        writer.write_table(table, row_group_size=len(group))

    return write


def _level(plan: Plan, cells: Sequence[Cell]) -> int:
    """The zstd level of a Parquet file with the rows of these cells, which have one length."""
    row_bytes = int(cells[0].length * find_language(cells[0].language).bytes_per_token)
    parts = [plan.part_of[name] for name in {cell.part for cell in cells}]
    alike = max(map(_rows_alike, parts))
    kinds = [planned.task.context for planned in parts]
    quick = all(kind.repeats_text or (kind.draws_text and alike == 1) for kind in kinds)
    return compression_level(row_bytes, alike, quick=quick, again=_repeated_after(parts, cells, row_bytes))


def compression_level(row_bytes: int, alike: int, *, quick: bool = False, again: int | None = None) -> int:
    """The zstd level for rows of `row_bytes` (nominal), `alike` of which share a haystack.

    `quick`: they share no text, or repeat the same few sentences. `again`: after how many bytes a row repeats its own
    text, if it does.

    Decided by sizes and families alone, never by timing, so that bytes are the same everywhere.
    """
    if quick:
        return _QUICK_LEVEL
    many_short = row_bytes <= _SHORT_ROW_BYTES and row_bytes * alike > _LEVEL_9_ALIKE_BYTES
    far = min(row_bytes, again or row_bytes) > _LEVEL_9_AGAIN_BYTES
    return 17 if many_short or far else 9


def _rows_alike(planned: PlannedPart) -> int:
    """The most rows of a part that share a haystack."""
    part = planned.part
    twins = sum(name != NO_CONTEXT for name in part.controls)
    return 1 if part.fresh_haystacks else len(planned.grid.depths) * (1 + twins)


def _repeated_after(parts: Sequence[PlannedPart], cells: Sequence[Cell], row_bytes: int) -> int | None:
    """After how many bytes rows repeat their own text: the size of their largest corpus if all are smaller."""
    longest = 0
    for name in {cell.corpus for cell in cells}:
        corpora = [corpus for part in parts for corpus in part.corpora if corpus.name == name and name in part.fillers]
        if not corpora:
            return None
        size = 0
        for document in corpora[0].documents:
            size += len(document.text.encode())
            if size >= row_bytes:
                return None
        longest = max(longest, size)
    return longest
