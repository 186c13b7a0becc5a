"""Joins answers to the rows of a large dataset through temporary files, with the same outcome as `join`.

The rows are cut into parts by ranges of ids. Answers go to their part as they are read; then the parts are joined one
after another. Answers whose id is no row's come last and are all held in memory: prompts, cells and order have no
ranges.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from niah_score.errors import IntegrityError, ResourceError
from niah_score.join.join import (
    OF_ANSWERS,
    LeftOut,
    Lines,
    Problem,
    made_for_others,
    malformed_problems,
    may_be_placed,
    missing_ids,
    other_prompt_problems,
    other_prompts,
    placed_by_id,
    placed_otherwise,
    refuse_many,
    refuse_undecided,
    unknown_problems,
    without_duplicates,
)
from niah_score.join.reading import Batch, schema
from niah_score.join.rows import Rows
from niah_score.join.rows_on_disk import RowsOnDisk
from niah_score.join.spool import Extent, Scratch, Spool, own_copy

if TYPE_CHECKING:
    import numpy as np
    import polars as pl
    from numpy.typing import NDArray

# How many chunks of rows make a part.
_PART_CHUNKS = 4
# How many answers are read, or bytes of their texts, before they go to their parts.
_MOST_HELD = 131_072
_MOST_BYTES = 64_000_000
# The most bytes of texts to the rows of a part, whose answers are joined in memory.
MOST_PART_BYTES = 400 * 2**20


class JoinedOnDisk(NamedTuple):
    """`answers`: for each chunk of the rows, where its used answers are in the file, in the form of `Joined`.

    Their places count from the first row of the chunk. `lines`, `problems`: as in `Joined`. `missing`: the ids of rows
    without an answer. `several`: whether any row has more than one.
    """

    spool: Spool
    answers: tuple[Extent, ...]
    lines: Lines
    problems: list[Problem]
    missing: list[str]
    several: bool


class _PartJoined(NamedTuple):
    """The outcome of a part. `used`: the files and lines of its used answers."""

    answers: list[Extent]
    used: pl.DataFrame
    left_out: list[LeftOut]
    others: pl.DataFrame
    missing: list[str]
    several: bool


def join_on_disk(
    rows: RowsOnDisk,
    names: Sequence[str],
    batches: Iterable[Batch],
    scratch: Scratch,
    *,
    on_duplicate: str = "error",
    repeats_are_samples: bool = False,
    by_order: bool = False,
) -> JoinedOnDisk:
    """Like `join`; `scratch` is for temporary files. Raises what that does, and ResourceError if the disk is full."""
    import polars as pl

    malformed: list[Problem] = []
    read = _AnswersOfParts(rows, Spool(scratch, "answers-read"))
    for file, answers, broken in batches:
        malformed += malformed_problems(broken, names[file])
        refuse_many(len(malformed), names[file])
        read.add(answers, names[file])
    read.flush(names[-1])
    joining = _Joining(rows, names, read, Spool(scratch, "answers"), "samples" if repeats_are_samples else on_duplicate)
    lost = joining.every_part()
    may_be = may_be_placed(lost)
    strange = lost
    if may_be.any():
        placed = placed_otherwise(lost.filter(may_be), rows.all(), names, by_order=by_order)
        nowhere = placed["place"].is_null()
        joining.again_with(placed.filter(~nowhere))
        strange = pl.concat([lost.filter(~may_be), placed.filter(nowhere)]).sort("nth")
    parts = joining.parts
    if strange.height and not any(part.used.height for part in parts):
        raise IntegrityError(made_for_others(strange.head(1000), strange.height, rows.some(0, 8), names))
    left_out = sorted((one for part in parts for one in part.left_out), key=lambda one: one.nth)
    refuse_undecided(left_out, on_duplicate)
    others = pl.concat([part.others for part in parts]).sort("nth")
    problems = [*malformed, *unknown_problems(strange, names), *(one.problem for one in left_out)]
    problems += other_prompt_problems(others, names, joining.every_rows())
    lines = _lines(read.lines, parts, strange, len(malformed))
    # Until all answers are scored, they would take as much room again as those that are joined.
    read.spool.drop()
    return JoinedOnDisk(
        joining.spool,
        tuple(where for part in parts for where in part.answers),
        lines,
        problems,
        [name for part in parts for name in part.missing],
        any(part.several for part in parts),
    )


class _LineMarks:
    """Marked lines of files, one byte each."""

    def __init__(self) -> None:
        self._of_files: dict[int, NDArray[np.bool_]] = {}

    def mark(self, lines: pl.DataFrame) -> None:
        """Mark the lines of a frame with the columns `file` and `line`."""
        import numpy as np

        for (file,), some in lines.select("file", "line").partition_by("file", as_dict=True).items():
            numbers = some["line"].to_numpy()
            marks = self._of_files.get(file, np.zeros(0, np.bool_))
            if len(marks) <= numbers.max():
                marks = np.concatenate([marks, np.zeros(2 * int(numbers.max()) + 1 - len(marks), np.bool_)])
            marks[numbers] = True
            self._of_files[file] = marks

    def count(self) -> int:
        return sum(int(marks.sum()) for marks in self._of_files.values())

    def count_beyond(self, others: _LineMarks) -> int:
        """How many lines are marked here but not there."""
        total = 0
        for file, marks in self._of_files.items():
            theirs = others._of_files.get(file)
            both = 0 if theirs is None else int((marks[: len(theirs)] & theirs[: len(marks)]).sum())
            total += int(marks.sum()) - both
        return total


def _lines(read: _LineMarks, parts: Sequence[_PartJoined], strange: pl.DataFrame, malformed: int) -> Lines:
    used, lost = _LineMarks(), _LineMarks()
    for part in parts:
        used.mark(part.used)
    lost.mark(strange)
    # A line with several samples is used if one of them is.
    unknown = lost.count_beyond(used)
    return Lines(
        read.count() + malformed, used.count(), read.count() - used.count() - unknown, unknown, malformed
    )  # fmt: skip


class _AnswersOfParts:
    """Answers in a file, divided by their ids among the parts of the rows; `nth` is their reading order.

    `lines`: all that hold an answer. `of_part`: where the answers of each part are. `lost`: where those of no part are.
    """

    def __init__(self, rows: RowsOnDisk, spool: Spool) -> None:
        import polars as pl

        self.chunks = [
            (first, min(first + _PART_CHUNKS, len(rows.chunks))) for first in range(0, len(rows.chunks), _PART_CHUNKS)
        ]
        self.spool = spool
        self.lines = _LineMarks()
        self.of_part: list[list[Extent]] = [[] for _ in self.chunks]
        self.lost: list[Extent] = []
        self._first_ids = pl.Series([rows.chunks[first].first_id for first, _ in self.chunks], dtype=pl.String)
        self._held: list[pl.DataFrame] = []
        self._bytes = 0
        self._part_bytes = [0] * (len(self.chunks) + 1)
        self._read = 0

    def add(self, answers: pl.DataFrame, name: str) -> None:
        """Take answers of the file with a name."""
        import polars as pl

        if not answers.height:
            return
        self.lines.mark(answers)
        nth = pl.int_range(self._read, self._read + answers.height, dtype=pl.Int64, eager=True)
        self._read += answers.height
        self._held.append(answers.with_columns(nth.alias("nth")))
        self._bytes += _text_bytes(answers)
        if sum(frame.height for frame in self._held) >= _MOST_HELD or self._bytes >= _MOST_BYTES:
            self.flush(name)

    def flush(self, name: str) -> None:
        """Write the held answers to the file. Raises ResourceError, naming the last file, beyond MOST_PART_BYTES."""
        import polars as pl

        if not self._held:
            return
        frame = pl.concat(self._held)
        self._held, self._bytes = [], 0
        # -1 if an id sorts before every row's, so that it belongs to none.
        part = self._first_ids.search_sorted(frame["id"], side="right").cast(pl.Int64) - 1
        part = pl.select(pl.when(frame["id"].is_null()).then(-1).otherwise(part).alias("part"))["part"]
        for (number,), some in (
            frame.with_columns(part).partition_by("part", maintain_order=True, include_key=False, as_dict=True).items()
        ):
            self._part_bytes[number] += _text_bytes(some)
            if self._part_bytes[number] > MOST_PART_BYTES:
                raise ResourceError(
                    f"{name}: more than {MOST_PART_BYTES:,} bytes of answers so far belong to the same few rows, or to "
                    "none; leave out duplicates and the files of other datasets"
                )
            (self.lost if number < 0 else self.of_part[number]).append(self.spool.put(some))

    def answers(self, where: Sequence[Extent]) -> pl.DataFrame:
        """The answers at some places in the file, in the order in which they were written."""
        import polars as pl

        empty = pl.DataFrame(schema={**schema(), "nth": pl.Int64()})
        return pl.concat([empty, *(self.spool.get(one) for one in where)])


def _text_bytes(answers: pl.DataFrame) -> int:
    return sum(int(answers[name].str.len_bytes().sum() or 0) for name in ("text", "reasoning"))


class _Joining:
    """Joins the answers of one part after another. `parts`: the outcome of each."""

    def __init__(
        self, rows: RowsOnDisk, names: Sequence[str], read: _AnswersOfParts, spool: Spool, repeats: str
    ) -> None:
        self.spool = spool
        self.parts: list[_PartJoined] = []
        self._rows, self._names, self._read, self._repeats = rows, names, read, repeats

    def every_part(self) -> pl.DataFrame:
        """Join by id. Returns the answers whose id no row has, in the order in which they were read."""
        import polars as pl

        nowhere = self._read.answers(self._read.lost).with_columns(
            pl.lit(None, pl.Int64).alias("place"), pl.lit(None, pl.String).alias("why_lost")
        )
        lost = [nowhere]
        for number in range(len(self._read.chunks)):
            rows = self._rows_of(number)
            placed = placed_by_id(self._read.answers(self._read.of_part[number]), rows)
            away = placed["place"].is_null()
            if away.any():
                lost.append(own_copy(placed.filter(away)))
                placed = placed.filter(~away)
            self.parts.append(self._settled(number, rows, placed))
        return pl.concat(lost).sort("nth")

    def again_with(self, others: pl.DataFrame) -> None:
        """Join again the parts of other answers, placed without ids; their places count from the first of all rows."""
        import polars as pl

        for number, (first, last) in enumerate(self._read.chunks):
            begin = self._rows.chunks[first].first
            end = self._rows.chunks[last - 1].first + self._rows.chunks[last - 1].rows
            own = others.filter(pl.col("place").is_between(begin, end, closed="left"))
            if own.height:
                rows = self._rows_of(number)
                placed = placed_by_id(self._read.answers(self._read.of_part[number]), rows)
                placed = placed.filter(pl.col("place").is_not_null())
                own = own.with_columns(pl.col("place") - begin).select(placed.columns)
                self.parts[number] = self._settled(number, rows, pl.concat([placed, own]).sort("nth"))

    def every_rows(self) -> Iterable[Rows]:
        """The rows of all parts."""
        return (self._rows_of(number) for number in range(len(self._read.chunks)))

    def _rows_of(self, number: int) -> Rows:
        return self._rows.some(*self._read.chunks[number])

    def _settled(self, number: int, rows: Rows, known: pl.DataFrame) -> _PartJoined:
        import polars as pl

        known, left_out = without_duplicates(known, self._names, rows, self._repeats)
        if self._repeats == "samples":
            known = known.with_columns(pl.int_range(pl.len(), dtype=pl.Int64).over("place").alias("sample"))
        others = other_prompts(known, rows).select("nth", "file", "line", "prompt_sha256", "chat_sha256", "row_id")
        others = own_copy(others)
        missing = missing_ids(rows, known["place"])
        answers = known.select(OF_ANSWERS).sort("place", "sample")
        where, start = [], 0
        first, last = self._read.chunks[number]
        begin = self._rows.chunks[first].first
        for chunk in self._rows.chunks[first:last]:
            end = answers["place"].search_sorted(chunk.first - begin + chunk.rows, side="left")
            own = answers.slice(start, end - start).with_columns(pl.col("place") - (chunk.first - begin))
            where.append(self.spool.put(own))
            start = end
        used = known.select(pl.col("file").cast(pl.Int32), pl.col("line").cast(pl.Int64))
        several = known["place"].n_unique() < known.height
        return _PartJoined(where, used, left_out, others, missing, several)
