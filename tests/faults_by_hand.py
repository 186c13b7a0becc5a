"""Shows that the tests can fail: breaks a copy of the code in forty ways, and names the test that notices each.

    .venv/bin/python tests/faults_by_hand.py            every fault (hours, if many survive the tests of their room)
    .venv/bin/python tests/faults_by_hand.py --list     what they are
    .venv/bin/python tests/faults_by_hand.py --only 3 7 some of them

For each fault the fast tests of the room that the file is in are tried first, then all other fast tests, then the slow
ones. A test that fails without the fault, too, is left out. The working tree is not touched.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path
from typing import NamedTuple

# The faults themselves are in faults_by_hand.toml.
ROOT = Path(__file__).parents[1]
FAST, SLOW = "not slow and not soak", "slow and not soak"


class Fault(NamedTuple):
    """In `file`, `old`, which occurs once, becomes `new`. `breaks`: what is then wrong."""

    breaks: str
    file: str
    old: str
    new: str


FAULTS = tuple(
    Fault(**fault) for fault in tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))["fault"]
)


def wrong_faults() -> list[str]:
    """The faults whose text does not occur exactly once in their file, or that leave no valid Python."""
    wrong = []
    for fault in FAULTS:
        text = (ROOT / fault.file).read_text("utf-8")
        if text.count(fault.old) != 1:
            wrong.append(f"{fault.file}: {fault.old!r} occurs {text.count(fault.old)} times")
        compile(text.replace(fault.old, fault.new), fault.file, "exec")
    return wrong


def _left_out(folder: str, names: list[str]) -> set[str]:
    """What a copy of the project needs not: environments, caches, and the user's datasets."""
    hidden = {name for name in names if name == "__pycache__" or (name.startswith(".") and name != ".ci")}
    return hidden | ({*names} - {"README.md"} if Path(folder) == ROOT / "build" else set())


class Copy:
    """A copy of the project, in which faults are put and tests run. `broken`: tests that fail without any fault."""

    def __init__(self, folder: Path, workers: str) -> None:
        self.folder = folder
        self.workers = workers
        self.broken: list[str] = []
        shutil.copytree(ROOT, folder, ignore=_left_out)
        self.touched = 0

    def write(self, file: str, text: str) -> None:
        """Replace a file; its new time makes sure that no compiled form of the old text is used."""
        path = self.folder / file
        path.write_text(text, "utf-8")
        self.touched += 10
        seconds = path.stat().st_mtime + self.touched
        os.utime(path, (seconds, seconds))

    def first_failure(self, marks: str, *paths: str, workers: str = "0") -> str | None:
        """The first test that fails among those with these marks; None if all pass."""
        command = [
            sys.executable, "-m", "pytest", "-x", "-q", "--tb=no", "-rfE", "-p", "no:cacheprovider", "-n", workers,
            "-m", marks, *(f"--deselect={test}" for test in self.broken), *paths,
        ]  # fmt: skip
        environment = {
            **os.environ, "PYTHONPATH": str(self.folder), "PYTHONDONTWRITEBYTECODE": "",
            "PYTHONPYCACHEPREFIX": str(self.folder.parent / "bytecode"),
        }  # fmt: skip
        done = subprocess.run(command, cwd=self.folder, env=environment, capture_output=True, text=True, check=False)
        found = re.search(r"^(?:FAILED|ERROR) (.+?)(?: - .*)?$", done.stdout, re.MULTILINE)
        if found:
            return found[1]
        if done.returncode not in (0, 5):  # 5: no test has these marks
            raise SystemExit(f"pytest ended with {done.returncode}:\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}")
        return None

    def noticed(self, fault: Fault) -> tuple[str, str] | None:
        """The kind of test that notices a fault, and its name; None if none does."""
        whole = (ROOT / fault.file).read_text("utf-8")
        package, *rooms = Path(fault.file).parent.parts
        room = "/".join(("tests", package.removeprefix("niah_"), *rooms))
        # The test that faults fit their files fails with every fault.
        others = [f"--ignore={room}", "--ignore=tests/test_faults_by_hand.py"]
        rounds = [("fast", FAST, [room], "0"), ("fast", FAST, others, self.workers)]
        rounds += [("slow", SLOW, [room], "0"), ("slow", SLOW, others, self.workers)]
        for kind, marks, paths, workers in rounds:
            while True:
                self.write(fault.file, whole.replace(fault.old, fault.new))
                failed = self.first_failure(marks, *paths, workers=workers)
                self.write(fault.file, whole)
                if failed is None:
                    break
                if self.first_failure("not soak", failed) is None:
                    return kind, failed
                if failed in self.broken or "::" not in failed:
                    raise SystemExit(f"{failed} cannot be left out")
                print(f"    left out, as it fails without the fault, too: {failed}", flush=True)
                self.broken.append(failed)
        return None


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--list", action="store_true", help="print the faults")
    parser.add_argument("--only", type=int, nargs="+", metavar="N", help="try these faults, counted from 1")
    parser.add_argument("--workers", default=str(os.cpu_count() or 1), help="processes for the tests of all rooms")
    options = parser.parse_args()
    if wrong := wrong_faults():
        raise SystemExit("\n".join(wrong))
    if options.list:
        for number, fault in enumerate(FAULTS, 1):
            print(f"{number:2}  {fault.breaks}  ({fault.file})")
        return
    survived = []
    chosen = options.only or range(1, len(FAULTS) + 1)
    with tempfile.TemporaryDirectory() as folder:
        copy = Copy(Path(folder) / "copy", options.workers)
        for number in chosen:
            found = copy.noticed(FAULTS[number - 1])
            survived += [] if found else [number]
            by = ": ".join(found) if found else "NOT NOTICED"
            print(f"{number:2}  {FAULTS[number - 1].breaks}: {by}", flush=True)
    print(f"{len(chosen) - len(survived)} of {len(chosen)} noticed")
    sys.exit(1 if survived else 0)


if __name__ == "__main__":
    main()
