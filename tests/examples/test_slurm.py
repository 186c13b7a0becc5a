"""The batch files for Slurm answer and build datasets in shards, any of which can be submitted again.

Slurm is not needed: the scripts run in bash with the variables that Slurm sets, and `srun` runs its arguments.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from small_dataset import tree

import niah_gen
from niah_score import evaluate

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
# The real srun gives a command one CPU unless a number is stated.
SRUN = "[[ $1 == --cpus-per-task=1 ]] || { echo 'srun: how many CPUs?' >&2; exit 1; }\nshift\nexec \"$@\""
Slurm = Callable[[dict[str, str]], dict[str, str]]


def task(script: str, number: int, environment: dict[str, str], **more: str) -> tuple[int, str]:
    """Run one task of an array; return its exit code and what it printed to stderr."""
    done = subprocess.run(
        ["bash", f"examples/{script}.sbatch"], cwd=ROOT, capture_output=True, text=True, check=False,
        env={**environment, "SLURM_ARRAY_TASK_ID": str(number), **more},
    )  # fmt: skip
    return done.returncode, done.stderr


def assert_needed(script: str, environment: dict[str, str], *names: str) -> None:
    for name in names:
        code, errors = task(script, 1, {key: value for key, value in environment.items() if key != name})
        assert code != 0
        assert f"{name}: say w" in errors


def test_the_tasks_of_an_array_answer_every_row_once(
    fake_vllm: dict[str, str], slurm: Slurm, dataset: Path, tmp_path: Path
) -> None:
    environment = {
        **fake_vllm, **slurm({"srun": 'exec "$@"', "python": f'exec {sys.executable} "$@"'}),
        "DATASET": str(dataset), "MODEL": "m", "ANSWERS": str(tmp_path / "answers"), "SLURM_ARRAY_TASK_COUNT": "3",
    }  # fmt: skip
    assert_needed("slurm_array", environment, "DATASET", "MODEL")
    # A task that is submitted alone needs the number of shards: 2/1 is refused, and nothing is answered twice.
    code, errors = task("slurm_array", 2, environment, SLURM_ARRAY_TASK_COUNT="1")
    assert code == 2
    assert "--shard" in errors
    alone = {"SLURM_ARRAY_TASK_COUNT": "1", "FLAGS": "--batch 3 --no-prefix-caching", "SHARDS": "3"}
    for number, more in ((1, {}), (2, alone), (3, {})):
        assert task("slurm_array", number, environment, **more) == (0, "")
    report = evaluate(dataset, tmp_path / "answers", metrics=["keyword"])
    assert (report.lines.used, report.lines.read, report.problems) == (36, 36, [])


def test_the_tasks_of_an_array_and_the_documented_merge_build_what_one_process_builds(
    slurm: Slurm, tmp_path: Path
) -> None:
    environment = {
        **os.environ, **slurm({"srun": SRUN, "niah-gen": f'exec {sys.executable} -m niah_gen.cli "$@"'}),
        "PYTHONPATH": str(ROOT), "RECIPE": "plain", "OUT": str(tmp_path / "out"), "SLURM_CPUS_PER_TASK": "1",
        "FLAGS": "--length 600,1k,2k --depths 0,50,100", "SLURM_ARRAY_TASK_COUNT": "3",
    }  # fmt: skip
    assert_needed("slurm_build", environment, "RECIPE", "OUT")
    (command,) = re.findall(r'sbatch --dependency=afterok:\$job --wrap="(.*)"', (ROOT / "docs/cluster.md").read_text())
    *words, folder = shlex.split(command)
    assert folder == "build/cdme"
    merge = [*words, environment["OUT"]]
    for number in (1, 3):
        assert task("slurm_build", number, environment)[0] == 0
    early = subprocess.run(merge, env=environment, capture_output=True, text=True, check=False)
    assert early.returncode == 4
    assert "not written" in early.stderr
    code, errors = task("slurm_build", 2, environment, SLURM_ARRAY_TASK_COUNT="1")
    assert code == 2
    assert "shard 2/1: expected I/N" in errors
    assert task("slurm_build", 2, environment, SLURM_ARRAY_TASK_COUNT="1", SHARDS="3")[0] == 0
    merged = subprocess.run(merge, env=environment, capture_output=True, text=True, check=True)
    alone = niah_gen.build("plain", tmp_path / "alone", overrides={"lengths": "600,1k,2k", "depths": "0,50,100"})
    assert tree(Path(merged.stdout.strip())) == tree(alone)
