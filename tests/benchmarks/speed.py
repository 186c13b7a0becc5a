"""Measures building as ratios within one run: whole processes of ours and the published loops, in turns.

make bench            needs the corpora paul_graham and cdme (niah-gen corpora fetch ...), or NIAH_CORPORA
"""

from __future__ import annotations

import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from itertools import count
from pathlib import Path
from typing import NamedTuple

import tiktoken

ROUNDS = 5
BESIDE = Path(__file__).parents[3] / "shared" / "corpora"
NATIVE = (
    "plain", "--language", "en", "--corpus", "paul_graham", "--needle", "brannock-lighthouse", "--set",
    "lengths={min = 1000, max = 128000, steps = 15}", "--set", "depths={steps = 15, rounding = 'nearest'}",
)  # fmt: skip
# Datasets whose rows have a million tokens, or are many over one haystack: their recipe, and the goal for their files.
LARGE = (
    ("101 rows of 1M tokens, essays (repeating)", ("--corpus", "paul_graham", "--length", "1m", "--set",
     "lengths=[1000000]", "--set", "depths={steps = 101}", "--needle", "brannock-lighthouse", "--allow-repeats"), 20),
    ("21 rows of 1M tokens, text that does not repeat", ("--corpus", "cdme", "--needle", "qingmen-teahouse", "--set",
     "lengths=[1000000]", "--set", "depths={steps = 21}"), 20),
    ("200 rows of 32k tokens over one haystack", ("--corpus", "paul_graham", "--needle", "brannock-lighthouse",
     "--set", "lengths=[32000]", "--set", "depths={steps = 200}", "--allow-repeats"), 250),
)  # fmt: skip


class Spent(NamedTuple):
    """Seconds of the wall and of all processors, and the peak memory of a process and its children together, in MB."""

    wall: float
    cpu: float
    peak: float = 0.0


def process(arguments: Sequence[str | Path]) -> Spent:
    """The cost of a whole process. Its memory is sampled ten times a second, with shared pages counted once."""
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    nothing = subprocess.DEVNULL
    with subprocess.Popen(list(map(str, arguments)), stdout=nothing, stderr=nothing) as running:
        peak = 0
        while running.poll() is None:
            peak = max(peak, sum(map(proportional_kilobytes, family(running.pid))))
            time.sleep(0.1 if time.perf_counter() - began > 3 else 0.005)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if running.returncode:
        sys.exit(f"speed: {' '.join(map(str, arguments))} ended with {running.returncode}")
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Spent(time.perf_counter() - began, cpu, peak / 1e3)


def family(process_id: int) -> Iterator[int]:
    """A process and all its descendants."""
    yield process_id
    for listed in Path(f"/proc/{process_id}/task").glob("*/children"):
        try:
            children = listed.read_text().split()
        except OSError:
            continue
        for child in children:
            yield from family(int(child))


