"""Makes reports for pages, and reads what a page shows of them."""

from __future__ import annotations

import json
import re
from typing import Any

import polars as pl
from made import Record, made, right

from niah_score.join.join import Lines
from niah_score.report.report import Report


def shown_by(page: bytes) -> dict[str, Any]:
    match = re.search(rb'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)
    assert match
    shown: dict[str, Any] = json.loads(match[1])
    return shown


def large(count: int = 312, needles: int = 30) -> tuple[list[Record], list[Record]]:
    """One cell with many rows: every fourth answer is wrong, every eighth row has none."""
    rows = [
        {**row, "length": 1000, "depth_percent": 50.0, "needle_id": f"needle-{number % needles:02}"}
        for number, row in enumerate(made(count))
    ]
    answers = right(rows)
    for number, answer in enumerate(answers):
        if number % 4 == 1:
            answer["prediction"] = "I do not know."
    return rows, [answer for number, answer in enumerate(answers) if number % 8]


def bare(lines: list[tuple[Any, ...]]) -> Report:
    """A report of nothing but scores."""
    names = ("length", "depth_percent", "language", "corpus", "needle_id", "control", "status", "score")
    kinds = (pl.Int64, pl.Float64, *[pl.String] * 5, pl.Float64)
    frame = pl.DataFrame(lines, schema=dict(zip(names, kinds, strict=True)), orient="row").with_columns(
        pl.int_range(pl.len()).cast(pl.String).str.zfill(6).alias("id"),
        *(pl.lit(None, pl.String).alias(name) for name in ("haystack_id", "task", "extracted", "error", "reasoning")),
        pl.lit("keyword").alias("metric"),
        pl.lit("nothing").alias("finding"),
        pl.lit("x").alias("prediction"),
    )
    statuses = dict(frame["status"].value_counts().iter_rows())
    return Report("d", "0" * 8, "m", (), frame, None, statuses, Lines(0, 0, 0, 0, 0), [], {})
