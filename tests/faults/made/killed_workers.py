"""Builds a dataset with workers and kills one of them."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

from made_sessions import session

# Long enough for two workers to be busy for some two seconds.
RECIPE = ["--set", "name=kills", "--length", "1k,2k,4k,8k,16k,32k", "--repeats", "12", "--set", "depths.steps=30"]
GUARD_SECONDS = 120.0
GONE_SECONDS = 10.0


def build_and_kill(out: Path, delay: float, rng: random.Random) -> tuple[str, str, int]:
    """Kill a worker of a build: how the build ended, what it wrote to stderr, and how many processes it left."""
    command = [sys.executable, "-m", "niah_gen.cli", "build", *RECIPE, "--jobs", "2", "--out", str(out)]
    build = subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    try:
        deadline = time.monotonic() + GUARD_SECONDS
        while build.poll() is None and not workers(build.pid) and time.monotonic() < deadline:
            time.sleep(0.0005)
        time.sleep(delay)
        pids = workers(build.pid)
        hit = False
        if pids:
            with suppress(ProcessLookupError):
                os.kill(rng.choice(pids), signal.SIGKILL)
                hit = True
        try:
            _, errors = build.communicate(timeout=GUARD_SECONDS)
            end = f"exit {build.returncode}"
        except subprocess.TimeoutExpired:
            end, errors = "HANGS", ""
        # Helpers end on their own, a moment after the build.
        deadline = time.monotonic() + GONE_SECONDS
        while end != "HANGS" and session(build.pid) and time.monotonic() < deadline:
            time.sleep(0.005)
        remained = 0 if end == "HANGS" else len(session(build.pid))
        return end if hit else f"nobody hit, {end}", errors, remained
    finally:
        with suppress(ProcessLookupError):
            os.killpg(build.pid, signal.SIGKILL)
        build.communicate()


def workers(builder: int) -> list[int]:
    """The builder's children that are workers, from the moment that they run a program of their own."""
    pids = []
    with suppress(OSError):
        for child in Path(f"/proc/{builder}/task/{builder}/children").read_text().split():
            with suppress(OSError):
                if b"machine.processes" in Path(f"/proc/{child}/cmdline").read_bytes():
                    pids.append(int(child))
    return pids
