"""examples/slurm_build.sbatch builds a dataset in shards, which one more command merges.

There is no Slurm here: the script runs in bash with the variables that Slurm sets, and `srun` runs what it is given.
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

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "cluster.md"
TASKS = 4


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """What each task of an array of four finds, but its number."""
    (tmp_path / "bin").mkdir()
    niah_gen_command = f'exec {sys.executable} -m niah_gen.cli "$@"'
    for name, command in (("srun", 'exec "$@"'), ("niah-gen", niah_gen_command)):
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


def ended(process: subprocess.Popen[str]) -> tuple[int, str]:
    """Exit code and stderr."""
    _, errors = process.communicate(timeout=300)
    return process.returncode, errors


def documented_merge() -> list[str]:
    """The command that the page gives to the job behind the array."""
    (command,) = re.findall(r'sbatch --dependency=afterok:\$job --wrap="(.*)"', PAGE.read_text("utf-8"))
    return shlex.split(command)


def test_four_tasks_beside_each_other_and_the_documented_merge_make_the_dataset_of_one_process(
    environment: dict[str, str], tmp_path: Path
) -> None:
    processes = [task(number, environment) for number in range(1, TASKS + 1)]
    for process in processes:
        code, errors = ended(process)
        assert code == 0, errors
    program, command, folder = documented_merge()
    assert folder == "build/cdme"
    merged = subprocess.run(
        [program, command, environment["OUT"]], env=environment, capture_output=True, text=True, check=False
    )
    assert merged.returncode == 0, merged.stderr
    alone = niah_gen.build("plain", tmp_path / "alone", overrides={"lengths": "600,1k,2k", "depths": "0,50,100"})
    assert tree(Path(merged.stdout.strip())) == tree(alone)


def test_a_merge_before_the_last_task_names_the_files_that_are_not_there_and_the_task_submitted_again_adds_them(
    environment: dict[str, str],
) -> None:
    for number in (1, 3, 4):
        assert ended(task(number, environment))[0] == 0
    merge = ["niah-gen", "merge", environment["OUT"]]
    early = subprocess.run(merge, env=environment, capture_output=True, text=True, check=False)
    assert early.returncode == 4
    assert "not written" in early.stderr
    alone = {**environment, "SLURM_ARRAY_TASK_COUNT": "1", "SHARDS": str(TASKS)}
    assert ended(task(2, alone))[0] == 0
    subprocess.run(merge, env=environment, capture_output=True, check=True)


def test_a_task_submitted_alone_is_told_how_many_there_are(environment: dict[str, str]) -> None:
    code, errors = ended(task(2, {**environment, "SLURM_ARRAY_TASK_COUNT": "1"}))
    assert code == 2
    assert "shard 2/1: expected I/N" in errors


def test_a_task_without_recipe_or_folder_says_so(environment: dict[str, str]) -> None:
    for name in ("RECIPE", "OUT"):
        code, errors = ended(task(1, {key: value for key, value in environment.items() if key != name}))
        assert code != 0
        assert f"{name}: say w" in errors
