"""Measures building against its limits, in one run: the cost to copy, hash, compress and write the same bytes.

    python tests/benchmarks/limits.py [--rounds N] [GRID ...]      GRID: rows x tokens, such as 100x1m or 1000x8k

For each grid, a whole `niah-gen build` minus its start-up (a build of one short row) is compared with the sum of its
limits, each measured over the same text in this process: a copy into one column, sha256 twice (the prompt's and the
row's), zstd at the level of its files over its row groups, and writing and syncing the data files. Then 225 prompts to
128k and to 1m are compared with the published generator of the same prompts, which encodes each length once and writes
nothing.

Processor seconds are printed beside wall seconds, which the load of other programs changes. NIAH_NEEDLEHAYSTACK names
a Python with needlehaystack 2 installed (it needs 3.12), to measure its own modules, too.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq
from speed import BESIDE

GRIDS = ("10x1k", "1000x1k", "100000x1k", "10x32k", "1000x32k", "10x1m", "100x1m")
# Rows over one haystack; further rows are repeats, each with a haystack of its own.
MOST_DEPTHS = 100
CODE = "import sys; from niah_gen.cli.main import main; sys.argv[0] = 'niah-gen'; main()"
LOOP = Path(__file__).with_name("needlehaystack2_loop.py")


class Spent(NamedTuple):
    """Seconds of the wall and of all processors, and the peak memory of a process and its children together, in MB."""

    wall: float
    cpu: float
    peak: float = 0.0


def seconds(work: Callable[[], object]) -> Spent:
    """The seconds that some work takes in this process."""
    wall, cpu = time.perf_counter(), time.process_time()
    work()
    return Spent(time.perf_counter() - wall, time.process_time() - cpu)


def process(arguments: Sequence[str | Path], environment: dict[str, str] | None = None) -> Spent:
    """The cost of a whole process. Its memory is sampled ten times a second, with shared pages counted once."""
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    with subprocess.Popen(list(map(str, arguments)), stdout=subprocess.DEVNULL, env=environment) as running:
        peak = 0
        while running.poll() is None:
            peak = max(peak, sum(map(proportional_kilobytes, family(running.pid))))
            time.sleep(0.1 if time.perf_counter() - began > 3 else 0.005)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if running.returncode:
        sys.exit(f"limits: {' '.join(map(str, arguments))} ended with {running.returncode}")
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


def recipe(rows: int, tokens: str) -> list[str]:
    """The arguments that build `rows` rows of a length over essays."""
    depths = min(rows, MOST_DEPTHS)
    chosen = ["--length", tokens if tokens.endswith("m") else str(int(tokens.removesuffix("k")) * 1000)]
    axes = [f"depths={{steps={depths}}}", f"repeats={rows // depths}"]
    if tokens.endswith("m"):
        chosen = ["--set", f"lengths=[{int(tokens.removesuffix('m')) * 1_000_000}]"]
    named = [
        "plain", "--language", "en", "--corpus", "paul_graham", "--needle", "brannock-lighthouse", "--allow-repeats",
    ]  # fmt: skip
    return [*named, *chosen, *(part for axis in axes for part in ("--set", axis))]


def built(arguments: Sequence[str], out: Path) -> Spent:
    """The cost of a whole build."""
    return process([sys.executable, "-c", CODE, "build", *arguments, "--out", out])


class Limits(NamedTuple):
    """What the bytes of a dataset cost on their own, in seconds of one core each; sizes in bytes."""

    text: int
    files: int
    copied: float
    hashed: float
    compressed: float
    written: float

    @property
    def total(self) -> float:
        """The sum."""
        return self.copied + self.hashed + self.compressed + self.written


def limits(folder: Path) -> Limits:
    """The limits of a dataset's data files, group by group as they were written. The smaller of two figures counts."""
    from niah_gen.dataset.shards import compression_level
    from niah_score.contract import open_dataset

    text = 0
    copied = hashed = compressed = written = 0.0
    paths = [file.path for file in open_dataset(folder).files()]
    for path in paths:
        file = pq.ParquetFile(path)
        for number in range(file.metadata.num_row_groups):
            rows = file.read_row_group(number, columns=["prompt", "length"])
            column = rows["prompt"].combine_chunks()
            length = rows["length"][0].as_py()
            size = int(column.nbytes)
            text += size
            many = min(file.metadata.num_rows, MOST_DEPTHS)
            # Nominal bytes of a row of essays, which repeat after 650 kB.
            codec = pa.Codec("zstd", compression_level=compression_level(4 * length, many, again=650_000))
            data = column.buffers()[-1]
            memory = bytearray(size)
            view = memoryview(memory)

            def copy(view: memoryview = view, data: pa.Buffer = data) -> None:
                view[: len(data)] = memoryview(data).cast("B")

            def hash_twice(data: pa.Buffer = data) -> None:
                for _ in range(2):
                    hashlib.sha256(data).digest()

            copied += least(copy)
            hashed += least(hash_twice)
            compressed += least(lambda codec=codec, data=data: codec.compress(data))  # type: ignore[misc]
    for path in paths:
        data_ = path.read_bytes()

        def write(data_: bytes = data_) -> None:
            with (folder / "written").open("wb") as file:
                file.write(data_)
                file.flush()
                os.fsync(file.fileno())

        written += min(seconds(write).wall for _ in range(2))
    return Limits(text, sum(path.stat().st_size for path in paths), copied, hashed, compressed, written)


