"""The pool: none for little, and no worker outlives the process that started it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from niah_score.machine.processes import PARALLEL_BYTES, workers

SCRIPT = """
import os, sys, time
from niah_score.machine.processes import PARALLEL_BYTES, workers
if __name__ == "__main__":
    with workers(2, PARALLEL_BYTES) as pool:
        print(pool.submit(os.getpid).result(), flush=True)
        time.sleep(60)
"""


@pytest.mark.parametrize(("jobs", "size"), [(1, PARALLEL_BYTES), (2, PARALLEL_BYTES - 1), (0, 10**12)])
def test_little_work_and_one_job_need_no_pool(jobs: int, size: int) -> None:
    with workers(jobs, size) as pool:
        assert pool is None


def test_a_worker_ends_with_a_parent_that_is_killed(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    parent = subprocess.Popen([sys.executable, script], stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    worker = int(parent.stdout.readline())
    parent.send_signal(signal.SIGKILL)
    parent.wait()
    for _ in range(200):
        try:
            os.kill(worker, 0)
        except ProcessLookupError:
            return
        # A worker that nobody waits for stays as a zombie where there is no init.
        if Path(f"/proc/{worker}/stat").exists() and Path(f"/proc/{worker}/stat").read_text().split()[2] == "Z":
            return
        time.sleep(0.05)
    os.kill(worker, signal.SIGKILL)
    pytest.fail("the worker outlived its parent")