def proportional_kilobytes(process_id: int) -> int:
    """The memory of a process, shared pages divided by the number of their users; 0 if the system reports none."""
    try:
        lines = Path(f"/proc/{process_id}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in lines if line.startswith("Pss:")), 0)


def built(arguments: Sequence[str], out: Path) -> Spent:
    """The cost of a whole build."""
    return process([Path(sys.executable).with_name("niah-gen"), "build", *arguments, "--out", out])


def timed(work: Callable[[], object]) -> float:
    """Seconds that some work takes."""
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def beside_loop(
    name: str, cells: Sequence[Callable[[], object]], arguments: Sequence[str], folder: Path, goal: float
) -> None:
    """Print how many times as fast as a published loop over all cells a whole build of ours is.

    The loop is done in as many parts as ours has rounds: turns keep the ratio fair when the machine's speed drifts.
    """
    fresh = (folder / f"{name}-{number}" for number in count())
    built(arguments, next(fresh))
    published, ours = 0.0, []
    for number in range(ROUNDS):
        published += timed(lambda part=number: [cell() for cell in cells[part::ROUNDS]])  # type: ignore[misc]
        ours.append(built(arguments, next(fresh)).wall)
    median = statistics.median(ours)
    print(
        f"{name:44} published {published:7.2f} s   ours {median:6.3f} s ({min(ours):.3f} to {max(ours):.3f})"
        f"   {published / median:6.1f} times, goal {goal:g}",
        flush=True,
    )


def large(name: str, arguments: Sequence[str], goal: float, folder: Path) -> None:
    """Print the throughput, the size and the memory of a dataset of long rows. `goal`: text per byte of its files."""
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    from niah_score.contract import open_dataset

    spent = built(["plain", *arguments, "--jobs", "1"], folder / name)
    (manifest,) = (folder / name).glob("*/*/manifest.json")
    paths = [file.path for file in open_dataset(manifest.parent).files()]
    text = sum(
        pc.sum(pc.binary_length(file.read_row_group(number, columns=["prompt"])["prompt"])).as_py()
        for file in map(pq.ParquetFile, paths)
        for number in range(file.metadata.num_row_groups)
    )
    size = sum(path.stat().st_size for path in paths)
    print(
        f"{name:50} {text / 1e6:.0f} MB in {spent.wall:.2f} s, {text / spent.cpu / 1e6:.0f} MB/s a core, goal 100; "
        f"files 1/{text / size:.0f} of the text, goal 1/{goal:g}; peak {spent.peak / 1e3:.2f} GB, goal 1",
        flush=True,
    )


def main() -> None:
    if BESIDE.is_dir():
        os.environ.setdefault("NIAH_CORPORA", str(BESIDE))
    import published

    from niah_gen.corpora.find import locate
    from niah_gen.errors import CorpusError
    from niah_gen.recipe.read import load_recipe
    from niah_gen.tasks.needle_library import needle_library
    from niah_gen.tokenizers.find import BytePairTokenizer, find_tokenizer

    try:
        essays, finance = locate("paul_graham").folder, locate("cdme/zh_finance").folder / "zh_finance.jsonl"
    except CorpusError as error:
        sys.exit(f"{error}\nThe benchmarks compare with the published generators on the real corpora.")

    classic, (chinese,) = load_recipe("gkamradt-classic"), load_recipe("cdme-8k").parts

    def loop(name: str, needles: Sequence[str]) -> list[Callable[[], object]]:
        tokenizer = find_tokenizer(name)
        assert isinstance(tokenizer, BytePairTokenizer)
        encoding: tiktoken.Encoding = tokenizer.encoding
        return [
            lambda length=length, depth=depth: published.gkamradt_context(encoding, essays, length, depth, needles)  # type: ignore[misc]
            for length in classic.lengths
            for depth in classic.parts[0].depths
        ]

    small = find_tokenizer("cl100k_base")
    assert isinstance(small, BytePairTokenizer)
    records: list[Callable[[], object]] = [
        lambda length=length, depth=depth: published.opencompass_cell(  # type: ignore[misc]
            small.encoding, finance, length, depth, chinese.repeats, chinese.needles[0].needles
        )
        for length in chinese.lengths
        for depth in chinese.depths
    ]
    hidden = needle_library()["brannock-lighthouse"].needles
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        cells = loop("cl100k_base", classic.parts[0].needles[0].needles)
        beside_loop("classic grid, to Parquet", cells, ["gkamradt-classic"], folder, 20)
        for encoding in ("cl100k_base", "o200k_base"):
            arguments = [*NATIVE, "--tokenizer", encoding]
            beside_loop(f"classic grid, native, {encoding}", loop(encoding, hidden), arguments, folder, 15)
        beside_loop("cdme-8k, to Parquet", records, ["cdme-8k"], folder, 4)
        for what, chosen, goal in LARGE:
            large(what, chosen, goal, folder)
        helps = [process([Path(sys.executable).with_name("niah-gen"), "--help"]).wall for _ in range(ROUNDS)]
    print(f"{'niah-gen --help':44} {statistics.median(helps):.3f} s, goal 0.3 s")


if __name__ == "__main__":
    main()
