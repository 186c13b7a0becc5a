"""Measures speed as ratios within one run: whole processes of ours and the published loops, in turns.

Rows of a million tokens are compared with a bare `pq.write_table` of the same rows instead.

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
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

ROUNDS = 5
BESIDE = Path(__file__).parents[3] / "shared" / "corpora"


def timed(work: Callable[[], object]) -> float:
    """Seconds that some work takes."""
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def command(*arguments: str) -> float:
    """Seconds of a whole `niah-gen` process."""
    executable = Path(sys.executable).with_name("niah-gen")
    return timed(lambda: subprocess.run([executable, *arguments], check=True, stdout=subprocess.DEVNULL))


def in_turns(baseline: Sequence[Callable[[], object]], ours: Callable[[], float]) -> tuple[float, list[float]]:
    """Seconds of the whole baseline, done in as many parts as ours has rounds, and of each round of ours.

    Taking turns keeps the ratio fair when the machine's speed drifts.
    """
    total = 0.0
    rounds = []
    for number in range(ROUNDS):
        total += timed(lambda part=number: [cell() for cell in baseline[part::ROUNDS]])  # type: ignore[misc]
        rounds.append(ours())
    return total, rounds


def line(name: str, baseline: float, rounds: Sequence[float], goal: float) -> None:
    """Print one result."""
    median = statistics.median(rounds)
    print(
        f"{name:44} published {baseline:7.2f} s   ours {median:6.3f} s ({min(rounds):.3f} to {max(rounds):.3f})"
        f"   {baseline / median:6.1f} times, goal {goal:g}",
        flush=True,
    )


def millions(folder: Path) -> None:
    """Print figures for rows of 1M tokens: throughput, memory, distance to bare writing, rows over one haystack."""
    essays = {"corpora": ["paul_graham"], "needles": ["brannock-lighthouse"], "lengths": ["1m"], "allow_repeats": True}
    made, seconds, cpu, peak = built({**essays, "depths": {"steps": 101}}, folder / "essays")
    print(
        f"{'1M-token rows, essays (repeating)':44} {made.text / 1e6:.0f} MB in {seconds:.2f} s, {cpu:.2f} s of "
        f"processor: {made.text / cpu / 1e6:.0f} MB/s a core, goal 100; files {made.files / 1e6:.2f} MB; "
        f"peak {peak / 1e6:.2f} GB, goal 1",
        flush=True,
    )
    news = {"corpora": ["cdme"], "needles": ["qingmen-teahouse"], "lengths": ["1m"], "depths": {"steps": 21}}
    made, _, _, peak = built(news, folder / "news")
    ratios = [beside_bare_writing(news, folder) for _ in range(ROUNDS)]
    print(
        f"{'1M-token rows, text that does not repeat':44} {statistics.median(ratios):.2f} times a bare pq.write_table "
        f"({min(ratios):.2f} to {max(ratios):.2f}), goal 1.3; files 1/{made.text / made.files:.0f} of the text, "
        f"goal 1/20; peak {peak / 1e6:.2f} GB",
        flush=True,
    )
    many = {**essays, "lengths": [32000], "depths": {"steps": 200}}
    made, *_ = built(many, folder / "many")
    print(
        f"{'200 rows of 32k tokens over one haystack':44} {made.files / 1e6:.3f} MB of data files, goal 0.1", flush=True
    )


class Made(NamedTuple):
    """Bytes of a dataset's prompts and of its data files."""

    text: int
    files: int


