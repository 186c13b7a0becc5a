"""Scores the rows of a large dataset in chunks; the process that scores a chunk reads its rows and answers."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Executor
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from niah_score.join.join_on_disk import JoinedOnDisk
from niah_score.join.rows_on_disk import RowsOnDisk
from niah_score.join.spool import Extent, read_extent
from niah_score.scoring.score import (
    SCORED_COLUMNS,
    ScoringOptions,
    in_order,
    one_line_a_row,
    score_chunk,
    targets_of,
    with_scores,
)

if TYPE_CHECKING:
    import polars as pl


class ScoredChunk(NamedTuple):
    """A line for each row of a chunk, and one for each sample; None if no row of the dataset has several."""

    rows: pl.DataFrame
    samples: pl.DataFrame | None


class _ChunkAt(NamedTuple):
    """Where on disk a chunk's rows, targets and answers are."""

    rows: Path
    table: Extent
    targets: Extent
    joined: Path
    answers: Extent


def score_on_disk(
    rows: RowsOnDisk,
    joined: JoinedOnDisk,
    options: ScoringOptions,
    pool: Executor | None,
    ahead: int,
    samples: str,
) -> Iterator[ScoredChunk]:
    """The scores of all rows in order. `ahead`: how many chunks are submitted to the pool before the first is done.

    `samples`: how the samples of a row count, one of WAYS.
    """
    chunks = (
        _ChunkAt(rows.spool.path, chunk.table, chunk.targets, joined.spool.path, answers)
        for chunk, answers in zip(rows.chunks, joined.answers, strict=True)
    )
    if pool is None:
        yield from (_scored(chunk, options, samples, joined.several) for chunk in chunks)
        return
    begun = ((chunk, pool.submit(_scored, chunk, options, samples, joined.several)) for chunk in chunks)
    yield from (scored for _, scored in in_order(begun, ahead))


def _scored(at: _ChunkAt, options: ScoringOptions, samples: str, several: bool) -> ScoredChunk:
    import polars as pl

    table, targets = read_extent(at.rows, at.table), read_extent(at.rows, at.targets)
    places = pl.int_range(table.height, dtype=pl.Int64, eager=True).alias("place")
    answers = read_extent(at.joined, at.answers)
    chunk = table.with_columns(places).join(answers, on="place", how="left", maintain_order="left_right")
    scored = score_chunk(chunk.select(SCORED_COLUMNS), *targets_of(chunk, targets), options)
    every = with_scores(chunk, scored)
    return ScoredChunk(one_line_a_row(every, samples), every if several else None)
