"""Temporary folders: removed at the end or, after a kill, by the next process."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest
from each import each

from niah_score.machine import scratch
from niah_score.machine.files import HeldError, locked
from niah_score.machine.scratch import scratch_folder

HOLD = """
import sys
from niah_score.machine.scratch import scratch_folder
with scratch_folder() as folder:
    (folder / "x").write_text("x")
    print(folder, flush=True)
    sys.stdin.read()
"""
# Each script kills itself: one while its folder has no lock yet, the other once its folder has none any more.
KILLED_WHILE_LOCKING = """
import os, signal
from niah_score.machine import files
files._locked_file = lambda *words: os.kill(os.getpid(), signal.SIGKILL)
from niah_score.machine.scratch import scratch_folder
with scratch_folder(): pass
"""
KILLED_WHILE_REMOVING = """
import os, shutil, signal
from niah_score.machine.scratch import scratch_folder
with scratch_folder() as folder:
    (folder / "x").write_text("x")
    shutil.rmtree = lambda *words, **more: os.kill(os.getpid(), signal.SIGKILL)
"""
USE = "from niah_score.machine.scratch import scratch_folder\nwith scratch_folder(): pass"


def test_a_folder_starts_empty_and_is_removed_even_after_an_error() -> None:
    with pytest.raises(ValueError, match="mine"), scratch_folder() as folder:  # noqa: PT012
        assert list(folder.iterdir()) == []
        (folder / "deep").mkdir()
        (folder / "deep" / "x").write_text("x")
        raise ValueError("mine")
    assert not folder.parent.exists()


@pytest.mark.slow
def test_folders_of_killed_processes_are_removed_and_those_of_living_ones_stay(tmp_path: Path) -> None:
    environment = {**os.environ, "TMPDIR": str(tmp_path), "PYTHONPATH": str(Path(__file__).parents[3])}
    holders = [
        subprocess.Popen(
            [sys.executable, "-c", HOLD], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
        )
        for _ in range(2)
    ]
    folders = [Path((process.stdout or sys.stdin).readline().strip()) for process in holders]
    (tmp_path / "niah-scratch-of-nobody").mkdir()  # such a name is not ours
    holders[0].send_signal(signal.SIGKILL)
    holders[0].communicate()
    assert (folders[0] / "x").exists()
    subprocess.run([sys.executable, "-c", USE], env=environment, check=True)
    assert not folders[0].parent.exists()
    assert (folders[1] / "x").exists()
    holders[1].communicate("")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["niah-scratch-of-nobody"]


@pytest.mark.slow
@each("code", [KILLED_WHILE_LOCKING, KILLED_WHILE_REMOVING])
def test_a_folder_without_a_lock_is_removed_if_everything_in_it_is_ours(code: str, tmp_path: Path) -> None:
    environment = {**os.environ, "TMPDIR": str(tmp_path), "PYTHONPATH": str(Path(__file__).parents[3])}
    assert subprocess.run([sys.executable, "-c", code], env=environment, check=False).returncode == -signal.SIGKILL
    (left,) = tmp_path.iterdir()
    assert not (left / "lock").exists()
    other = tmp_path / "niah-scratch-abcd_123"
    other.mkdir()
    (other / "letters").touch()
    subprocess.run([sys.executable, "-c", USE], env=environment, check=True)
    assert list(tmp_path.iterdir()) == [other]


def test_an_owner_that_is_only_starting_cannot_lose_its_lock_to_a_process_that_removes_folders(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "niah-scratch-abcd_123"
    (folder / "files").mkdir(parents=True)
    remove = shutil.rmtree
    tried: list[Path] = []

    def remove_while_the_owner_starts(path: Path, **more: Any) -> None:
        remove(path, **more)
        tried.append(path)
        with pytest.raises(HeldError), locked(folder / "lock"):
            pass

    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(shutil, "rmtree", remove_while_the_owner_starts)
    scratch._remove_abandoned.__wrapped__()
    assert len(tried) == 1
    assert list(tmp_path.iterdir()) == []
