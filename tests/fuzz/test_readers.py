"""Any file that somebody gives us is read, or refused with a documented exit code and the name of the file.

The files of `corpus` are damaged by a seed, and each damaged one is given to the commands that read its kind, in a
separate process, so that a library that crashes over one is seen as well.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import fuzzed_kinds
import fuzzed_readers
import pytest
from fuzzed_kinds import CORPUS, READERS

PROGRAM = Path(fuzzed_readers.__file__)
ROOT = Path(__file__).parents[2]
_PATHS = [ROOT, *(ROOT / "tests" / name for name in ("gen/made", "score"))]
ENVIRONMENT = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, _PATHS))}
# In a round every reader gets one case, and the fast ones some more.
ROUNDS, SOAK_ROUNDS, SOAK_PARTS = 2, 100, 4


def faults(work: Path, first: int, last: int) -> list[str]:
    """What went wrong in some rounds; after a crash, the remaining rounds are run too."""
    problems: list[str] = []
    names: list[str] = list(READERS)
    while first < last:
        done = subprocess.run(
            [sys.executable, PROGRAM, work, str(first), str(last), *names],
            env=ENVIRONMENT, capture_output=True, text=True, errors="replace", check=False,
        )  # fmt: skip
        problems += [f"{name}/{case}: {fault}" for name, case, fault in map(json.loads, done.stdout.splitlines())]
        if done.returncode == 0:
            break
        place = (work / "case").read_text().split() if (work / "case").exists() else []
        if len(place) != 3:
            return [*problems, f"exit code {done.returncode}: {done.stderr[-2000:]}"]
        problems.append(f"{place[1]}/{place[2]}: the process ended with {done.returncode}: {done.stderr[-500:]}")
        first = int(place[0]) + 1
    return problems


@pytest.mark.slow
def test_no_damaged_file_crashes_a_reader_or_is_refused_without_its_name(tmp_path: Path) -> None:
    assert faults(tmp_path, 0, ROUNDS) == []


@pytest.mark.soak
@pytest.mark.parametrize("part", range(SOAK_PARTS))
def test_none_of_many_damaged_files_crashes_a_reader(tmp_path: Path, part: int) -> None:
    each = SOAK_ROUNDS // SOAK_PARTS
    assert faults(tmp_path, ROUNDS + part * each, ROUNDS + (part + 1) * each) == []


def test_every_folder_of_the_corpus_is_read_by_a_reader() -> None:
    source = "".join(Path(str(module.__file__)).read_text("utf-8") for module in (fuzzed_kinds, fuzzed_readers))
    assert [folder.name for folder in sorted(CORPUS.iterdir()) if f'"{folder.name}"' not in source] == []
