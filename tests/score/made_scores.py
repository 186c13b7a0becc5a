"""Makes scored frames of hand-made rows, and computes the expected figures with plain loops."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import polars as pl
import pytest
from hypothesis import strategies as st
from properties import examples

from niah_score.scoring.findings import FINDINGS, STATUSES
from niah_score.statistics.intervals import ONE_NEEDLE
from niah_score.statistics.scored import UNANSWERED

steady = examples(20)

SCHEMA: dict[str, Any] = {
    "id": pl.String, "task": pl.String, "language": pl.String, "corpus": pl.String, "control": pl.String,
    "length": pl.Int64, "depth_percent": pl.Float64, "needle_id": pl.String, "haystack_id": pl.String,
    "metric": pl.String, "status": pl.String, "finding": pl.String, "score": pl.Float64, "keyword": pl.Float64,
    "keyword.needles": pl.List(pl.Boolean),
}  # fmt: skip
Record = dict[str, Any]


def frame(records: Sequence[Record]) -> pl.DataFrame:
    """A scored frame of some rows; fields they leave out are null, and the ids count up."""
    usual = {"status": "ok", "metric": "keyword"}
    return pl.DataFrame(
        [dict.fromkeys(SCHEMA) | usual | {"id": f"row-{number:04}"} | record for number, record in enumerate(records)],
        schema=SCHEMA,
        orient="row",
    )


records = st.lists(
    st.fixed_dictionaries(
        {
            "task": st.sampled_from(["single", "multi"]),
            "language": st.sampled_from(["en", "zh"]),
            "control": st.sampled_from([None, "absent"]),
            "length": st.sampled_from([None, 1000, 2000, 4000]),
            "depth_percent": st.sampled_from([None, 0.0, 33.3, 100.0]),
            "needle_id": st.sampled_from([None, "a", "b", "c"]),
            "haystack_id": st.sampled_from(["p", "q", "r"]),
            "status": st.sampled_from(STATUSES),
            "finding": st.sampled_from([None, *FINDINGS]),
            "score": st.sampled_from([None, 0.0, 100.0, 100 / 3, 87.5]),
        }
    ),
    min_size=1,
    max_size=40,
)


def grid(scores: Sequence[Sequence[float]], repeats: int = 1) -> list[Record]:
    """A row for each length (1,000, 2,000, ...) x depth (0, 50, ...) x repeat."""
    return [
        {"length": 1000 * (k + 1), "depth_percent": 50.0 * d, "language": "zh", "task": "single", "score": score}
        for k, line in enumerate(scores)
        for d, score in enumerate(line)
        for _ in range(repeats)
    ]


def mean(values: Sequence[float]) -> float | None:
    """The mean; None if there are no values."""
    return math.fsum(values) / len(values) if values else None


def agrees(line: Record, rows: Sequence[Record]) -> None:
    """Assert that a figure is what plain loops over its rows compute."""
    values = [row["score"] for row in rows if row["score"] is not None]
    assert (line["rows"], line["n"]) == (len(rows), len(values))
    assert line["unanswered"] == sum(row["status"] in UNANSWERED for row in rows)
    assert line["mean"] == pytest.approx(mean(values))
    if not values:
        assert line["low"] is line["high"] is line["low_these"] is line["high_these"] is None
        return
    assert 0 <= line["low_these"] <= line["mean"] <= line["high_these"] <= 100
    needles = {row.get("needle_id") for row in rows if row["score"] is not None}
    if len(needles) == 1 and needles != {None}:
        assert line["low"] is line["high"] is None
        assert line["method"] == ONE_NEEDLE
    else:
        assert 0 <= line["low"] <= line["mean"] <= line["high"] <= 100
