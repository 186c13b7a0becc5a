"""Makes scored runs of a small dataset of worlds: two parts, two languages, two lengths, six questions each."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import polars as pl
from made_reports import report
from numpy.typing import NDArray

from niah_score.contract import PartEntry
from niah_score.report.report import Report

PARTS, LANGUAGES, LENGTHS, QUESTIONS = ("records", "moves"), ("en", "zh"), (2000, 4000), 6


def world_run(worlds: int = 8, accuracy: float = 0.9, seed: int = 0, *, spread: float = 0.1, name: str = "m") -> Report:
    """Answers that are right as often as said, more or less so in each world, by `spread`."""
    rows = list(product(PARTS, LANGUAGES, range(worlds), LENGTHS, range(QUESTIONS)))
    draw = np.random.default_rng(seed)
    easy = dict.fromkeys((row[:3] for row in rows), 0.0)
    easy = {world: float(np.clip(accuracy + spread * draw.standard_normal(), 0, 1)) for world in easy}
    scores = [100.0 * bool(draw.random() < easy[row[:3]]) for row in rows]
    made = report(scores)
    # Worlds of two languages have the names of their schemas in common.
    frame = made.scores.with_columns(
        id=pl.Series(["-".join(map(str, row)) for row in rows]),
        part=pl.Series([row[0] for row in rows]),
        language=pl.Series([row[1] for row in rows]),
        needle_id=pl.Series([f"{row[0]}-{row[2]}" for row in rows]),
        haystack_id=pl.Series([f"{row[:4]}" for row in rows]),
        length=pl.Series([row[3] for row in rows]),
        depth_percent=pl.lit(None, pl.Float64),
    )
    parts = tuple(PartEntry(part, 1.0, len(rows) // 2) for part in PARTS)
    return replace(made, scores=frame, parts=parts, model=name)


def scored_as(run: Report, scores: NDArray[np.float64] | pl.Series, name: str | None = None) -> Report:
    """A run with other scores."""
    values = pl.Series(scores, dtype=pl.Float64)
    return replace(run, scores=run.scores.with_columns(score=values, keyword=values), model=name or run.model)


def with_status(run: Report, status: str, which: pl.Expr, score: float | None = None) -> Report:
    """A run in which some rows have another status, and its score."""
    held = [pl.when(which).then(score).otherwise(pl.col(name)).alias(name) for name in ("score", "keyword")]
    return replace(
        run, scores=run.scores.with_columns(*held, status=pl.when(which).then(pl.lit(status)).otherwise("status"))
    )


def beyond(worlds: int) -> pl.Expr:
    """The rows of all worlds but the first few of each part and language."""
    return pl.col("needle_id").str.extract(r"(\d+)$").cast(pl.Int64) >= worlds
