"""Measures building task families against RULER's generators: whole processes in turns, from start to files.

make bench            niah_single_2 needs paul_graham (or NIAH_CORPORA) and NLTK's punkt_tab (NLTK_DATA); without
                      them it is left out

At 4k both make 500 rows in several rounds, of which the fastest counts. At 128k ours makes 500 rows, and a published
generator a few samples, from which its time for 500 is computed. Our rows are written to Parquet and hashed, the
published ones to JSONL.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from niah_gen.tokenizers.find import bundled_ranks

SAMPLES = 500
LOOPS = Path(__file__).with_name("ruler_loops.py")
COMPILED = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}


class Compared(NamedTuple):
    """A task of RULER and our preset for the same. `goals`: how many times as fast ours should be at 4k and 128k."""

    task: str
    preset: str
    options: tuple[str, ...]
    goals: tuple[float, float]


COMPARED = (
    Compared("niah_single_2", "key-values", ("--depths", "50", "--set", "options.haystack=essay"), (10, 10)),
    Compared("niah_multikey_2", "key-values", ("--depths", "50"), (10, 10)),
    Compared(
        "vt", "variable-tracking", ("--depths", "50", "--set", "options.hops=[4]", "--set", "options.chains=1"), (2, 10)
    ),
    Compared("cwe", "common-words", ("--set", "options.rows=1"), (2, 10)),
    Compared("fwe", "coded-words", ("--set", "options.rows=1"), (2, 10)),
)


def timed(command: Sequence[object]) -> tuple[float, str]:
    """Seconds of a whole process with compiled modules, as after a first run anywhere, and what it prints."""
    began = time.perf_counter()
    done = subprocess.run(
        list(map(str, command)), check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=COMPILED, text=True
    )
    return time.perf_counter() - began, done.stdout


def seconds_published(compared: Compared, length: int, samples: int, folder: Path) -> float:
    """Seconds of the published generator for 500 rows, computed from a run that makes `samples` of them."""
    ranks = folder / "ranks"
    if not ranks.exists():
        ranks.write_bytes(bundled_ranks("cl100k_base"))
    whole, each = timed([sys.executable, LOOPS, compared.task, length, samples, ranks, folder / "rows.jsonl"])
    return whole + (SAMPLES - samples) * float(each)


def seconds_of_ours(compared: Compared, length: int, rows: int, out: Path) -> float:
    """Seconds of building rows in one process."""
    executable = Path(sys.executable).with_name("niah-gen")
    return timed(
        [executable, "build", compared.preset, "--length", length, "--repeats", rows, "--language", "en",
         "--set", "controls=[]", *compared.options, "--jobs", "1", "--out", out]
    )[0]  # fmt: skip


def compare(compared: Compared, length: int, rounds: int, samples: int) -> tuple[float, float]:
    """The fastest of some rounds, published and ours."""
    published, ours = [], []
    for _ in range(rounds):
        with tempfile.TemporaryDirectory() as folder:
            published.append(seconds_published(compared, length, samples, Path(folder)))
            ours.append(seconds_of_ours(compared, length, SAMPLES, Path(folder) / "ours"))
    return min(published), min(ours)


def lines() -> Iterator[str]:
    """A line for every comparison."""
    with tempfile.TemporaryDirectory() as warm:
        for number, compared in enumerate(COMPARED):
            seconds_of_ours(compared, 1000, 1, Path(warm) / str(number))
    for compared in COMPARED:
        for length, rounds, samples, goal in ((4096, 3, SAMPLES, 0), (131_072, 1, 3, 1)):
            try:
                published, ours = compare(compared, length, rounds, samples)
            except subprocess.CalledProcessError:
                yield f"{compared.task}: left out, as its essays or NLTK's punkt_tab are not here"
                break
            yield (
                f"{compared.task:16} {length:7,} tokens x {SAMPLES}   published {published:7.1f} s   "
                f"{compared.preset} {ours:6.2f} s   {published / ours:6.1f} times, goal {compared.goals[goal]:g}"
            )


if __name__ == "__main__":
    for text in lines():
        print(text, flush=True)
