"""Speed as ratios within one run: whole processes of ours against the published loops, in turns, on the same machine.

make bench            needs the corpora paul_graham and cdme (niah-gen corpora fetch ...), or NIAH_CORPORA
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

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
    """Seconds of the whole baseline, done in as many parts as ours has rounds, and ours of each round.

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


def main() -> None:
    if BESIDE.is_dir():
        os.environ.setdefault("NIAH_CORPORA", str(BESIDE))
    import published
    import tiktoken

    from niah_gen.assemble import Assembler
    from niah_gen.corpora import locate
    from niah_gen.errors import CorpusError
    from niah_gen.plan import make_plan
    from niah_gen.recipe import load_recipe
    from niah_gen.tokenizers import BytePairTokenizer, find_tokenizer

    try:
        essays, finance = locate("paul_graham").folder, locate("cdme/zh_finance").folder / "zh_finance.jsonl"
    except CorpusError as error:
        sys.exit(f"{error}\nThe benchmarks compare with the published generators on the real corpora.")
    tokenizer = find_tokenizer("cl100k_base")
    assert isinstance(tokenizer, BytePairTokenizer)
    encoding: tiktoken.Encoding = tokenizer.encoding

    lengths, depths = "{min = 1000, max = 128000, steps = 15}", "{steps = 15, rounding = 'nearest'}"
    classic = ["gkamradt-single", "--set", f"lengths={lengths}", "--set", f"depths={depths}"]
    recipe = load_recipe(
        "gkamradt-single",
        {"lengths": {"min": 1000, "max": 128000, "steps": 15}, "depths": {"steps": 15, "rounding": "nearest"}},
    )
    needle = recipe.needles[0].needles
    cells = [
        lambda length=length, depth=depth: published.gkamradt_context(encoding, essays, length, depth, needle)
        for length in recipe.lengths
        for depth in recipe.depths
    ]
    with tempfile.TemporaryDirectory() as folder:
        fresh = (str(Path(folder) / str(number)) for number in range(1000))
        command("build", *classic, "--out", next(fresh))
        baseline, rounds = in_turns(cells, lambda: command("build", *classic, "--out", next(fresh)))
        line("classic grid, whole process to Parquet", baseline, rounds, 20)

        plan = make_plan(recipe)
        assembler = Assembler(plan)

        def generate() -> None:
            for _ in assembler.drafts(plan.cells):
                pass

        generate()
        line("classic grid, generation alone, warm", baseline, [timed(generate) for _ in range(ROUNDS)], 100)

        chinese = load_recipe("cdme-8k")
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
    helps = [command("--help") for _ in range(ROUNDS)]
    print(f"{'niah-gen --help':44} {statistics.median(helps):.3f} s, goal 0.3 s")


if __name__ == "__main__":
    main()
