"""examples/slurm_build.sbatch builds a dataset in shards, which one further command merges.

Slurm is not needed: the script runs in bash with the variables that Slurm sets, and `srun` runs its arguments.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from folders import tree

import niah_gen

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "cluster.md"
TASKS = 4
# The real srun gives a command one CPU unless a number is stated.
SRUN = "[[ $1 == --cpus-per-task=1 ]] || { echo 'srun: how many CPUs?' >&2; exit 1; }\nshift\nexec \"$@\""


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """The environment of each task in an array of four, except for its number."""
    (tmp_path / "bin").mkdir()
    niah_gen_command = f'exec {sys.executable} -m niah_gen.cli "$@"'
    for name, command in (("srun", SRUN), ("niah-gen", niah_gen_command)):
        (tmp_path / "bin" / name).write_text(f"#!/bin/bash\n{command}\n")
        (tmp_path / "bin" / name).chmod(0o755)
    return {
        **os.environ,
        "PATH": f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT),
        "RECIPE": "plain",
        "OUT": str(tmp_path / "out"),
        "FLAGS": "--length 600,1k,2k --depths 0,50,100",
        "SLURM_ARRAY_TASK_COUNT": str(TASKS),
        "SLURM_CPUS_PER_TASK": "1",
    }


def task(number: int, environment: dict[str, str]) -> subprocess.Popen[str]:
    """Start one task of the array."""
    return subprocess.Popen(
        ["bash", str(ROOT / "examples" / "slurm_build.sbatch")],
        env={**environment, "SLURM_ARRAY_TASK_ID": str(number)},
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


def finished(process: subprocess.Popen[str]) -> tuple[int, str]:
    """Wait for a process; return its exit code and what it printed to stderr."""
    _, errors = process.communicate(timeout=300)
    return process.returncode, errors


def documented_merge() -> list[str]:
    """The command that the page gives to the job after the array."""
    (command,) = re.findall(r'sbatch --dependency=afterok:\$job --wrap="(.*)"', PAGE.read_text("utf-8"))
    return shlex.split(command)


def test_four_parallel_tasks_and_the_documented_merge_build_what_one_process_builds(
    environment: dict[str, str], tmp_path: Path
) -> None:
    processes = [task(number, environment) for number in range(1, TASKS + 1)]
    for process in processes:
        code, errors = finished(process)
        assert code == 0, errors
    program, command, folder = documented_merge()
    assert folder == "build/cdme"
    merged = subprocess.run(
        [program, command, environment["OUT"]], env=environment, capture_output=True, text=True, check=False
    )
    assert merged.returncode == 0, merged.stderr
    alone = niah_gen.build("plain", tmp_path / "alone", overrides={"lengths": "600,1k,2k", "depths": "0,50,100"})
    assert tree(Path(merged.stdout.strip())) == tree(alone)


def test_a_merge_fails_until_a_missing_task_is_submitted_again(
    environment: dict[str, str],
) -> None:
    for number in (1, 3, 4):
        assert finished(task(number, environment))[0] == 0
    merge = ["niah-gen", "merge", environment["OUT"]]
    early = subprocess.run(merge, env=environment, capture_output=True, text=True, check=False)
    assert early.returncode == 4
    assert "not written" in early.stderr
    alone = {**environment, "SLURM_ARRAY_TASK_COUNT": "1", "SHARDS": str(TASKS)}
    assert finished(task(2, alone))[0] == 0
    subprocess.run(merge, env=environment, capture_output=True, check=True)


def test_a_task_submitted_alone_needs_the_number_of_shards(environment: dict[str, str]) -> None:
    code, errors = finished(task(2, {**environment, "SLURM_ARRAY_TASK_COUNT": "1"}))
    assert code == 2
    assert "shard 2/1: expected I/N" in errors


def test_a_task_without_a_recipe_or_an_output_folder_says_so(environment: dict[str, str]) -> None:
    for name in ("RECIPE", "OUT"):
        code, errors = finished(task(1, {key: value for key, value in environment.items() if key != name}))
        assert code != 0
        assert f"{name}: say w" in errors
