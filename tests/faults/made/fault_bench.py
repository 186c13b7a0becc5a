"""Runs commands with a fault or a kill at their n-th file operation, and checks what they leave.

Operations are counted at the calls of the C library, so that what Arrow, polars and zstd write is seen as well.
"""

from __future__ import annotations

import errno
import json
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import pytest

HERE = Path(__file__).parent
ROOT = HERE.parents[2]
_SECONDS = 120.0

# A path on the disk of a case, not the word in a piece of advice.
_NAMED = re.compile(r"(?:^|[ /'])disk(?:/|: |')", re.MULTILINE)

# By path: the bytes of a file; None for a folder, and for what does not exist yet.
Tree = dict[str, bytes | None]


class Fault(NamedTuple):
    """What happens at an operation: an errno, or a kill of the whole process group if that is -1.

    `always`: 0: to that operation alone; 1: to every later one as well (a dead disk); 2: to every later one that needs
    room, and only these are counted (a full disk).
    """

    name: str
    errno: int
    always: int = 0


KILL = Fault("kill", -1)
EIO = Fault("EIO", errno.EIO)
DEAD = Fault("dead disk", errno.EIO, 1)
READ_ONLY = Fault("read-only disk", errno.EROFS, 1)
FULL = Fault("full disk", errno.ENOSPC, 2)
NO_SPACE = Fault("ENOSPC", errno.ENOSPC)
QUOTA = Fault("EDQUOT", errno.EDQUOT)
FAULTS = (KILL, EIO, DEAD, READ_ONLY, FULL, NO_SPACE, QUOTA)


class Ended(NamedTuple):
    """How a command ended. `operations`: one line for each that was seen, in order."""

    code: int | str
    out: str
    err: str
    operations: tuple[str, ...]


def compiled(folder: Path) -> Path:
    """The shim; skips the test if this machine has none."""
    if not sys.platform.startswith("linux"):
        pytest.skip("needs Linux: the shim stands before the GNU C library")
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if compiler is None:
        pytest.skip("needs a C compiler on the path (cc, gcc or clang)")
    made = folder / "shim.so"
    command: list[str | Path] = [compiler, "-O1", "-shared", "-fPIC", "-o", made, HERE / "fault_shim.c", "-ldl"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"the C compiler refuses the shim: {done.stderr.strip()[:200]}")
    return made


class Server:
    """A process that runs commands in forks of itself."""

    def __init__(self, folder: Path) -> None:
        self._folder, shim = folder, compiled(folder)
        environment = {name: value for name, value in os.environ.items() if not name.startswith(("FAULTS_", "NIAH_"))}
        environment |= {
            "LD_PRELOAD": str(shim), "PYTHONPATH": str(ROOT), "XDG_DATA_HOME": str(folder / "no data"),
            "MPLCONFIGDIR": str(folder), "OMP_NUM_THREADS": "1", "POLARS_MAX_THREADS": "2",
        }  # fmt: skip
        self._process = subprocess.Popen(
            [sys.executable, HERE / "fault_server.py", shim], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            env=environment,
        )  # fmt: skip

    def close(self) -> None:
        """End the process."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(_SECONDS)

    def run(
        self, command: Sequence[str], cwd: Path, watched: Path, at: int = 0, fault: Fault = KILL, *,
        environment: Mapping[str, str] | None = None, kill_after: float | None = None, times: int = 1,
    ) -> list[Ended]:  # fmt: skip
        """Run a command several times at once; the fault happens at operation number `at` below `watched`, from 1.

        at: 0 for no fault. kill_after: seconds after which the whole process group is killed instead.
        """
        count, log = self._folder / "count", self._folder / "log"
        count.write_bytes(bytes(8))
        log.unlink(missing_ok=True)
        program, *args = command
        request = {
            "program": program, "args": args, "cwd": str(cwd), "env": dict(environment or {}), "seconds": _SECONDS,
            "kill_after": kill_after,
            "faults": {
                "FAULTS_FOLDER": str(watched), "FAULTS_COUNT": str(count), "FAULTS_AT": str(at),
                "FAULTS_THEN": str(fault.errno), "FAULTS_ALWAYS": str(fault.always), "FAULTS_LOG": str(log),
            },
        }  # fmt: skip
        files = [(self._folder / f"out-{n}", self._folder / f"err-{n}") for n in range(times)]
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        requests = [{**request, "out": str(out), "err": str(err)} for out, err in files]
        print(json.dumps(requests), file=self._process.stdin, flush=True)
        codes: list[int | str] = json.loads(self._process.stdout.readline())
        operations = tuple(log.read_text().splitlines()) if log.exists() else ()
        ended = zip(codes, files, strict=True)
        return [Ended(code, out.read_text(), err.read_text(), operations) for code, (out, err) in ended]


def tree(folder: Path) -> Tree:
    """Everything below a folder by its relative path: bytes of files, None for folders."""
    return {
        path.relative_to(folder).as_posix(): None if path.is_dir() else path.read_bytes()
        for path in sorted(folder.rglob("*"))
    }


def is_leftover(path: str) -> bool:
    """Whether a path is a writer's own, of no use to anybody once that writer has ended."""
    return any(
        part.startswith(".") or part.endswith((".partial", ".tmp", ".lock", ".part")) for part in path.split("/")
    )


