"""Commands as processes: interrupts from the first import on, all kinds of standard streams, and exit codes."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest
from each import each

from niah_score.machine.command import Ending, system_ending

PROGRAMS = {"niah-gen": ("niah_gen", ["presets"]), "niah-score": ("niah_score", ["formats"])}
PROGRAM = pytest.mark.parametrize("program", PROGRAMS)


def shell(
    line: str, cwd: Path | None = None, environment: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[bytes]:
    """Run a line of bash in which `$PYTHON` is this interpreter."""
    variables = {**os.environ, "PYTHON": sys.executable, **(environment or {})}
    return subprocess.run(["bash", "-c", line], capture_output=True, check=False, env=variables, cwd=cwd)


def command(program: str, *words: str) -> str:
    package, default = PROGRAMS[program]
    return " ".join([f"$PYTHON -m {package}.cli", *(words or default)])


@pytest.mark.slow
@PROGRAM
@each("module", ["typing", "typer", "niah_score.machine.command", "commands"])
@each("number", ["SIGINT", "SIGTERM"])
def test_an_interrupt_during_an_import_prints_one_line(program: str, module: str, number: str) -> None:
    package = PROGRAMS[program][0]
    code = f"""
import importlib.util, os, signal, sys
for name in ("typing", "typer"):
    sys.modules.pop(name, None)
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
def test_a_full_standard_output_ends_with_exit_code_5_and_one_line(program: str) -> None:
    for words in ([], ["--help"]):
        done = shell(f"{command(program, *words)} > /dev/full")
        assert (done.returncode, done.stderr) == (
            5,
            f"{program}: standard output: No space left on device\n".encode(),
        )


@pytest.mark.slow
@PROGRAM
def test_closed_full_or_unread_streams_do_not_change_the_exit_code(program: str) -> None:
    for redirection in (">&-", "<&-", "2>&-", "<&- >&- 2>&-", "2>/dev/full", "| head -1"):
        line = f"set -o pipefail; {command(program)} {redirection}"
        done = shell(line)
        assert (done.returncode, done.stderr) == (0, b""), redirection
    wrong = command(program, "nothing")
    for redirection in ("2>&-", "2>/dev/full", "2> >(true)"):
        done = shell(f"{wrong} {redirection}")
        assert (done.returncode, done.stdout, done.stderr) == (2, b"", b""), redirection


@pytest.mark.slow
@each(
    "environment",
    [
        {"LC_ALL": "C"},
        {"PYTHONIOENCODING": "latin-1"},
        {"PYTHONIOENCODING": "ascii"},
        {"LC_ALL": "C", "PYTHONUTF8": "0"},
        {"LC_ALL": "POSIX", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
    ],
)
def test_characters_that_a_terminal_cannot_encode_are_escaped(environment: dict[str, str]) -> None:
    done = shell(f"{command('niah-gen', 'needles', 'qingmen-teahouse')}", environment=environment)
    assert (done.returncode, done.stderr) == (0, b"")
    spelled = "青门".encode() if environment == {"LC_ALL": "C"} else b"\\u9752\\u95e8"
    assert spelled in done.stdout
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
    assert os.path.isfile(name + b"/manifest.json")
    quoted = "$'" + folder.decode("latin-1").replace("\xff", "\\xff") + "'"
    for words in ("verify --full", "show", "card", "recount --tokenizer gpt-4o"):
        done = shell(f"{command('niah-gen', *words.split())} {quoted}", tmp_path)
        assert done.returncode == 0, done.stderr
    (row,) = Path(os.fsdecode(name)).glob("jsonl/*/*.jsonl")
    answer = {"id": json.loads(row.read_bytes())["id"], "prediction": "x"}
    (tmp_path / "a.jsonl").write_text(json.dumps(answer) + "\n")
    done = shell(f"{command('niah-score', 'score')} {quoted} a.jsonl --out $'s\\xfe'", tmp_path)
    assert done.returncode == 0, done.stderr
    assert os.path.isfile(os.fsencode(tmp_path) + b"/s\xfe/summary.json")


@pytest.mark.slow
def test_a_low_limit_of_open_files_ends_with_exit_code_5(tmp_path: Path) -> None:
    build = command("niah-gen", "build", "plain", "--length", "600", "--out", str(tmp_path), "--jobs", "2")
    done = shell(f"ulimit -n 16; {build}")
    assert done.returncode == 5, done.stderr
    assert b"ulimit -n" in done.stderr
    assert done.stderr.count(b"\n") == 1


@pytest.mark.slow
def test_a_current_folder_that_was_removed_is_reported(tmp_path: Path) -> None:
    done = shell(f"mkdir gone; cd gone; rmdir ../gone; {command('niah-gen', 'build')} plain --length 600", tmp_path)
    assert done.returncode == 2
    assert b"current folder no longer exists" in done.stderr


@each(
    ("error", "ending"),
    [
        (
            OSError(errno.EACCES, "Permission denied", "x"),
            Ending("x: Permission denied; check its permissions, or choose another place", 5),
        ),
        (
            OSError(errno.EROFS, "Read-only file system", "x"),
            Ending("x: Read-only file system; choose a folder on a writable disk", 5),
        ),
        (
            OSError(errno.EDQUOT, "Disk quota exceeded", "a", None, "b"),
            Ending(
                "a -> b: Disk quota exceeded; your quota on that disk is used up; remove what you no longer need, or "
                "choose another folder",
                5,
            ),
        ),
        (
            OSError(errno.EIO, "Input/output error"),
            Ending(
                "Input/output error; the disk or its network connection is failing: check it, then run the same "
                "command again",
                5,
            ),
        ),
        (OSError(errno.ENOENT, "No such file or directory", b"x\xff"), Ending("x\udcff: No such file or directory", 2)),
        (OSError(errno.ENAMETOOLONG, "File name too long", "x"), Ending("x: File name too long", 2)),
        (MemoryError(), Ending("not enough memory", 5)),
        (RuntimeError("can't start new thread"), Ending("not enough memory", 5)),
        (ImportError("libx.so: failed to map segment from shared object"), Ending("not enough memory", 5)),
        (ValueError("an answer that says: out of memory"), None),
        (KeyError("x"), None),
    ],
)
def test_failures_of_the_system_end_with_exit_code_5_and_wrong_paths_with_2(
    error: BaseException, ending: Ending | None
) -> None:
    assert system_ending(error) == ending


def test_memory_errors_of_libraries_are_recognised() -> None:
    import numpy as np
    import pyarrow as pa

    with pytest.raises(MemoryError) as of_numpy:
        np.zeros(2**60, np.uint8)
    assert system_ending(of_numpy.value) == Ending("not enough memory", 5)
    with pytest.raises(pa.ArrowMemoryError) as of_arrow:
        pa.allocate_buffer(2**62)
    assert system_ending(of_arrow.value) == Ending("not enough memory", 5)


def test_a_system_error_is_reported_instead_of_the_library_error_it_causes() -> None:
    try:
        try:
            raise OSError(errno.EMFILE, "Too many open files")
        finally:
            raise UnboundLocalError("what the first error kept from being bound")
    except UnboundLocalError as error:
        ending = system_ending(error)
    assert ending is not None
    assert (ending.code, "Too many open files" in ending.sentence) == (5, True)
