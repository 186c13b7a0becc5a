"""Commands as processes: interrupts from the first import on, all kinds of standard streams, and exit codes."""

from __future__ import annotations

import errno
import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest
from each import each

from niah_score.machine.files import is_refused
from niah_score.machine.run import system_ending

PROGRAMS = {"niah-gen": ("niah_gen", ["presets"]), "niah-score": ("niah_score", ["formats"])}
PROGRAM = pytest.mark.parametrize("program", PROGRAMS)
# Seconds after which a process that has not ended is killed, and the test fails.
PATIENCE = 60
START = """
import os, signal, sys, threading, time
from niah_score.machine import run
from niah_score.machine.run import *

def say(word):
    sys.stderr.write(word + "\\n")
    sys.stderr.flush()

# Whoever runs the tests may have switched one off, as nohup does.
for number in run.SIGNALS:
    signal.signal(number, signal.SIG_DFL)
watch_interrupts("niah-gen", "run it again")
"""


def shell(
    line: str, cwd: Path | None = None, environment: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[bytes]:
    """Run a line of bash in which `$PYTHON` is this interpreter."""
    variables = {**os.environ, "PYTHON": sys.executable, **(environment or {})}
    return subprocess.run(["bash", "-c", line], capture_output=True, check=False, env=variables, cwd=cwd)


def command(program: str, *words: str) -> str:
    package, default = PROGRAMS[program]
    return " ".join([f"$PYTHON -m {package}.cli", *(words or default)])


def signalled(code: str, number: int) -> tuple[int, str]:
    """The exit code and last output of a script that is sent a signal once it prints `ready` on stderr."""
    with subprocess.Popen([sys.executable, "-c", START + code], stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        assert process.stderr.readline() == "ready\n"
        process.send_signal(number)
        try:
            _, errors = process.communicate(timeout=PATIENCE)
        finally:
            process.kill()
    return process.returncode, errors


INTERRUPTED = (130, "niah-gen: interrupted; run it again\n")


@pytest.mark.slow
@each(
    ("number", "ended"),
    [
        (signal.SIGINT, INTERRUPTED),
        (signal.SIGTERM, (143, "niah-gen: ended by SIGTERM; run it again\n")),
        (signal.SIGHUP, (129, "niah-gen: ended by SIGHUP; run it again\n")),
    ],
)
def test_a_signal_ends_the_process_with_one_line_and_its_exit_code(number: int, ended: tuple[int, str]) -> None:
    assert signalled("say('ready'); time.sleep(600)", number) == ended
    # Also within a call of a library that never comes back to Python.
    stuck = "import re; hear_interrupts(); say('ready'); re.match('(a*)*b', 'a' * 99)"
    assert signalled(stuck, number) == ended


@pytest.mark.slow
def test_an_interrupt_kills_what_the_process_started(tmp_path: Path) -> None:
    file = tmp_path / "killed"
    code = f"""
hear_interrupts()
with abandoned_by(lambda: 1 / 0), abandoned_by(lambda: open({str(file)!r}, "w").close()):
    with abandoned_by(lambda: say("gone already")):
        pass
    say("ready"); time.sleep(600)
"""
    assert signalled(code, signal.SIGINT) == INTERRUPTED
    assert file.exists()


@pytest.mark.slow
def test_an_interrupt_removes_temporary_folders_and_what_fails_meanwhile_says_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    code = """
import atexit, types
atexit.register(time.sleep, 1)  # after the folders are removed
from niah_score.machine.files import scratch_folder
def app():
    hear_interrupts()
    with scratch_folder() as folder:
        (folder / "rows").write_text("x")
        say("ready")
        while True:
            (folder / "rows").read_text()
sys.modules["commands"] = types.SimpleNamespace(app=app)
run_command("niah-gen", "commands")
"""
    assert signalled(code, signal.SIGINT) == INTERRUPTED
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
def test_a_signal_that_the_parent_ignores_stays_ignored() -> None:
    code = START.replace("watch_int", "signal.signal(signal.SIGINT, signal.SIG_IGN)\nwatch_int")
    code += "os.kill(os.getpid(), signal.SIGINT); say('still here')"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "still here\n")


@pytest.mark.slow
@PROGRAM
@each("module", ["typer", "commands"])
@each("number", ["SIGINT", "SIGTERM"])
def test_an_interrupt_during_an_import_prints_one_line(program: str, module: str, number: str) -> None:
    package = PROGRAMS[program][0]
    code = f"""
import os, signal, sys
class Interrupts:
    def find_spec(self, name, path=None, target=None):
        if name in ({module!r}, "{package}.cli.{module}"):
            os.kill(os.getpid(), signal.{number})
from {package}.cli.main import main
sys.meta_path.insert(0, Interrupts())
main()
"""
    done = subprocess.run([sys.executable, "-c", code, "--help"], capture_output=True, text=True, check=False)
    assert done.returncode == {"SIGINT": 130, "SIGTERM": 143}[number], done.stderr
    assert done.stdout == ""
    assert done.stderr.startswith(f"{program}: ")
    assert done.stderr.count("\n") == 1


@pytest.mark.slow
@PROGRAM
def test_closed_full_or_unread_streams_give_no_traceback(program: str) -> None:
    for words in ([], ["--help"]):
        done = shell(f"{command(program, *words)} > /dev/full")
        message = f"{program}: standard output: No space left on device\n".encode()
        assert (done.returncode, done.stderr) == (5, message)
    for redirection in (">&-", "<&-", "2>&-", "<&- >&- 2>&-", "2>/dev/full", "| head -1"):
        done = shell(f"set -o pipefail; {command(program)} {redirection}")
        assert (done.returncode, done.stderr) == (0, b""), redirection
    for redirection in ("2>&-", "2>/dev/full", "2> >(true)"):
        done = shell(f"{command(program, 'nothing')} {redirection}")
        assert (done.returncode, done.stdout, done.stderr) == (2, b"", b""), redirection


@pytest.mark.slow
def test_output_is_utf_8_in_every_locale() -> None:
    show = command("niah-gen", "needles", "qingmen-teahouse")
    for environment in ({"LC_ALL": "C"}, {"PYTHONIOENCODING": "latin-1"}, {"LC_ALL": "POSIX", "PYTHONUTF8": "0"}):
        done = shell(show, environment=environment)
        assert (done.returncode, done.stderr) == (0, b"")
        assert "青门".encode() in done.stdout
        wrong = shell(command("niah-gen", "needles", "不存在"), environment=environment)
        assert wrong.returncode == 2
        assert b"Traceback" not in wrong.stderr


@pytest.mark.slow
def test_a_name_that_is_not_utf_8_is_printed_unchanged_and_can_be_used(tmp_path: Path) -> None:
    small = "plain --length 600 --depths 0 --language en --needle velden-archive --format parquet,jsonl"
    built = shell(f"{command('niah-gen', 'build')} {small} --out $'out\\xff'", tmp_path)
    assert built.returncode == 0, built.stderr
    folder = built.stdout.rstrip(b"\n")
    assert folder.startswith(b"out\xff/plain/")
    name = os.fsencode(tmp_path) + b"/" + folder
    quoted = "$'" + folder.decode("latin-1").replace("\xff", "\\xff") + "'"
    done = shell(f"{command('niah-gen', 'verify', '--full')} {quoted}", tmp_path)
    assert done.returncode == 0, done.stderr
    (row,) = Path(os.fsdecode(name)).glob("jsonl/*/*.jsonl")
    answer = {"id": json.loads(row.read_bytes())["id"], "prediction": "x"}
    (tmp_path / "a.jsonl").write_text(json.dumps(answer) + "\n")
    done = shell(f"{command('niah-score', 'score')} {quoted} a.jsonl --out $'s\\xfe'", tmp_path)
    assert done.returncode == 0, done.stderr
    assert os.path.isfile(os.fsencode(tmp_path) + b"/s\xfe/summary.json")


@each(
    ("error", "code"),
    [
        (OSError(errno.EACCES, "Permission denied", "x"), 5),
        (OSError(errno.ENOENT, "No such file or directory", b"x\xff"), 2),
        *((RuntimeError(said), 5) for said in ("can't start new thread", "Too many open files (os error 24)")),
        (MemoryError(), 5), (ImportError("libx.so: failed to map segment from shared object"), 5),
        (ValueError("an answer that says: out of memory"), None), (KeyError("x"), None),
    ],
)  # fmt: skip
def test_failures_of_the_system_end_with_exit_code_5_and_wrong_paths_with_2(
    error: BaseException, code: int | None
) -> None:
    assert (system_ending(error) or (None, None))[1] == code
    # Also if a library fails while it handles one.
    odd = UnboundLocalError("what the first error kept from being bound")
    odd.__context__ = error
    assert (system_ending(odd) or (None, None))[1] == (5 if is_refused(error) else None)
