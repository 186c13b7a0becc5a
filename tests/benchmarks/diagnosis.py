"""Shows which fault of a serving stack a report's diagnosis names, for readers that have each of the faults.

    python tests/benchmarks/diagnosis.py [DATASET] [--length 32k] [--runs 200] [--faults NAME,...] [--jobs 2]

Each reader of examples/faulty_readers.py answers `--runs` times, with another seed each time: three strengths and five
accuracies in turn, so 15 runs see each pair once. Without a folder the default dataset up to `--length` is built once,
in a temporary folder, and used again. A run over 4,800 rows takes about a second of a core: each row is judged by its
own metric alone, nothing is drawn, and a process does what repeats once: it reads the rows, and judges the same answer
to the same row. `healthy` and `declining` have no fault, so the right diagnosis names none.
"""

from __future__ import annotations

import argparse
import gc
import json
import multiprocessing
import os
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).parents[2]))

import polars as pl

import niah_score.diagnosis.diagnose
import niah_score.evaluation
import niah_score.report.report
import niah_score.scoring.score
from examples import faulty_readers
from examples.faulty_readers import FAULTS, OTHERS, answers, rows

STRENGTHS, ACCURACIES = (1, 2, 3), (0.97, 0.9, 0.8, 0.65, 0.5)
NONE = "-"
# Verdicts that a process keeps: those on right, silent and unrelated answers, and many on rivals.
_MOST_KEPT = 150_000


class Run(NamedTuple):
    """A reader with a fault, and which faults its diagnosis named, the likeliest first."""

    fault: str
    strength: int
    accuracy: float
    named: tuple[str, ...] = ()

    @property
    def first(self) -> str:
        """The likeliest fault."""
        return self.named[0] if self.named else NONE

    @property
    def is_right(self) -> bool:
        """Whether the likeliest fault is the reader's."""
        return self.first == (NONE if self.fault in OTHERS else self.fault)


@cache
def _rows(dataset: Path) -> list[dict[str, Any]]:
    return list(rows(dataset))


def diagnosed(dataset: Path, fault: str, nth: int) -> Run:
    """The nth run of a reader."""
    strength, accuracy = STRENGTHS[nth % 3], ACCURACIES[nth // 3 % 5]
    lines = answers(_rows(dataset), fault, strength, accuracy, nth)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "answers.jsonl"
        file.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
        report = niah_score.evaluate(dataset, file, model="reader", metrics=[])
    return Run(fault, strength, accuracy, tuple(one.fault for one in report.diagnosis))


def _begin_worker() -> None:
    """Judge in one thread, and do once what is the same in all runs over the rows of a dataset."""
    os.environ["POLARS_MAX_THREADS"] = "1"
    gc.disable()
    for module, name in (
        (niah_score.evaluation, "read_rows"),
        (niah_score.evaluation, "targets_of"),
        (niah_score.report.report, "truth_of"),
        (niah_score.diagnosis.diagnose, "mates_of"),
    ):
        vars(module)[name] = _once(vars(module)[name])
    vars(niah_score.scoring.score)["_judged"] = _Judged(niah_score.scoring.score._judged)
    # Readers with the same seed are mistaken about the same rows, whatever their fault.
    vars(faulty_readers)["_mistaken"] = _once(faulty_readers._mistaken, lambda _, *drawn: drawn)


def _once(function: Callable[..., Any], key: Callable[..., object] = lambda *_: None) -> Callable[..., Any]:
    """A function that is called once for each key of its arguments; all runs are over the same rows."""
    known: dict[object, Any] = {}

    def once(*given: Any) -> Any:
        if (name := key(*given)) not in known:
            known[name] = function(*given)
        return known[name]

    return once


class _Judged:
    """Judges the same answer to the same row once. `judge`: as the scorer judges cases."""

    def __init__(self, judge: Callable[..., pl.DataFrame]) -> None:
        self.judge = judge
        self.known: dict[tuple[Any, ...], tuple[Any, ...]] = {}
        self.schema: dict[str, Any] = {}

    def __call__(self, cases: pl.DataFrame, *given: Any) -> pl.DataFrame:
        keys = list(cases.drop("case").iter_rows())
        new = [place for place, key in enumerate(keys) if key not in self.known]
        if len(self.known) > _MOST_KEPT:
            self.known, new = {}, list(range(len(keys)))
        if new:
            verdicts = self.judge(cases[new], *given)
            self.schema = dict(verdicts.schema)
            self.known |= zip((keys[place] for place in new), verdicts.iter_rows(), strict=True)
        return pl.DataFrame([self.known[key] for key in keys], self.schema, orient="row")


def default_dataset(length: str) -> Path:
    """The default dataset up to a length, built if it is not there."""
    out = Path(tempfile.gettempdir()) / f"niah-diagnosis-{length}"
    if not list(out.glob("default/*/manifest.json")):
        command = [sys.executable, "-m", "niah_gen.cli", "build", "default", "--length", length, "--out", str(out)]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return next(out.glob("default/*/manifest.json")).parent


def tables(runs: Iterable[Run]) -> Iterator[str]:
    """Markdown: what was named of each fault, in percent of its runs, and how often it was right by what was drawn."""
    by_fault: dict[str, list[Run]] = {}
    for run in runs:
        by_fault.setdefault(run.fault, []).append(run)
    named = [*FAULTS, NONE]
    yield f"| fault | runs | {' | '.join(named)} | among the first two |"
    yield f"|---|{'---:|' * (len(named) + 2)}"
    for fault, own in by_fault.items():
        counts = Counter(run.first for run in own)
        cells = [f"{100 * counts[name] / len(own):.0f}" if counts[name] else "" for name in named]
        near = sum(fault in run.named[:2] or (fault in OTHERS and run.is_right) for run in own)
        yield f"| {fault} | {len(own)} | {' | '.join(cells)} | {100 * near / len(own):.0f} |"
    heads = [*(f"strength {strength}" for strength in STRENGTHS), *(f"accuracy {accuracy}" for accuracy in ACCURACIES)]
    yield f"\n| right, in percent | {' | '.join(heads)} |\n|---|{'---:|' * len(heads)}"
    for fault, own in by_fault.items():
        groups = [[run for run in own if run.strength == strength] for strength in STRENGTHS]
        groups += [[run for run in own if run.accuracy == accuracy] for accuracy in ACCURACIES]
        shares = [f"{100 * sum(run.is_right for run in group) / len(group):.0f}" if group else "" for group in groups]
        yield f"| {fault} | {' | '.join(shares)} |"


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description="Diagnose readers with known faults.")
    parser.add_argument("dataset", type=Path, nargs="?", help="dataset folder; built if it is left out")
    parser.add_argument("--length", default="32k", help="the longest length of the dataset that is built")
    parser.add_argument("--runs", type=int, default=200, help="of each reader")
    parser.add_argument("--faults", default=",".join((*FAULTS, *OTHERS)), help="names, separated by commas")
    parser.add_argument("--jobs", type=int, default=2, help="processes")
    options = parser.parse_args()
    dataset = options.dataset or default_dataset(options.length)
    faults = options.faults.split(",")
    cases = [(fault, nth) for nth in range(options.runs) for fault in faults]
    context = multiprocessing.get_context("spawn")  # polars does not survive a fork
    with ProcessPoolExecutor(options.jobs, context, _begin_worker) as pool:
        done = pool.map(diagnosed, [dataset] * len(cases), *zip(*cases, strict=True), chunksize=len(faults))
        print("\n".join(tables(sorted(done, key=lambda run: faults.index(run.fault)))))


if __name__ == "__main__":
    main()
