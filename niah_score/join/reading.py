"""Reads answer files into frames of answers; several processes read a large file, a range at a time.

Ranges come back in the order of the file, so nothing depends on which process was first. No file may change meanwhile:
some of its ranges could come from one run and some from another.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Executor, Future
from io import SEEK_END
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, NamedTuple

from niah_score.errors import ScoreError, listed
from niah_score.formats.record import Answer, LineError, Malformed, NoAnswersError
from niah_score.join.coordinates import as_json
from niah_score.machine.refusals import reading
from niah_score.text.visible import without_surrogates

if TYPE_CHECKING:
    import polars as pl

    from niah_score.formats import AnswerFile

# A worker reads this much in about a fifth of a second; files of two or more ranges are worth splitting.
RANGE_BYTES = 16_000_000
_BATCH = 65_536
_BATCH_BYTES = 64_000_000


class Batch(NamedTuple):
    """Answers of one file as a frame of `schema()`, and its records that are not answers."""

    file: int
    frame: pl.DataFrame
    malformed: list[Malformed]


class _Range(NamedTuple):
    """What a worker read: its batches, and how many lines the range holds."""

    batches: list[Batch]
    lines: int


def schema() -> dict[str, pl.DataType]:
    """The columns of answers: those of `Answer`, coordinates as JSON, and the number of the file."""
    import polars as pl

    return {
        "id": pl.String(), "text": pl.String(), "reasoning": pl.String(), "finish": pl.String(), "error": pl.String(),
        "prompt_sha256": pl.String(), "position": pl.Int64(), "sample": pl.Int64(), "line": pl.Int64(),
        "reference": pl.List(pl.String()), "chat_sha256": pl.String(), "in_template": pl.Boolean(),
        "coordinates": pl.String(), "file": pl.Int64(),
    }  # fmt: skip


class AnswerFiles:
    """Answer files that are read on iteration; with a pool, reading large ones begins at once.

    `empty`: why files that were read hold no answer, by their number. `ahead`: how many ranges are read in advance and
    held in memory.
    """

    def __init__(self, files: Sequence[AnswerFile], pool: Executor | None, ahead: int = 4) -> None:
        self.names = [without_surrogates(str(file.name)) for file in files]
        self.empty: dict[int, NoAnswersError] = {}
        self._files = [(file, file.state()) for file in files]
        self._shared = [_shared_out(file) if pool else None for file in files]
        self._pool = pool
        # The ranges that workers still have to read, and those that they have begun, in the order of the files.
        self._left = deque((number, cut) for number, cuts in enumerate(self._shared) for cut in pairwise(cuts or ()))
        self._begun: deque[Future[_Range]] = deque()
        for _ in range(ahead):
            self._begin()

    def _begin(self) -> None:
        """Let a worker read the next range."""
        if self._left and self._pool is not None:
            number, cut = self._left.popleft()
            file = self._files[number][0]
            self._begun.append(
                self._pool.submit(_read_range, number, (file.path, file.name), *cut, file.format, *file.field_names)
            )

    def _ranges(self, count: int) -> Iterator[_Range]:
        for _ in range(count):
            finished = self._begun.popleft().result()
            self._begin()
            yield finished

    def __iter__(self) -> Iterator[Batch]:
        """The batches of all files in order.

        Raises IntegrityError if a file has changed since the beginning, ScoreError if none of them holds an answer.
        """
        for number, (file, before) in enumerate(self._files):
            cuts = self._shared[number]
            try:
                yield from batches(number, file) if cuts is None else _in_order(self._ranges(len(cuts) - 1))
            except NoAnswersError as error:
                self.empty[number] = error
            except ScoreError:
                file.refuse_changed(before)
                raise
        for file, before in self._files:
            file.refuse_changed(before)
        if len(self.empty) == len(self._files):
            first = next(iter(self.empty.values()), None)
            if first is not None and len(self.empty) == 1:
                raise first
            raise ScoreError(listed(f"none of {len(self.empty)} files holds an answer:", list(self.empty.values())))


def batches(number: int, records: Iterable[Answer | Malformed]) -> Iterator[Batch]:
    """Records as frames of some ten thousand each, or fewer if their texts are long."""
    stream = iter(records)
    while batch := _next_records(stream):
        answers = [record for record in batch if isinstance(record, Answer)]
        malformed = [record for record in batch if isinstance(record, Malformed)] if len(answers) < len(batch) else []
        yield Batch(number, _frame(number, answers), malformed)


def _next_records(stream: Iterator[Answer | Malformed]) -> list[Answer | Malformed]:
    """The next records: _BATCH of them, or as many as hold about _BATCH_BYTES of text and reasoning."""
    batch: list[Answer | Malformed] = []
    held = 0
    for record in stream:
        batch.append(record)
        if isinstance(record, Answer):
            held += len(record.text or "") + len(record.reasoning or "")
        if len(batch) == _BATCH or held >= _BATCH_BYTES:
            break
    return batch


def _frame(number: int, answers: Sequence[Answer]) -> pl.DataFrame:
    import polars as pl

    kinds = schema()
    if not answers:
        return pl.DataFrame(schema=kinds)
    columns = dict(zip(Answer._fields, zip(*answers, strict=True), strict=True))
    series = []
    for field, kind in kinds.items():
        if field == "file":
            series.append(pl.repeat(number, len(answers), dtype=kind, eager=True).alias(field))
        elif columns[field].count(None) == len(answers):  # most formats lack most fields
            series.append(pl.repeat(None, len(answers), dtype=kind, eager=True).alias(field))
        elif field == "reference":
            lists = [None if given is None else list(given) for given in columns[field]]
            series.append(pl.Series(field, lists, dtype=kind))
        elif field == "coordinates":
            texts = [None if given is None else as_json(given) for given in columns[field]]
            series.append(pl.Series(field, texts, dtype=kind))
        else:
            series.append(pl.Series(field, columns[field], dtype=kind))
    return pl.DataFrame(series)


def _shared_out(file: AnswerFile) -> list[int] | None:
    """Where to cut a file into ranges; None if it is read whole."""
    if file.state().size < 2 * RANGE_BYTES:
        return None
    try:
        first = next(iter(file), None) if file.splittable() else None
    except NoAnswersError:
        return None  # raised again when its turn comes
    if not isinstance(first, Answer) or first.position is not None:
        return None  # positions would count from the beginning of each range
    return _cuts(file.path, file.name)


def _cuts(path: Path, name: Path) -> list[int]:
    """The boundaries of ranges of some RANGE_BYTES, each of whole lines."""
    cuts = [0]
    with _open(path, name) as stream:
        size = stream.seek(0, SEEK_END)
        while cuts[-1] + RANGE_BYTES < size:
            stream.seek(cuts[-1] + RANGE_BYTES)
            stream.readline()
            cuts.append(stream.tell())
    if cuts[-1] < size:
        cuts.append(size)
    return cuts


def _read_range(
    number: int, file: tuple[Path, Path], start: int, end: int, form: str, id_field: str | None, text_field: str | None
) -> _Range:
    from niah_score.formats import read_lines

    path, name = file
    records = read_lines(path, start, end, format=form, id_field=id_field, text_field=text_field, name=name)
    read = list(batches(number, records))
    with _open(path, name) as stream:
        stream.seek(start)
        return _Range(read, stream.read(end - start).count(b"\n"))


def _open(path: Path, name: Path) -> BinaryIO:
    with reading(name, path, advice="was it removed meanwhile?"):
        return path.open("rb")


def _in_order(ranges: Iterator[_Range]) -> Iterator[Batch]:
    """The batches of all ranges of a file; lines count from the beginning of the file."""
    import polars as pl

    before = 0
    while True:
        try:
            current = next(ranges, None)
        except LineError as error:
            raise error.after(before) from None
        if current is None:
            return
        for file, frame, malformed in current.batches:
            moved = [record._replace(line=record.line + before) for record in malformed]
            yield Batch(file, frame.with_columns(pl.col("line") + before), moved)
        before += current.lines
