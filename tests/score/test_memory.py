"""A million answers are scored in two gigabytes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest
from peak_memory import PEAK, RETURNED_AT_ONCE, needs_linux

ROWS = 1_000_000
# Scores in a process of its own, which prints its peak memory.
SCORE = f"""{PEAK}
import sys
from niah_score.evaluation import evaluate
from niah_score.report.write import write
report = evaluate(sys.argv[1], sys.argv[2])
write(report, sys.argv[3])
print(report.height, peak_kib())
"""


@needs_linux
@pytest.mark.soak
def test_a_million_answers_of_a_hundred_characters_take_two_gigabytes(tmp_path: Path) -> None:
    names = [f"52c3b6fc-en_essays-8000-d0500-velden-archive-r0-{number * 7919 % ROWS:012}" for number in range(ROWS)]
    frame = pl.DataFrame({"id": names}).with_columns(
        answers=pl.lit(["The ledger of the mill is red."]), keywords=pl.lit([["red"]]), length=8000, depth_percent=50.0,
        needle_id=pl.int_range(pl.len()).mod(99).cast(pl.String), haystack_id=pl.int_range(pl.len()).cast(pl.String),
    )  # fmt: skip
    frame.write_parquet(tmp_path / "rows.parquet")
    with (tmp_path / "answers.jsonl").open("w") as file:
        for number, name in enumerate(names):
            prediction = f"{number} The ledger is {'red' if number % 3 else 'blue'} ".ljust(100, "x")
            file.write(json.dumps({"id": name, "prediction": prediction}) + "\n")
    done = subprocess.run(
        [sys.executable, "-c", SCORE, tmp_path / "rows.parquet", tmp_path / "answers.jsonl", tmp_path / "out"],
        env={**os.environ, **RETURNED_AT_ONCE}, capture_output=True, text=True, check=True,
    )  # fmt: skip
    scored, kib = map(int, done.stdout.split())
    assert scored == ROWS
    assert kib * 1024 < 2e9, kib