def least(work: Callable[[], object]) -> float:
    """Processor seconds of the faster of two tries."""
    return min(seconds(work).cpu for _ in range(2))


def grid_line(rows: int, tokens: str, rounds: int, folder: Path) -> str:
    """A line of the table: rows, tokens, text, files, limits, and what building costs beyond its start-up."""
    start = [built(recipe(1, "1k"), folder / f"start-{rows}-{tokens}-{turn}") for turn in range(rounds)]
    took = [built(recipe(rows, tokens), folder / f"{rows}-{tokens}-{turn}") for turn in range(rounds)]
    (dataset,) = (folder / f"{rows}-{tokens}-0").glob("*/*/manifest.json")
    bound = limits(dataset.parent)
    wall = max(0.0, min(one.wall for one in took) - min(one.wall for one in start))
    cpu = max(0.0, min(one.cpu for one in took) - min(one.cpu for one in start))
    return (
        f"| {rows:,} x {tokens} | {bound.text / 1e6:,.1f} | {bound.files / 1e6:.2f} | {bound.copied:.3f} | "
        f"{bound.hashed:.3f} | {bound.compressed:.3f} | {bound.written:.3f} | {bound.total:.2f} | {cpu:.2f} | "
        f"{wall:.2f} | {cpu / bound.total:.1f} | {wall / bound.total:.1f} | {max(one.peak for one in took):,.0f} |"
    )


def beside_published(most: int, rounds: int, folder: Path) -> str:
    """225 prompts to a length, whole processes in turns: the published steps, the published modules, and ours."""
    from niah_gen.corpora.find import locate
    from niah_gen.tokenizers.here import CACHE_VARIABLE, fill_tiktoken_cache

    cache = folder / "tiktoken"
    cache.mkdir(exist_ok=True)
    fill_tiktoken_cache(cache)
    environment = {**os.environ, CACHE_VARIABLE: str(cache)}
    essays = locate("paul_graham").folder
    axes = [f'lengths={{min=1000,max={most},steps=15,rounding="nearest"}}', "depths={steps=15}"]
    ours = ["needlehaystack2-single", *(part for axis in axes for part in ("--set", axis))]
    runs: dict[str, Callable[[Path], Spent]] = {
        "published steps": lambda out: process([sys.executable, LOOP, str(most), essays], environment),
    }
    if own := os.environ.get("NIAH_NEEDLEHAYSTACK"):
        modules: list[str | Path] = [own, LOOP, str(most), essays, "--modules"]
        runs["its own modules"] = lambda out: process(modules, environment)
    runs["ours, Parquet"] = lambda out: built(ours, out)
    runs["ours, JSONL.zst"] = lambda out: built([*ours, "--format", "jsonl.zst"], out)
    took: dict[str, list[Spent]] = {name: [] for name in runs}
    for turn in range(rounds):
        for name, run in runs.items():
            took[name].append(run(folder / f"{most}-{name}-{turn}"))
    first = took["published steps"]
    lines = []
    for name, spent in took.items():
        wall, cpu = min(one.wall for one in spent), min(one.cpu for one in spent)
        ahead = min(one.wall for one in first) / wall, min(one.cpu for one in first) / cpu
        lines.append(f"| to {most:,} | {name} | {wall:.2f} | {cpu:.2f} | {ahead[0]:.1f} | {ahead[1]:.1f} |")
    return "\n".join(lines)


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description="Measure building against its limits.")
    parser.add_argument("--rounds", type=int, default=3, help="of each whole process; the fastest counts")
    parser.add_argument("grids", nargs="*", default=GRIDS, metavar="GRID", help="rows x tokens, such as 100x1m")
    parser.add_argument("--published", default="128000,1000000", help="lengths to go to beside the published generator")
    flags = parser.parse_args()
    if BESIDE.is_dir():
        os.environ.setdefault("NIAH_CORPORA", str(BESIDE))
    print(
        "| rows x tokens | text, MB | files, MB | copy, s | sha256 twice | zstd | write, sync | sum | "
        "build, processor | wall | times the sum, processor | wall | peak, MB |\n|---" + "|---:" * 12 + "|",
        flush=True,
    )
    with tempfile.TemporaryDirectory() as folder:
        for grid in flags.grids:
            rows, _, tokens = grid.partition("x")
            print(grid_line(int(rows), tokens, flags.rounds, Path(folder)), flush=True)
        print("\n| 225 prompts | | wall, s | processor, s | times, wall | times, processor |")
        print("|---|---" + "|---:" * 4 + "|", flush=True)
        for most in filter(None, flags.published.split(",")):
            print(beside_published(int(most), flags.rounds, Path(folder)), flush=True)


if __name__ == "__main__":
    main()