def visible(files: Tree) -> Tree:
    """A tree without leftovers and without folders."""
    return {path: data for path, data in files.items() if data is not None and not is_leftover(path)}


def unfinished(disk: Path) -> str | None:
    """The sign that files are being moved in, for outputs without a reader: the list of them in a hidden folder."""
    return next((str(path) for path in disk.rglob(".niah-staging/plan.json")), None)


@dataclass(frozen=True)
class Case:
    """A command that writes below `disk`, a folder that `before` fills; it runs in the folder of `disk` and `inputs`.

    `refused`: what readers find wrong with a disk that holds neither what it held before nor what the command writes.
    `twice`: the exit code of the same command once it has succeeded. `leaves`: whether it leaves files for later runs.
    `apart`: whether each of its files is of use without the others.
    """

    name: str
    command: tuple[str, ...]
    before: Callable[[Path], None] = field(default=lambda disk: None)
    refused: Callable[[Path], str | None] = unfinished
    twice: int = 0
    leaves: bool = False
    apart: bool = False
    environment: Mapping[str, str] = field(default_factory=dict)


class Bench:
    """The folder that cases run in, with what they need."""

    def __init__(self, running: Server, place: Path) -> None:
        self.server, self.place, self.disk = running, place, place / "disk"
        self.saved = place / "saved"

    def reset(self) -> None:
        """Restore the disk to what it was before the case."""
        shutil.rmtree(self.disk, ignore_errors=True)
        shutil.copytree(self.saved, self.disk, symlinks=True)

    def run(self, case: Case, at: int = 0, fault: Fault = KILL, kill_after: float | None = None) -> Ended:
        """Run a case's command."""
        (ended,) = self.server.run(
            case.command, self.place, self.disk, at, fault, environment=case.environment, kill_after=kill_after
        )
        return ended


class Expected(NamedTuple):
    """What a case does when nothing goes wrong. `rooms`: how many of its operations need room; `said`: on stderr."""

    before: Tree
    after: Tree
    operations: tuple[str, ...]
    rooms: int
    said: str


