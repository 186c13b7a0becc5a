"""Starts commands that a test kills or interrupts, each in a session of its own."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

needs_proc = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc to find processes")


@contextmanager
def started(command: Sequence[str | Path], **more: Any) -> Iterator[subprocess.Popen[str]]:
    """Run a command in a session of its own, and leave nothing of it behind."""
    process: subprocess.Popen[str] = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True, **more
    )
    try:
        yield process
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


def assert_nothing_is_left(process: subprocess.Popen[str], seconds: float = 60.0) -> None:
    """Wait for all processes of a session to end. The time is only a guard: they take about a second."""
    deadline = time.monotonic() + seconds
    while session(process.pid):
        assert time.monotonic() < deadline, session(process.pid)
        time.sleep(0.01)


def session(leader: int) -> set[int]:
    """The processes of a session that still run."""
    running = set()
    for entry in Path("/proc").iterdir():
        with suppress(OSError, ValueError):
            fields = (entry / "stat").read_text().rpartition(")")[2].split()
            if int(fields[3]) == leader and fields[0] != "Z":
                running.add(int(entry.name))
    return running
