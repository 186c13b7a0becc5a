"""The same recipe builds the same bytes, whatever the folder, time zone, locale, Python and number of processes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from small_dataset import tree

import niah_gen

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
# Families that draw their rows in different ways, each with a preset or a recipe of its own.
RECIPES: dict[str, list[str]] = {
    "facts": ["plain", "--needle", "velden-archive,heyuan-archive", "--length", "600", "--depths", "0,100"],
    "sets": ["plain", "--needle", "list-en", "--length", "2000", "--depths", "30", "--spread", "random"],
    "parts": ["default", "--length", "1000", "--repeats", "1"],
    "smoke": ["smoke"],
    "gkamradt": ["gkamradt-single", "--length", "1000,2000", "--depths", "0,50", "--corpus", "en_essays"],
    "perplexity": ["perplexity", "--length", "128", "--set", "options.tokens=256"],
    **{
        name: [name, "--length", "2000"]
        for name in (
            "key-values", "passkey", "variable-tracking", "variable-prose", "uuid-chain", "ancestral-trace",
            "graph-walks", "common-words", "coded-words", "coreference", "passage-count", "passage-match",
            "number-string", "json-key-values",
        )
    },
}  # fmt: skip
# Each line is a machine, with all of its settings at once.
MACHINES: dict[str, dict[str, Any]] = {
    "elsewhere": {"PYTHONHASHSEED": "0", "TZ": "Asia/Kathmandu", "LC_ALL": "C", "umask": 0o077, "jobs": 2},
    "another hash": {"PYTHONHASHSEED": "4294967295", "TZ": "America/St_Johns", "LC_ALL": "tr_TR.UTF-8", "umask": 0},
    "random hash": {"PYTHONHASHSEED": "random", "LC_ALL": "POSIX", "PYTHONUTF8": "0", "shards": 3, "jobs": 1},
}


def command(python: str, folder: Path, words: list[str], machine: dict[str, Any]) -> Path:
    """Build a dataset in a separate process, with the settings of a machine."""
    folder.mkdir(parents=True)
    umask = machine.get("umask", 0o022)
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "XDG_DATA_HOME": str(folder / "home")}
    environment |= {name: value for name, value in machine.items() if name.isupper()}

    def run(*more: str) -> str:
        done = subprocess.run(
            [python, "-m", "niah_gen.cli", *more], cwd=folder, env=environment, capture_output=True, text=True,
            encoding="utf-8", check=False, umask=umask,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        return done.stdout.splitlines()[-1]

    built = ["build", *words, "--format", "parquet,jsonl,jsonl.gz,jsonl.zst", "--out", "out"]
    if "jobs" in machine:
        built += ["--jobs", str(machine["jobs"])]
    if "shards" not in machine:
        return folder / run(*built)
    parts = [run(*built, "--shard", f"{number}/{machine['shards']}") for number in range(1, machine["shards"] + 1)]
    return folder / run("merge", parts[-1])


def differences(words: list[str], tmp_path: Path, machines: dict[str, dict[str, Any]]) -> list[str]:
    """The files that are not the same on every machine."""
    built = {
        name: tree(command(machine.pop("python", sys.executable), tmp_path / name, words, machine))
        for name, machine in machines.items()
    }
    first = next(iter(built.values()))
    assert len(first) > 4
    return [f"{name}: {path}" for name, files in built.items() for path in {*first, *files}
            if files.get(path) != first.get(path)]  # fmt: skip


def test_folder_hash_seed_time_zone_locale_umask_and_processes_change_no_byte(tmp_path: Path) -> None:
    overrides: dict[str, Any] = {
        "needles": ["velden-archive", "heyuan-archive"], "lengths": [600], "depths": [0, 100],
    }  # fmt: skip
    here = niah_gen.build("plain", tmp_path / "here", overrides=overrides, formats=["parquet", "jsonl", "jsonl.gz",
                                                                                    "jsonl.zst"], jobs=1)  # fmt: skip
    there = command(sys.executable, tmp_path / "there", RECIPES["facts"], MACHINES["elsewhere"])
    assert tree(here) == tree(there)
    assert here.name == there.name


@pytest.mark.soak
@pytest.mark.parametrize("recipe", RECIPES)
def test_every_family_is_built_to_the_same_bytes_on_every_machine(recipe: str, tmp_path: Path) -> None:
    machines = {"plain": {}, **{name: dict(machine) for name, machine in MACHINES.items()}}
    assert differences(RECIPES[recipe], tmp_path, machines) == []


@pytest.mark.soak
@pytest.mark.parametrize("recipe", RECIPES)
def test_every_python_version_builds_the_same_bytes(recipe: str, tmp_path: Path) -> None:
    """$NIAH_PYTHONS lists the paths of other interpreters that have the dependencies of `make setup`."""
    others = [python for python in os.environ.get("NIAH_PYTHONS", "").split(os.pathsep) if python]
    if not others:
        pytest.skip("NIAH_PYTHONS names no other interpreters")
    machines = {"this": {}, **{f"python {number}": {"python": python} for number, python in enumerate(others)}}
    assert differences(RECIPES[recipe], tmp_path, machines) == []