def uninterrupted(bench: Bench, case: Case) -> Expected:
    """Run a case without a fault, twice."""
    shutil.rmtree(bench.saved, ignore_errors=True)
    shutil.rmtree(bench.disk, ignore_errors=True)
    bench.disk.mkdir(parents=True)
    case.before(bench.disk)
    shutil.copytree(bench.disk, bench.saved, symlinks=True)
    before = tree(bench.disk)
    done = bench.run(case)
    assert done.code == 0, (case.name, done)
    after = tree(bench.disk)
    left = [path for path in after if is_leftover(path) and path not in before]
    assert not left or case.leaves, f"{case.name}: leaves {left}"
    again = bench.run(case)
    assert again.code == case.twice, (case.name, again)
    assert tree(bench.disk) == after, f"{case.name}: the second run changes {changed(after, tree(bench.disk))}"
    bench.reset()
    rooms = len(bench.run(case, 0, FULL).operations)
    return Expected(before, after, done.operations, rooms, done.err)


def changed(one: Tree, other: Tree) -> list[str]:
    """The paths in which two trees differ."""
    return sorted(path for path in {*one, *other} if one.get(path, b"-") != other.get(path, b"-"))


def problems_of(bench: Bench, case: Case, expected: Expected, fault: Fault, at: int) -> list[str]:
    """Promises broken after a fault at an operation, and after the same command again; a sentence each."""
    bench.reset()
    return judged(bench, case, expected, fault, bench.run(case, at, fault))


def judged(bench: Bench, case: Case, expected: Expected, fault: Fault, ended: Ended) -> list[str]:
    """Promises broken by a run that has ended, and by the same command run again; a sentence each."""
    problems: list[str] = []
    left = tree(bench.disk)
    if fault.errno < 0:
        if ended.code not in (-signal.SIGKILL, 0):
            problems.append(f"ends with {ended.code}: {ended.err[-300:]}")
    elif ended.code == 0:
        if visible(left) != visible(expected.after):
            problems.append(f"ends with 0 and is not done: {changed(visible(left), visible(expected.after))}")
    else:
        problems += wrong_words(ended, expected.said)
    new = visible(left) == visible(expected.after)
    parts = all(data in (expected.before.get(path), expected.after.get(path)) for path, data in visible(left).items())
    old = visible(left) == visible(expected.before)
    if not (new or old or (case.apart and parts)) and case.refused(bench.disk) is None:
        problems.append(f"a mix that is accepted: {changed(visible(left), visible(expected.before))}")
    again = bench.run(case)
    # It may first finish what the other one had only to move in.
    finished = new or tree(bench.disk) == expected.after
    if again.code != 0 and not (finished and again.code == case.twice):
        problems.append(f"the same command again ends with {again.code}: {again.err[-300:]}")
    # A command with nothing left to do leaves a dead command's lock for the next one that has work.
    elif different := [
        path for path in changed(tree(bench.disk), expected.after) if again.code == 0 or not path.endswith(".lock")
    ]:
        problems.append(f"the same command again leaves another {different}")
    return problems


def wrong_words(ended: Ended, usual: str) -> list[str]:
    """What is wrong with the way in which a command reported a system error. `usual`: what it says without one."""
    problems = []
    # `score` prints its figures before it writes them.
    said = {*usual.splitlines()}
    messages = [line for line in ended.err.splitlines() if not line.startswith("note: ") and line not in said]
    if ended.code != 5:
        problems.append(f"ends with {ended.code}: {ended.err[-400:]}")
    if len(messages) != 1:
        problems.append(f"says {len(messages)} lines: {ended.err[-400:]}")
    if "(None)" in ended.err or "Traceback" in ended.err:
        problems.append(f"says what no user understands: {ended.err[-400:]}")
    if not _NAMED.search(ended.err):
        problems.append(f"names no file: {ended.err[-400:]}")
    return problems


def points(operations: Sequence[str]) -> list[int]:
    """The numbers of operations, from 1; of a run of identical ones only the first, the second and the last."""
    kept = []
    for number, operation in enumerate(operations, 1):
        before, after = operations[max(0, number - 3) : number - 1], operations[number : number + 1]
        if not (len(before) == 2 and set(before) == {operation} == set(after)):
            kept.append(number)
    return kept
