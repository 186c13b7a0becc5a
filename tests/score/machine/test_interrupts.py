"""Interrupts: one line, the exit code of the signal, and an end even where Python cannot be interrupted."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest
from each import each

pytestmark = pytest.mark.slow

# Seconds after which a process that has not ended is killed, and the test fails.
PATIENCE = 60

START = """
import sys, threading, time
from niah_score.machine import interrupts
from niah_score.machine.interrupts import *

def say(word):
    sys.stderr.write(word + "\\n")
    sys.stderr.flush()

import signal
# Whoever runs the tests may have switched one off, as nohup does.
for number in ending_signals():
    signal.signal(number, signal.SIG_DFL)
watch_interrupts("niah-gen", "run it again")
"""


def signalled(code: str, *signals: int, ready: tuple[str, ...] = ("ready",)) -> tuple[int, str]:
    """The exit code and last output of a script that is sent one signal after each word that it prints on stderr."""
    with subprocess.Popen([sys.executable, "-c", START + code], stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        for word, number in zip(ready, signals, strict=True):
            assert process.stderr.readline() == word + "\n"
            process.send_signal(number)
        try:
            _, errors = process.communicate(timeout=PATIENCE)
        finally:
            process.kill()
    return process.returncode, errors


@each(
    ("number", "ended"),
    [
        (signal.SIGINT, (130, "niah-gen: interrupted; run it again\n")),
        (signal.SIGTERM, (143, "niah-gen: ended by SIGTERM; run it again\n")),
        (signal.SIGHUP, (129, "niah-gen: ended by SIGHUP; run it again\n")),
    ],
)
def test_a_signal_ends_the_process_with_one_line_and_its_exit_code(number: int, ended: tuple[int, str]) -> None:
    assert signalled("say('ready'); time.sleep(600)", number) == ended
    caught = "raise_interrupts()\ntry:\n    say('ready'); time.sleep(600)\nexcept KeyboardInterrupt: end_interrupted()"
    assert signalled(caught, number) == ended


def test_half_done_work_is_undone_before_the_process_ends(tmp_path: Path) -> None:
    file = tmp_path / "half"
    code = f"""
raise_interrupts()
file = open({str(file)!r}, "w")
try:
    say("ready"); time.sleep(600)
except KeyboardInterrupt:
    import os
    os.unlink({str(file)!r})
    end_interrupted()
"""
    assert signalled(code, signal.SIGINT)[0] == 130
    assert not file.exists()


@each(
    "stuck",
    [
        # A cleanup that waits for a thread.
        "try:\n    say('ready'); time.sleep(600)\nfinally:\n    threading.Event().wait()",
        # A destructor, in which Python drops exceptions.
        "class Slow:\n    def __del__(self):\n        say('ready'); time.sleep(600)\n"
        "one = Slow()\ndel one\nwhile True: time.sleep(1)",
        # A library that swallows everything.
        "try:\n    say('ready'); time.sleep(600)\nexcept BaseException: pass\nwhile True: time.sleep(1)",
    ],
)
def test_a_process_that_blocks_the_interrupt_ends_with_the_same_line(stuck: str) -> None:
    code, errors = signalled("raise_interrupts()\n" + stuck, signal.SIGINT)
    assert code == 130
    assert errors.splitlines()[-1] == "niah-gen: interrupted; run it again"
    assert "Traceback" not in errors
    assert "KeyboardInterrupt" not in errors


def test_a_second_signal_ends_the_process_at_once() -> None:
    code = """
interrupts._GRACE_SECONDS = 1e6
raise_interrupts()
try:
    say("ready"); time.sleep(600)
finally:
    say("cleaning"); threading.Event().wait()
"""
    ended = signalled(code, signal.SIGINT, signal.SIGTERM, ready=("ready", "cleaning"))
    assert ended == (130, "niah-gen: interrupted; run it again\n")


def test_abandoned_work_is_killed_if_the_process_ends_at_once(tmp_path: Path) -> None:
    file = tmp_path / "killed"
    code = f"""
raise_interrupts()
with abandoned_by(lambda: 1 / 0), abandoned_by(lambda: open({str(file)!r}, "w").close()):
    with abandoned_by(lambda: say("gone already")):
        pass
    try:
        say("ready"); time.sleep(600)
    finally:
        threading.Event().wait()
"""
    assert signalled(code, signal.SIGINT) == (130, "niah-gen: interrupted; run it again\n")
    assert file.exists()


def test_a_signal_that_the_parent_ignores_stays_ignored() -> None:
    code = START.replace("watch_int", "import signal; signal.signal(signal.SIGINT, signal.SIG_IGN)\nwatch_int")
    code += "import os; os.kill(os.getpid(), signal.SIGINT); say('still here')"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "still here\n")
