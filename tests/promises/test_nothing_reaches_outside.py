"""No command connects, starts a program, runs what it reads, or writes outside the folders that it was given."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import every_command
import pytest

ROOT = Path(__file__).parents[2]
MADE = Path(every_command.__file__).parent


def watched(tmp_path: Path, *words: str) -> tuple[subprocess.CompletedProcess[str], list[list[Any]]]:
    """A program of Python's in a watched process, and the events that nothing allows."""
    folder, home = tmp_path / "work", tmp_path / "home"
    for made in (folder / "here", folder / "tmp", home):
        made.mkdir(parents=True)
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("NIAH", "HF_", "XDG_"))}
    environment |= {
        "PYTHONPATH": os.pathsep.join(map(str, [MADE / "watched", MADE, ROOT / "tests" / "score", ROOT])),
        "PYTHONDONTWRITEBYTECODE": "1",
        "NIAH_WATCHED": str(folder),
        "NIAH_WATCHED_CODE": os.pathsep.join(str(ROOT / package) for package in ("niah_gen", "niah_score")),
        "NIAH_HOME": str(folder / "data"),
        "XDG_DATA_HOME": str(folder / "data"),
        "HOME": str(home),
        "TMPDIR": str(folder / "tmp"),
        "HF_ENDPOINT": "http://127.0.0.1:9",
        "MPLCONFIGDIR": str(folder / "tmp"),
    }
    done = subprocess.run([sys.executable, *words], env=environment, capture_output=True, text=True, check=False)
    events = [json.loads(line) for line in (tmp_path / "work.events").read_text("utf-8").splitlines()]
    return done, events


def run(tmp_path: Path, *words: str) -> dict[str, int]:
    done, events = watched(tmp_path, str(MADE / "watched_commands.py"), *words)
    assert events == []
    assert done.returncode == 0, done.stderr[-3000:]
    assert list((tmp_path / "home").iterdir()) == []
    seen: dict[str, int] = json.loads(done.stdout.splitlines()[-1])
    # The hook was there: what commands may do, it has seen.
    assert seen["files opened for writing"] > 50
    assert seen["code objects executed"] > 100
    return seen


def test_every_command_stays_offline_in_its_folders_and_executes_no_data(tmp_path: Path) -> None:
    run(tmp_path)


@pytest.mark.soak
def test_neither_do_worker_processes_reach_outside(tmp_path: Path) -> None:
    seen = run(tmp_path, "--processes")
    assert seen["processes started"] >= 4


@pytest.mark.parametrize(
    ("source", "event"),
    [
        ("open('/tmp/niah-outside-' + str(__import__('os').getpid()), 'rb+')", "open"),
        ("import os; os.rename('/nowhere/a', '/nowhere/b')", "os.rename"),
        ("import socket; socket.create_connection(('192.0.2.1', 9), timeout=0.01)", "socket.getaddrinfo"),
        ("import os; os.system('true')", "os.system"),
        ("import subprocess; subprocess.run(['true'])", "subprocess.Popen"),
        ("import pickle; pickle.loads(b'cposix\\nsystem\\n.')", "pickle.find_class"),
        ("eval('[\"niah_canary\"]')", "compile"),
    ],
)
def test_the_watch_sees_what_must_not_happen(source: str, event: str, tmp_path: Path) -> None:
    _, events = watched(tmp_path, "-c", source)
    assert event in {found[1] for found in events}