def built(recipe: Mapping[str, object], out: Path) -> tuple[Made, float, float, int]:
    """Build a dataset in one whole process; return its sizes, wall seconds, processor seconds, peak memory in kB."""
    import json

    import pyarrow.compute as pc
    import pyarrow.parquet as pq
    import tomli_w

    out.mkdir()
    (out / "recipe.toml").write_bytes(tomli_w.dumps(recipe).encode())
    executable = Path(sys.executable).with_name("niah-gen")
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    began = time.perf_counter()
    arguments = [executable, "build", out / "recipe.toml", "--jobs", "1", "--out", out]
    # A separate child, like GNU time, keeps the peak of this process's other children out of it.
    code = (
        "import resource, subprocess, sys; "
        "subprocess.run(sys.argv[1:], check=True, stdout=2, stderr=subprocess.DEVNULL); "
        "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, *map(str, arguments)],
        check=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    seconds = time.perf_counter() - began
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    (manifest,) = out.glob("*/*/manifest.json")
    entries = [entry for entry in json.loads(manifest.read_bytes())["files"] if entry["rows"]]
    text = 0
    for entry in entries:
        file = pq.ParquetFile(manifest.parent / entry["path"])
        for group in range(file.metadata.num_row_groups):
            column = file.read_row_group(group, columns=["prompt"])["prompt"]
            text += pc.sum(pc.binary_length(column)).as_py()
    return Made(text, sum(entry["bytes"] for entry in entries)), seconds, cpu, int(done.stdout)


def beside_bare_writing(recipe: Mapping[str, object], folder: Path) -> float:
    """The time to make and write rows, divided by the time that pyarrow takes to write them as finished tables."""
    import pyarrow.parquet as pq

    from niah_gen.dataset.shards import compression_level, shard_writer
    from niah_gen.recipe.read import load_recipe
    from niah_gen.rows.assemble import Assembler
    from niah_gen.rows.plan import make_plan
    from niah_score.contract import REPEATING_COLUMNS

    plan = make_plan(load_recipe(recipe))
    target = folder / "bare"
    next(Assembler(plan).rows(plan.cells))  # documents are encoded once per run, whatever is written

    def ours() -> None:
        shard_writer(plan, target, ("parquet",), lambda rows, tokens: None)(0)

    seconds = timed(ours)
    file = pq.ParquetFile(next(target.rglob("*.parquet")))
    tables = [file.read_row_group(number).combine_chunks() for number in range(file.metadata.num_row_groups)]
    level = compression_level(2_800_000, len(plan.parts[0].part.depths))
    options = {"compression": "zstd", "compression_level": level, "use_dictionary": list(REPEATING_COLUMNS)}

    def bare() -> None:
        for table in tables:
            pq.write_table(table, folder / "bare.parquet", data_page_size=2**30, **options)

    return seconds / timed(bare)


def main() -> None:
    if BESIDE.is_dir():
        os.environ.setdefault("NIAH_CORPORA", str(BESIDE))
    import published
    import tiktoken

    from niah_gen.corpora.find import locate
    from niah_gen.errors import CorpusError
    from niah_gen.recipe.read import load_recipe
    from niah_gen.rows.assemble import Assembler
    from niah_gen.rows.plan import make_plan
    from niah_gen.tasks.needle_library import needle_library
    from niah_gen.tokenizers.find import BytePairTokenizer, find_tokenizer

    try:
        essays, finance = locate("paul_graham").folder, locate("cdme/zh_finance").folder / "zh_finance.jsonl"
    except CorpusError as error:
        sys.exit(f"{error}\nThe benchmarks compare with the published generators on the real corpora.")
    encodings: dict[str, tiktoken.Encoding] = {}
    for name in ("cl100k_base", "o200k_base"):
        tokenizer = find_tokenizer(name)
        assert isinstance(tokenizer, BytePairTokenizer)
        encodings[name] = tokenizer.encoding
    encoding = encodings["cl100k_base"]

    recipe = load_recipe("gkamradt-classic")
    needle = recipe.parts[0].needles[0].needles
    cells = [
        lambda length=length, depth=depth: published.gkamradt_context(encoding, essays, length, depth, needle)
        for length in recipe.lengths
        for depth in recipe.parts[0].depths
    ]
    with tempfile.TemporaryDirectory() as folder:
        fresh = (str(Path(folder) / str(number)) for number in range(1000))
        command("build", "gkamradt-classic", "--out", next(fresh))
        baseline, rounds = in_turns(cells, lambda: command("build", "gkamradt-classic", "--out", next(fresh)))
        line("classic grid, whole process to Parquet", baseline, rounds, 20)

        plan = make_plan(recipe)
        assembler = Assembler(plan)

        def generate() -> None:
            for _ in assembler.rows(plan.cells):
                pass

        generate()
        line("classic grid, generation alone, warm", baseline, [timed(generate) for _ in range(ROUNDS)], 100)

        native = ["plain", "--language", "en", "--corpus", "paul_graham", "--needle", "brannock-lighthouse"]
        native += ["--set", "lengths={min = 1000, max = 128000, steps = 15}"]
        native += ["--set", "depths={steps = 15, rounding = 'nearest'}"]
        hidden = needle_library()["brannock-lighthouse"].needles
        for name, other in encodings.items():
            cells = [
                lambda length=length, depth=depth, other=other: published.gkamradt_context(  # type: ignore[misc]
                    other, essays, length, depth, hidden
                )
                for length in recipe.lengths
                for depth in recipe.parts[0].depths
            ]
            baseline, rounds = in_turns(
                cells,
                lambda name=name: command("build", *native, "--tokenizer", name, "--out", next(fresh)),  # type: ignore[misc]
            )
            line(f"classic grid, native, {name}", baseline, rounds, 15)

        (chinese,) = load_recipe("cdme-8k").parts
        small = [
            lambda length=length, depth=depth: published.opencompass_cell(
                encoding, finance, length, depth, chinese.repeats, chinese.needles[0].needles
            )
            for length in chinese.lengths
            for depth in chinese.depths
        ]
        command("build", "cdme-8k", "--out", next(fresh))
        baseline, rounds = in_turns(small, lambda: command("build", "cdme-8k", "--out", next(fresh)))
        line("cdme-8k, whole process to Parquet", baseline, rounds, 4)
        millions(Path(folder))
    helps = [command("--help") for _ in range(ROUNDS)]
    print(f"{'niah-gen --help':44} {statistics.median(helps):.3f} s, goal 0.3 s")


if __name__ == "__main__":
    main()
