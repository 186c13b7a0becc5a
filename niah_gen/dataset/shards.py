"""Makes the rows of a shard and writes them, in every wanted format: the loop from cells to files.

Rows over one haystack are near-copies, so a compression window that spans two of them removes nearly everything: the
row groups of Parquet files are written whole, and the compression level follows the row size.
"""

from __future__ import annotations

import gzip
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, NamedTuple

from niah_gen.corpora.read import Corpus
from niah_gen.dataset.card import chosen_rows, short_row
from niah_gen.errors import IntegrityError
from niah_gen.recipe.recipe import Recipe
from niah_gen.rows.assemble import Assembler, Made
from niah_gen.rows.plan import Plan, PlannedPart, make_plan
from niah_gen.tasks.base import NO_CONTEXT
from niah_gen.tasks.records import Cell
from niah_score.contract import (
    COLUMNS,
    REPEATING_COLUMNS,
    FileEntry,
    Row,
    data_path,
    file_sha256,
    row_digest,
    row_schema,
)
from niah_score.machine.files import atomic_file
from niah_score.text.language import find_language

if TYPE_CHECKING:
    import pyarrow as pa

Advance = Callable[[int, int], None]

# Row group limits: small enough for a reader's memory and the Hub's viewer, large enough to share a window.
GROUP_BYTES = 64 * 1000 * 1000
GROUP_ROWS = 1024
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


class Written(NamedTuple):
    """What a written shard adds to the manifest, the card and the preview.

    digests: of its rows, in order; tokens: of its prompts; shown: its rows in the preview.
    """

    files: tuple[FileEntry, ...]
    digests: tuple[str, ...]
    tokens: int
    notes: tuple[str, ...]
    shown: tuple[Mapping[str, Any], ...]


class SentPlan(NamedTuple):
    """What another process needs to make the plan again, and to write shards of it into a folder.

    given: the recipe as given; drawn: the corpora of which some documents were drawn, so that nobody reads all
    documents again.
    """

    digest: str
    given: Recipe
    drawn: Mapping[str, Corpus]
    folder: Path
    formats: tuple[str, ...]

    def writer(self, differs: str) -> Callable[[int], Written]:
        """As `shard_writer`. Raises IntegrityError, saying `differs`, if the plan becomes another one here."""
        plan = make_plan(self.given, known=self.drawn)
        if plan.digest != self.digest:
            raise IntegrityError(differs)
        return shard_writer(plan, self.folder, self.formats, lambda rows, tokens: None)


def shard_writer(plan: Plan, folder: Path, formats: Sequence[str], advance: Advance) -> Callable[[int], Written]:
    """What writes the shard of a plan with a number; `advance` gets rows and tokens as they are made.

    Each file gets its name only once it is complete on disk.
    """
    assembler, shown = Assembler(plan), chosen_rows(plan)

    def write(number: int) -> Written:
        shard = plan.shards[number]
        cells = plan.cells[shard.first : shard.last]
        names = [data_path(suffix, shard.stem) for suffix in formats]
        digests: list[str] = []
        notes: dict[str, None] = {}
        previewed: list[Mapping[str, Any]] = []
        total = 0
        with ExitStack() as stack:
            files = [stack.enter_context(atomic_file(folder / name)) for name in names]
            writers = [_writer(stack, suffix, file, plan, cells) for suffix, file in zip(formats, files, strict=True)]
            for lines, group in _groups(assembler.rows(cells)):
                rows = [row for row, _ in group]
                for write_lines in writers:
                    write_lines(lines)
                places = (place - len(digests) for place in shown[number])
                # Taken here, as reading some rows of a file back means unpacking all of it.
                previewed += [short_row(rows[place]) for place in places if 0 <= place < len(rows)]
                digests += map(row_digest, rows)
                notes |= dict.fromkeys(note for _, own in group for note in own)
                tokens = sum(row["prompt_tokens"] for row in rows)
                total += tokens
                advance(len(rows), tokens)
        entries = tuple(
            FileEntry(name, file_sha256(folder / name), len(digests), (folder / name).stat().st_size) for name in names
        )
        return Written(entries, tuple(digests), total, tuple(notes), tuple(previewed))

    return write


def _groups(rows: Iterable[Made]) -> Iterator[tuple[list[bytes], list[Made]]]:
    """Rows in groups within the row group limits, each also as a line; a single row beyond them is its own group."""
    lines: list[bytes] = []
    group: list[Made] = []
    size = 0
    for made in rows:
        line = _line(made[0])
        if group and (len(group) == GROUP_ROWS or size + len(line) > GROUP_BYTES):
            yield lines, group
            lines, group, size = [], [], 0
        lines.append(line)
        group.append(made)
        size += len(line)
    if group:
        yield lines, group


def _line(row: Row) -> bytes:
    """A row as JSON on one line; the keys of messages are in alphabetical order, as in its digest."""
    import orjson

    prompt: Any = row["prompt"]
    if not isinstance(prompt, str):
        prompt = [{"content": message["content"], "role": message["role"]} for message in prompt]
    return orjson.dumps({**row, "prompt": prompt})


def _writer(
    stack: ExitStack, suffix: str, file: IO[bytes], plan: Plan, cells: Sequence[Cell]
) -> Callable[[Sequence[bytes]], object]:
    """What appends rows, as lines of JSON, to an open file, which is completed when the stack closes."""
    if suffix == "parquet":
        return _parquet_writer(stack, file, row_schema(plan.recipe.form), _level(plan, cells))
    out: Any = file
    if suffix == "jsonl.gz":
        out = stack.enter_context(gzip.GzipFile(filename="", mode="wb", compresslevel=6, fileobj=file, mtime=0))
    elif suffix == "jsonl.zst":
        import zstandard

        settings = zstandard.ZstdCompressionParameters.from_level(
            3, window_log=_WINDOW_LOG, enable_ldm=True, write_checksum=True
        )
        packer = zstandard.ZstdCompressor(compression_params=settings)
        out = stack.enter_context(packer.stream_writer(file, closefd=False))
    return lambda lines: [out.write(line + b"\n") for line in lines]


def _parquet_writer(
    stack: ExitStack, file: IO[bytes], schema: pa.Schema, level: int
) -> Callable[[Sequence[bytes]], object]:
    import pyarrow as pa
    import pyarrow.json as pj
    import pyarrow.parquet as pq

    parquet = pq.ParquetWriter(
        file, schema, compression="zstd", compression_level=level, use_dictionary=list(REPEATING_COLUMNS),
        # The least and the greatest prompt are of no use to readers.
        write_statistics=[name for name in COLUMNS if name != "prompt"],
        write_page_index=True, write_page_checksum=True,
        # One page per row group: by default, lists of messages are cut into 1 MiB pages, which lose the repeats.
        data_page_size=2**30,
    )  # fmt: skip
    stack.enter_context(parquet)
    parsing = pj.ParseOptions(explicit_schema=schema, unexpected_field_behavior="error")

    def write(lines: Sequence[bytes]) -> None:
        # Tables made of Python values would import pandas, if it is installed, for a second.
        data = b"\n".join(lines)
        reading = pj.ReadOptions(use_threads=False, block_size=len(data) + 1)
        parquet.write_table(pj.read_json(pa.BufferReader(data), reading, parsing), row_group_size=len(lines))

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
