"""Items from a separate process arrive; its crash is an error, and the next call works again."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator

import made_apart
import pytest
from each import each

from niah_score.machine import apart
from niah_score.machine.apart import items_apart

posix = pytest.mark.skipif(sys.platform == "win32", reason="signals and ps are not there")


class CrashError(Exception):
    """The exception that these tests ask for if a process crashes."""


def items(function: object, *arguments: object) -> Iterator[bytes]:
    return items_apart(function, *arguments, crashed=CrashError)  # type: ignore[arg-type]


def test_items_of_any_size_come_in_order_and_the_process_is_reused() -> None:
    lengths = [0, 1, 70_000, 5_000_000]
    assert [len(item) for item in items(made_apart.of_lengths, lengths)] == lengths
    assert list(items(made_apart.process_id)) == list(items(made_apart.process_id))


@pytest.mark.slow
@posix
@each(("ending", "message"), [("abort", "signal 6"), ("exit", "exit code 3")])
def test_a_crash_is_an_error_after_the_earlier_items_and_the_next_call_works(ending: str, message: str) -> None:
    received: list[bytes] = []
    with pytest.raises(CrashError, match=message):
        received.extend(items(made_apart.crash, ending))
    assert received == [b"before"]
    assert list(items(made_apart.of_lengths, [2])) == [b"xx"]


@pytest.mark.slow
@posix
def test_an_idle_process_that_was_killed_is_replaced_without_an_error() -> None:
    (number,) = items(made_apart.process_id)
    os.kill(int(number), signal.SIGKILL)
    wait_for_the_end_of(int(number))
    assert list(items(made_apart.process_id)) != [number]


def wait_for_the_end_of(number: int) -> None:
    """Wait until no process has this number, or only a zombie."""
    while True:
        done = subprocess.run(["ps", "-o", "stat=", "-p", str(number)], capture_output=True, text=True, check=False)
        if done.stdout.strip()[:1] in ("", "Z"):
            return
        time.sleep(0.01)


def test_an_exception_in_the_function_is_raised_as_a_bug_with_its_traceback() -> None:
    with pytest.raises(RuntimeError, match="ZeroDivisionError"):
        list(items(made_apart.bug))


def test_two_calls_at_once_do_not_mix_and_can_be_given_up() -> None:
    one, other = items(made_apart.endless, "a"), items(made_apart.endless, "b")
    assert [next(one), next(other), next(one), next(other)] == [b"a0", b"b0", b"a1", b"b1"]
    for calls in (one, other):
        calls.close()  # type: ignore[attr-defined]
    assert list(items(made_apart.of_lengths, [1])) == [b"x"]


def test_what_the_function_prints_or_reads_is_not_mistaken_for_items() -> None:
    assert list(items(made_apart.noisy)) == [b"''"]


@pytest.mark.slow
@posix
def test_no_process_outlives_its_parent() -> None:
    code = (
        "import made_apart, os; from niah_score.machine.apart import items_apart; "
        "print(*(item.decode() for item in items_apart(made_apart.process_id, crashed=Exception)), flush=True); "
        "os.kill(os.getpid(), 9)"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == -9
    wait_for_the_end_of(int(done.stdout))


@posix
def test_a_fork_does_not_take_over_the_processes_of_its_parent(monkeypatch: pytest.MonkeyPatch) -> None:
    (number,) = items(made_apart.process_id)
    here = os.getpid()
    with monkeypatch.context() as patch:
        patch.setattr(os, "getpid", lambda: here + 1)
        assert apart._idle_process() is None
    with contextlib.suppress(ProcessLookupError):
        os.kill(int(number), signal.SIGKILL)
