"""A million answers are scored in two gigabytes, by all processes of the command together."""

from __future__ import annotations

import json
import time
from pathlib import Path

import polars as pl
import pytest
from made_commands import EXECUTABLE
from made_sessions import needs_proc, started

ROWS = 1_000_000


def held_by(session: int) -> int:
    """The bytes of memory that the processes of a session hold; what several share is counted once."""
    held = 0
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if int((process / "stat").read_text().rpartition(")")[2].split()[3]) == session:
                held += int((process / "smaps_rollup").read_text().split("Pss:")[1].split()[0]) * 1024
        except (OSError, IndexError):
            continue  # it has ended
    return held


@needs_proc
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
    out, peak = tmp_path / "out", 0
    files: list[str | Path] = [tmp_path / "rows.parquet", tmp_path / "answers.jsonl"]
    with started([EXECUTABLE, "score", *files, "--out", out, "--jobs", "2"]) as process:
        while process.poll() is None:
            peak = max(peak, held_by(process.pid))
            time.sleep(0.1)
        assert process.returncode == 0, process.communicate()[1]
    assert json.loads((out / "summary.json").read_bytes())["lines"]["used"] == ROWS
    assert 5e8 < peak < 2e9, peak
