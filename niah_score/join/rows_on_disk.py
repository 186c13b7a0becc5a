"""Reads the truth of a dataset of any size: as one table if that is small, else sorted by id in a temporary file.

A large dataset is read once. Runs of some hundred thousand rows are sorted and written to the file in pages; a sample
of the ids says where to cut, and the rows between two cuts are gathered from the pages of all runs. So memory never
holds more rows than one run, however large the dataset is.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from niah_score.contract import Manifest, PartEntry
from niah_score.join.dataset_files import DatasetFiles, each_intact, find_files
from niah_score.join.row_columns import RowsPart
from niah_score.join.rows import (
    CHUNK_ROWS,
    IdDigest,
    Rows,
    check_count,
    check_parts,
    doubled_id,
    parts_of,
    sorted_rows,
    together,
)
from niah_score.join.spool import Extent, Scratch, Spool, own_copy

if TYPE_CHECKING:
    import polars as pl

# Datasets of more rows, or with more bytes of answers, are kept on disk.
MOST_IN_MEMORY = 262_144
MOST_BYTES_IN_MEMORY = 256_000_000
# Chunks have fewer rows if their answers would be larger than this.
_CHUNK_BYTES = 64_000_000
_PAGE_ROWS = 2_048
# How many rows of a run one sampled id stands for, when the cuts are chosen.
_STEP = 64


class RowsChunk(NamedTuple):
    """Some rows in a file: the place of the `first` among all, how many, and where their table and targets are."""

    first: int
    rows: int
    first_id: str
    table: Extent
    targets: Extent


@dataclass(frozen=True)
class RowsOnDisk:
    """The truth of a large dataset, sorted by id, in `chunks`; all else is as `Rows` has it.

    `metrics`: how many rows are judged by each. `judged_by`: the different sets of metrics that chunks are judged by,
    in order of first appearance.
    """

    spool: Spool
    chunks: tuple[RowsChunk, ...]
    height: int
    name: str
    digest8: str
    manifest: Manifest | None
    parts: tuple[PartEntry, ...]
    metrics: dict[str, int]
    judged_by: tuple[tuple[str, ...], ...]

    def some(self, first: int, last: int) -> Rows:
        """The rows of the chunks from `first` up to but not including `last`."""
        chunks = self.chunks[first:last]
        parts = [RowsPart(self.spool.get(chunk.table), self.spool.get(chunk.targets)) for chunk in chunks]
        return Rows(*together(parts), self.name, self.digest8, self.manifest, self.parts)

    def all(self) -> Rows:
        """All rows in memory."""
        return self.some(0, len(self.chunks))

    def of_ids(self, ids: pl.Series) -> Rows:
        """The rows of some ids."""
        parts = []
        for chunk in self.chunks:
            table = self.spool.get(chunk.table)
            own = table.filter(table["id"].is_in(ids.implode()))
            if own.height:
                part = _with_own_targets(own, self.spool.get(chunk.targets))
                parts.append(RowsPart(own_copy(part.table), own_copy(part.targets)))
        return Rows(*together(parts), self.name, self.digest8, self.manifest, self.parts)


def read_truth(dataset: Path, scratch: Scratch, answer_bytes: int = 0) -> Rows | RowsOnDisk:
    """Read a dataset's truth. `scratch`: for what does not fit into memory; `answer_bytes`: the size of its answers.

    Raises what `read_rows` does, and ResourceError if there is no room on the disk.
    """
    files = find_files(dataset)
    parts = each_intact(files, parts_of)
    held: list[RowsPart] = []
    count = 0
    for part in parts:
        held.append(part)
        count += part.table.height
        if count > MOST_IN_MEMORY or answer_bytes > MOST_BYTES_IN_MEMORY:
            return _on_disk(files, _after(held, parts), dataset, scratch, answer_bytes)
    return sorted_rows(files, held, dataset)


def metrics_of(rows: Rows | RowsOnDisk) -> dict[str, int]:
    """How many rows are judged by each metric, by name."""
    if isinstance(rows, RowsOnDisk):
        return rows.metrics
    return dict(rows.table["metric"].value_counts().sort("metric").iter_rows())


def _after(held: list[RowsPart], rest: Iterator[RowsPart]) -> Iterator[RowsPart]:
    """The held parts, each released once it is taken, and then the rest."""
    held.reverse()
    while held:
        yield held.pop()
    yield from rest


class _Page(NamedTuple):
    """Some sorted rows of a run, in the file."""

    first_id: str
    last_id: str
    table: Extent
    targets: Extent


class _Runs:
    """Sorted runs of rows in a file. `ids`: a sample of all ids; `rows`: how many there are."""

    def __init__(self, spool: Spool) -> None:
        self._spool = spool
        self.pages: list[_Page] = []
        self.ids: list[str] = []
        self.rows = 0

    def add(self, parts: list[RowsPart]) -> None:
        """Sort some rows into a run; the list is emptied."""
        import polars as pl

        table, targets = together(parts)
        parts.clear()
        order = pl.int_range(self.rows, self.rows + table.height, dtype=pl.UInt32, eager=True).alias("order")
        table = table.insert_column(0, order)
        self.rows += table.height
        table = table[table["id"].arg_sort()]
        # Not as a series, which would keep all ids of the run in memory.
        self.ids += table["id"].gather_every(_STEP).to_list()
        for page in table.iter_slices(_PAGE_ROWS):
            self.pages.append(_Page(page["id"][0], page["id"][-1], *_put(self._spool, page, targets)))

    def between(self, low: str | None, high: str | None) -> list[RowsPart]:
        """The rows with ids from `low` up to but not including `high`; None is no limit."""
        import polars as pl

        parts = []
        for page in self.pages:
            if (high is not None and page.first_id >= high) or (low is not None and page.last_id < low):
                continue
            table = self._spool.get(page.table)
            if low is not None and page.first_id < low:
                table = table.filter(pl.col("id") >= low)
            if high is not None and page.last_id >= high:
                table = table.filter(pl.col("id") < high)
            if table.height:
                parts.append(RowsPart(table, self._spool.get(page.targets)))
        return parts

    def cuts(self) -> list[str | None]:
        """Ids that divide all rows into ranges of about one run, with None at both ends."""
        step = max(1, MOST_IN_MEMORY // _STEP)
        inner = dict.fromkeys(sorted(self.ids)[step::step])
        return [None, *inner, None]


def _with_own_targets(table: pl.DataFrame, targets: pl.DataFrame) -> RowsPart:
    """Rows with only those of the targets that they refer to."""
    import polars as pl

    own = table["target"].unique().sort()
    codes = own.search_sorted(table["target"]).cast(pl.UInt32).alias("target")
    return RowsPart(table.with_columns(codes), targets[own])


def _put(spool: Spool, table: pl.DataFrame, targets: pl.DataFrame) -> tuple[Extent, Extent]:
    """Write rows and their targets to a file."""
    part = _with_own_targets(table, targets)
    return spool.put(part.table), spool.put(part.targets)


def _on_disk(
    files: DatasetFiles, parts: Iterator[RowsPart], dataset: Path, scratch: Scratch, answer_bytes: int
) -> RowsOnDisk:
    read = Spool(scratch, "rows-read")
    runs = _Runs(read)
    held: list[RowsPart] = []
    for part in parts:
        held.append(part)
        if sum(one.table.height for one in held) >= MOST_IN_MEMORY:
            runs.add(held)
    if held:
        runs.add(held)
    check_count(runs.rows, files.manifest, dataset)
    rows = CHUNK_ROWS
    while rows > 64 and rows * (answer_bytes // runs.rows) > _CHUNK_BYTES:
        rows //= 2
    gathered = _Gathered(Spool(scratch, "rows"), files, dataset, rows)
    for low, high in pairwise(runs.cuts()):
        gathered.add(runs.between(low, high))
    read.drop()
    return gathered.end()


class _Gathered:
    """Writes ranges of rows to a file in chunks sorted by id, and collects what is needed about all of them."""

    def __init__(self, spool: Spool, files: DatasetFiles, dataset: Path, chunk: int) -> None:
        self._spool, self._files, self._dataset, self._chunk = spool, files, dataset, chunk
        self._left: RowsPart | None = None
        self._chunks: list[RowsChunk] = []
        self._rows = 0
        self._ids = IdDigest()
        self._last: str | None = None
        self._again: dict[str, None] = {}
        self._metrics: Counter[str] = Counter()
        self._judged_by: dict[tuple[str, ...], None] = {}

    def add(self, parts: Sequence[RowsPart]) -> None:
        """Take the rows of the next range, sorted or not."""
        if not parts:
            return
        table, targets = together(parts)
        table = table[table["id"].arg_sort()]
        self._collect(table)
        if self._left is not None:
            table, targets = together([self._left, RowsPart(table, targets)])
        whole = table.height // self._chunk * self._chunk
        self._put(table.head(whole), targets)
        self._left = RowsPart(table.tail(table.height - whole), targets) if whole < table.height else None

    def end(self) -> RowsOnDisk:
        """Write the last chunk and return all rows. Raises ScoreError if two rows share an id."""
        if self._left is not None:
            self._put(*self._left)
        if self._again:
            raise doubled_id(self._dataset, next(iter(self._again)), len(self._again))
        files = self._files
        digest8 = files.manifest.digest8 if files.manifest else self._ids.digest8
        return RowsOnDisk(
            self._spool, tuple(self._chunks), self._rows, files.name, digest8, files.manifest, files.parts,
            dict(sorted(self._metrics.items())), tuple(self._judged_by),
        )  # fmt: skip

    def _put(self, table: pl.DataFrame, targets: pl.DataFrame) -> None:
        for chunk in table.iter_slices(self._chunk):
            where = _put(self._spool, chunk, targets)
            self._chunks.append(RowsChunk(self._rows, chunk.height, chunk["id"][0], *where))
            self._rows += chunk.height
            self._judged_by.setdefault(tuple(sorted(chunk["metric"].unique().to_list())))

    def _collect(self, table: pl.DataFrame) -> None:
        import polars as pl

        again = table.filter(pl.col("id") == pl.col("id").shift(1, fill_value=self._last))
        self._again |= dict.fromkeys(again["id"].to_list())
        self._last = table["id"][-1]
        check_parts(table, self._files.parts, self._dataset)
        if not self._files.manifest:
            self._ids.add(table["id"])
        self._metrics.update(dict(table["metric"].value_counts().iter_rows()))
