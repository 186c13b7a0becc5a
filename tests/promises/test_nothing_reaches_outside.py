"""No command connects, starts a program, executes what it reads, or writes outside the folders that it was given."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import every_command
import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
MADE = Path(every_command.__file__).parent


def watched(tmp_path: Path, *words: str) -> tuple[subprocess.CompletedProcess[str], list[list[Any]]]:
    """Run Python in a watched process; return the finished process, and the events that are not allowed."""
    folder, home = tmp_path / "work", tmp_path / "home"
    for path in (folder / "here", folder / "tmp", home):
        path.mkdir(parents=True)
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
    done, events = watched(tmp_path, str(MADE / "every_command.py"), *words)
    assert events == []
    assert done.returncode == 0, done.stderr[-3000:]
    assert list((tmp_path / "home").iterdir()) == []
    seen: dict[str, int] = json.loads(done.stdout.splitlines()[-1])
    # The hook was at work: it has seen what commands may do.
    assert seen["files opened for writing"] > 50
    assert seen["code objects executed"] > 100
    return seen


def test_every_command_stays_offline_and_in_its_folders_and_executes_no_data(tmp_path: Path) -> None:
    run(tmp_path)


@pytest.mark.soak
def test_worker_processes_reach_nothing_outside(tmp_path: Path) -> None:
    run(tmp_path, "--processes")
    processes = (tmp_path / "work.processes").read_text("utf-8").splitlines()
    workers = [command for command in processes if "machine.processes" in command]
    assert len(workers) >= 2, processes


@pytest.mark.parametrize(
    ("source", "event"),
    [
        ("open('/tmp/niah-outside-' + str(__import__('os').getpid()), 'rb+')", "open"),
        ("import os; os.rename('/nowhere/a', '/nowhere/b')", "os.rename"),
        ("import os; os.chdir(os.environ['NIAH_WATCHED']); os.rename('here', '../there')", "os.rename"),
        ("import os; os.chdir(os.environ['NIAH_WATCHED']); os.mkdir('here/../../there')", "os.mkdir"),
        ("import os; os.chdir(os.environ['NIAH_WATCHED']); os.symlink('../../there', 'here/link')", "os.symlink"),
        ("import socket; socket.create_connection(('192.0.2.1', 9), timeout=0.01)", "socket.getaddrinfo"),
        ("import os; os.system('true')", "os.system"),
        ("import subprocess; subprocess.run(['true'])", "subprocess.Popen"),
        ("import pickle; pickle.loads(b'cposix\\nsystem\\n.')", "pickle.find_class"),
        ("eval('[\"niah_canary\"]')", "compile"),
    ],
)
def test_the_watch_reports_every_forbidden_event(source: str, event: str, tmp_path: Path) -> None:
    _, events = watched(tmp_path, "-c", source)
    assert event in {entry[1] for entry in events}
