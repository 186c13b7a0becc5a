"""Worker processes: results in order, errors unchanged, and no process left behind, whichever dies and when."""

from __future__ import annotations

import math
import os
import signal
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from each import each
from made_sessions import assert_nothing_is_left, needs_proc, session, started

from niah_score.machine.processes import processes

# Seconds. Only a guard: what is waited for takes about one.
DEADLINE = 60.0


class LostError(Exception):
    """The exception that these tests ask for if a worker dies."""


@pytest.mark.slow
def test_results_of_any_size_come_in_order_from_other_processes() -> None:
    with processes(2, raising=LostError) as workers:
        assert list(workers.map(math.sqrt, [n * n for n in range(50)])) == list(range(50))
        sizes = [0, 5_000, 20_000_000]
        assert [len(data) for data in workers.map(bytes, sizes)] == sizes
        assert workers.submit(os.getpid).result() != os.getpid()


@pytest.mark.slow
def test_an_error_is_raised_by_its_task_alone_and_one_while_starting_by_every_task() -> None:
    with processes(1, raising=LostError) as workers:
        wrong, right = workers.submit(math.sqrt, -1), workers.submit(math.sqrt, 4)
        with pytest.raises(ValueError, match="math domain error"):
            wrong.result()
        assert right.result() == 2
    with processes(1, os.putenv, ("A", "x" * 200_000), raising=LostError) as workers:
        assert workers.submit(math.sqrt, 4).result() == 2
    with processes(1, math.sqrt, (-1,), raising=LostError) as workers:
        for _ in range(2):
            with pytest.raises(ValueError, match="math domain error"):
                workers.submit(os.getpid).result()


@contextmanager
def script(tmp_path: Path, body: str) -> Iterator[subprocess.Popen[str]]:
    """Run a script in a session of its own, and leave nothing of it behind."""
    path = tmp_path / "script.py"
    path.write_text(
        "import os, signal, sys, time\n"
        "from niah_score.machine.processes import processes\n"
        "class LostError(Exception): pass\n" + textwrap.dedent(body)
    )
    with started([sys.executable, path], env={**os.environ, "TMPDIR": str(tmp_path)}) as process:
        yield process


HALF = "pickle.dump = lambda answer, file: (file.write(pickle.dumps(answer)[:-5]), file.flush(), os._exit(1))"
ENDINGS = {
    "returns": ("", 0),
    "raises": ("raise SystemExit(7)", 7),
    "raises while a worker works": ("workers.submit(time.sleep, 600); raise SystemExit(7)", 7),
    "loses an idle worker": ("os.kill(pid, signal.SIGKILL); workers.submit(time.sleep, 600).result()", 5),
    "loses a worker at work": (
        "slow = workers.submit(time.sleep, 600); os.kill(pid, signal.SIGKILL); slow.result()", 5,
    ),
    "loses a worker by itself": ("workers.submit(os._exit, 3).result()", 5),
    "loses a worker halfway through an answer": (
        f"workers.submit(exec, {HALF!r}).result(); workers.submit(bytes, 200_000).result()", 5,
    ),
    "loses a worker that starts": (
        "with processes(1, time.sleep, (600,), raising=LostError) as late: slow = late.submit(os.getpid); "
        "os.kill(int(open(f'/proc/self/task/{os.getpid()}/children').read().split()[-1]), signal.SIGKILL); "
        "slow.result()", 5,
    ),
}  # fmt: skip


@pytest.mark.slow
@needs_proc
@each("ending", ENDINGS)
def test_nothing_is_left_and_no_error_is_printed_however_the_block_ends(tmp_path: Path, ending: str) -> None:
    last, code = ENDINGS[ending]
    body = f"""
    try:
        with processes(2, raising=LostError) as workers:
            pid = workers.submit(os.getpid).result()
            {last}
    except LostError as error:
        print(error)
        sys.exit(5)
    """
    with script(tmp_path, body) as process:
        printed, errors = process.communicate(timeout=DEADLINE)
        assert (process.returncode, errors) == (code, "")
        assert ("a worker process died" in printed) == (code == 5)
        assert_nothing_is_left(process)


@pytest.mark.slow
@needs_proc
# A terminal interrupts the whole session.
@each(
    ("send", "number", "code"),
    [(os.kill, signal.SIGINT, 130), (os.killpg, signal.SIGINT, 130), (os.kill, signal.SIGKILL, -signal.SIGKILL)],
)
def test_workers_end_quietly_with_a_parent_that_is_interrupted_or_killed(
    tmp_path: Path, send: Callable[[int, int], None], number: int, code: int
) -> None:
    body = """
    try:
        with processes(2, raising=LostError) as workers:
            workers.submit(os.getpid).result()
            slow = [workers.submit(time.sleep, 600) for _ in range(2)]
            print("ready", flush=True)
            slow[0].result()
    except KeyboardInterrupt:
        sys.exit(130)
    """
    with script(tmp_path, body) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        assert len(session(process.pid)) > 2
        send(process.pid, number)
        _, errors = process.communicate(timeout=DEADLINE)
        assert (process.returncode, errors) == (code, "")
        assert_nothing_is_left(process)
