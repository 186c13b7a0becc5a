"""Scores a large dataset to files: what does not fit in memory is written as it is scored."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Executor
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from niah_score.join.join_on_disk import JoinedOnDisk
from niah_score.join.rows_on_disk import RowsOnDisk
from niah_score.join.samples import samples_type
from niah_score.join.spool import Scratch, full_disk
from niah_score.report.layout import SAMPLES, SCORES
from niah_score.report.scores_file import ScoresFile, ScoresWriter, about_run, coder_of
from niah_score.scoring.score import ScoringOptions, score_columns
from niah_score.scoring.score_on_disk import score_on_disk

if TYPE_CHECKING:
    import polars as pl

    from niah_score.statistics.columns import CodedColumns


class ScoredTables(NamedTuple):
    """A line for each row, and one for each sample if any row has several, in memory or in files.

    `counted`: what figures are computed from, if the lines are in files.
    """

    rows: pl.DataFrame | ScoresFile
    samples: pl.DataFrame | ScoresFile | None
    counted: CodedColumns | None = None


def score_large(
    rows: RowsOnDisk,
    joined: JoinedOnDisk,
    options: ScoringOptions,
    model: str,
    pool: Executor | None,
    ahead: int,
    samples: str,
    scratch: Scratch,
) -> ScoredTables:
    """Score all rows of a large dataset. `ahead`, `samples`: as in `score_on_disk`.

    Raises ResourceError if the disk is full.
    """
    import polars as pl

    columns, of_rows = _columns(options, rows, samples_type(several=joined.several))
    about = about_run(rows.name, rows.digest8, model)
    places = scratch.path(SCORES), scratch.path(SAMPLES)
    with _in_scratch(places[0]):
        line = ScoresWriter(places[0], of_rows, about)
        every = ScoresWriter(places[1], columns, about) if joined.several else None
    coder = coder_of(of_rows, rows.height)
    for chunk in score_on_disk(rows, joined, options, pool, ahead, samples):
        of_chunk = chunk.rows.with_columns(pl.col("samples").cast(of_rows["samples"]))
        coder.add(of_chunk)
        with _in_scratch(places[0]):
            line.add(of_chunk)
            if every is not None and chunk.samples is not None:
                every.add(chunk.samples)
    joined.spool.drop()
    with _in_scratch(places[0]):
        of_lines, of_samples = line.end(), every.end() if every else None
    return ScoredTables(
        ScoresFile(of_lines, scratch), ScoresFile(of_samples, scratch) if of_samples else None, coder.end()
    )


@contextmanager
def _in_scratch(place: Path) -> Iterator[None]:
    """Say which disk is full if a temporary file cannot be written: the one that the error names, or `place`."""
    try:
        yield
    except OSError as error:
        raise full_disk(Path(error.filename) if isinstance(error.filename, str) else place, error) from None


def _columns(
    options: ScoringOptions, rows: RowsOnDisk, of_samples: pl.DataType
) -> tuple[dict[str, pl.DataType], dict[str, pl.DataType]]:
    """The columns of samples and of rows, in the order in which chunks bring them.

    A metric's columns come with the first chunk that has a row judged by it; `samples` follows the first chunk's.
    """
    every: dict[str, pl.DataType] = {}
    of_rows: dict[str, pl.DataType] = {}
    for own in rows.judged_by:
        columns = score_columns(options, own)
        every |= {name: kind for name, kind in columns.items() if name not in every}
        columns = {**columns, "samples": of_samples}
        of_rows |= {name: kind for name, kind in columns.items() if name not in of_rows and name != "sample"}
    return every, of_rows
