"""Scoring more answers takes hardly more memory: those that are not being scored are on disk."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from peak_memory import PEAK, RETURNED_AT_ONCE, needs_linux

pytestmark = needs_linux
# Scores in a process of its own, which prints its peak memory.
SCORE = f"""{PEAK}
import sys
from niah_score.join import join_on_disk, reading, rows_on_disk
from niah_score.report import scores_file
from niah_score.evaluation import evaluate
from niah_score.report.write import write
if len(sys.argv) > 4:
    rows_on_disk.MOST_IN_MEMORY = rows_on_disk.CHUNK_ROWS = int(sys.argv[4])
    join_on_disk._MOST_BYTES = reading._BATCH_BYTES = scores_file._GROUP_BYTES = 4_000_000
report = evaluate(sys.argv[1], sys.argv[2], metrics=["exact"])
write(report, sys.argv[3])
print(report.height, peak_kib())
"""


def peak(folder: Path, rows: int, characters: int, *most: int) -> float:
    """The peak memory in MB of a process that scores `rows` answers of `characters` characters each."""
    dataset, answers = folder / f"{rows}.jsonl", folder / f"answers-{rows}.jsonl"
    with dataset.open("w") as truth, answers.open("w") as replies:
        for number in range(rows):
            name = f"row-{number * 7919 % rows:08}"
            row = {
                "id": name, "answers": ["red"], "metric": "exact", "needle_id": f"n{number % 9}",
                "length": 1000, "depth_percent": 50.0,
            }  # fmt: skip
            truth.write(json.dumps(row) + "\n")
            replies.write(json.dumps({"id": name, "prediction": f"{number} ".ljust(characters, "x")}) + "\n")
    done = subprocess.run(
        [sys.executable, "-c", SCORE, dataset, answers, folder / f"out-{rows}", *map(str, most)],
        env={**os.environ, **RETURNED_AT_ONCE}, capture_output=True, text=True, check=True,
    )  # fmt: skip
    scored, kib = map(int, done.stdout.split())
    assert scored == rows
    return kib * 1024 / 1e6


@pytest.mark.slow
def test_three_times_the_answers_take_hardly_more_memory(tmp_path: Path) -> None:
    # The texts of the larger run are 240 MB, 160 more than those of the smaller one. The peak of one run varies by
    # about 15 MB, so a smaller difference would prove nothing.
    few, many = peak(tmp_path, 4_000, 20_000, 500), peak(tmp_path, 12_000, 20_000, 500)
    assert many < few + 160 / 4, (few, many)


@pytest.mark.soak
def test_400_000_answers_take_hardly_more_memory_than_200_000(tmp_path: Path) -> None:
    few, many = peak(tmp_path, 200_000, 300), peak(tmp_path, 400_000, 300)
    assert many < 1.3 * few, (few, many)
