"""examples/slurm_array.sbatch answers a dataset in shards, any of which can be submitted again.

Slurm is not needed: the script runs in bash with the variables that Slurm sets, and `srun` runs its arguments.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from niah_score import evaluate

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]


@pytest.fixture
def environment(truth: list[dict[str, Any]], dataset: Path, tmp_path: Path) -> dict[str, str]:
    """The environment of each task in an array of three, except for its number."""
    (tmp_path / "bin").mkdir()
    for name, command in (("srun", 'exec "$@"'), ("python", f'exec {sys.executable} "$@"')):
        (tmp_path / "bin" / name).write_text(f"#!/bin/bash\n{command}\n")
        (tmp_path / "bin" / name).chmod(0o755)
    (tmp_path / "truth.json").write_text(json.dumps({row["prompt"]: row["answers"][0] for row in truth}), "utf-8")
    return {
        **os.environ,
        "PATH": f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": str(Path(__file__).parent / "fake_vllm"),
        "FAKE_VLLM_TRUTH": str(tmp_path / "truth.json"),
        "FAKE_VLLM_CALLS": str(tmp_path / "calls.jsonl"),
        "DATASET": str(dataset),
        "MODEL": "m",
        "ANSWERS": str(tmp_path / "answers"),
        "SLURM_ARRAY_TASK_COUNT": "3",
    }


def task(number: int, environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    """Run one task of the array."""
    return subprocess.run(
        ["bash", "examples/slurm_array.sbatch"], cwd=ROOT, env={**environment, "SLURM_ARRAY_TASK_ID": str(number)},
        capture_output=True, text=True, check=False,
    )  # fmt: skip


def test_the_tasks_of_an_array_answer_every_row_once(environment: dict[str, str], dataset: Path) -> None:
    for number in (1, 2, 3):
        done = task(number, environment)
        assert done.returncode == 0, done.stderr
    answers = Path(environment["ANSWERS"])
    assert sorted(file.name for file in answers.iterdir()) == ["1-of-3.jsonl", "2-of-3.jsonl", "3-of-3.jsonl"]
    report = evaluate(dataset, answers, metrics=["keyword"])
    assert (report.lines.used, report.lines.read, report.problems) == (36, 36, [])


def test_a_task_submitted_alone_needs_the_number_of_shards(environment: dict[str, str]) -> None:
    alone = {**environment, "SLURM_ARRAY_TASK_COUNT": "1", "FLAGS": "--batch 3 --no-prefix-caching"}
    done = task(2, alone)
    assert done.returncode == 2
    assert "--shard" in done.stderr  # 2/1 is refused, and nothing is answered twice
    assert task(2, {**alone, "SHARDS": "3"}).returncode == 0
    assert (Path(environment["ANSWERS"]) / "2-of-3.jsonl").read_bytes().count(b"\n") == 12


def test_a_task_without_a_dataset_or_a_model_says_so(environment: dict[str, str]) -> None:
    for name in ("DATASET", "MODEL"):
        done = task(1, {key: value for key, value in environment.items() if key != name})
        assert done.returncode != 0
        assert f"{name}: say which" in done.stderr
