"""Scores a large dataset into files: what does not fit into memory is written as it is scored."""

from __future__ import annotations

from concurrent.futures import Executor
from typing import TYPE_CHECKING, NamedTuple

from niah_score.join.join_on_disk import JoinedOnDisk
from niah_score.join.rows_on_disk import RowsOnDisk
from niah_score.join.samples import samples_type
from niah_score.join.spool import Scratch
from niah_score.report.layout import SAMPLES, SCORES
from niah_score.report.scores_file import ScoresFile, ScoresWriter, coder_of
from niah_score.scoring.score import ScoringOptions, score_columns
from niah_score.scoring.score_on_disk import score_on_disk

if TYPE_CHECKING:
    import polars as pl

    from niah_score.statistics.columns import CodedColumns


class ScoredTables(NamedTuple):
    """A line for each row, and one for each sample if any row has several: frames, or files.

    `counted`: what figures are made of, where the lines are in a file.
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
    """Score all rows of a large dataset. `ahead`, `samples`: as `score_on_disk` takes them.

    Raises ResourceError where the disk is full.
    """

    import polars as pl

    columns, of_rows = _columns(options, rows, samples_type(several=joined.several))
    about = {"dataset": rows.name, "digest8": rows.digest8, "model": model}
    line = ScoresWriter(scratch.path(SCORES), of_rows, about)
    every = ScoresWriter(scratch.path(SAMPLES), columns, about) if joined.several else None
    coder = coder_of(of_rows, rows.height)
    for chunk in score_on_disk(rows, joined, options, pool, ahead, samples):
        of_chunk = chunk.rows.with_columns(pl.col("samples").cast(of_rows["samples"]))
        line.add(of_chunk)
        coder.add(of_chunk)
        if every is not None and chunk.samples is not None:
            every.add(chunk.samples)
    joined.spool.drop()
    return ScoredTables(
        ScoresFile(line.end(), scratch),
        None if every is None else ScoresFile(every.end(), scratch),
        coder.end(),
    )


def _columns(
    options: ScoringOptions, rows: RowsOnDisk, of_samples: pl.DataType
) -> tuple[dict[str, pl.DataType], dict[str, pl.DataType]]:
    """The columns of samples and of rows, in the order in which the chunks bring them.

    Those of a metric come where the first row is judged by it, and how many samples a row has behind the first chunk's.
    """
    every: dict[str, pl.DataType] = {}
    of_rows: dict[str, pl.DataType] = {}
    for own in rows.judged_by:
        found = score_columns(options, own)
        every |= {name: kind for name, kind in found.items() if name not in every}
        found = {**found, "samples": of_samples}
        of_rows |= {name: kind for name, kind in found.items() if name not in of_rows and name != "sample"}
    return every, of_rows
