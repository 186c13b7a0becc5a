"""Runs every command of both programs in one process, ordered so that each finds what it needs.

As a program, in a process that `watched/sitecustomize.py` watches, it prints how much the watch has seen; with
--processes it also runs the lines that start processes.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from commands import PROGRAMS, app_of
from made_log_probs import sums_of, window_sums_of, written
from typer.main import get_command
from typer.testing import CliRunner

# Part of what commands read: it must never run, and would be recognised by its name if it did.
_NAME = "_".join(("niah", "canary"))  # in two parts, so that the watch does not find it in this source
WOULD_RUN = f"{{{{ {_NAME} }}}} ${{{_NAME}}} __import__('os').system('{_NAME}')"
# Command lines, ordered so that each finds what it needs. DATASET is the folder that the first line printed, SHARDS the
# one that the previous line printed. Lines that begin with `!` must fail.
LINES = """
niah-gen build plain --needle velden-archive --length 1000 --depths 0,100 --format parquet,jsonl --out build
! niah-gen build plain --set lenghts=8k
! niah-gen build nowhere.toml
niah-gen plan smoke
! niah-gen plan smoke --tokenizer nobody
niah-gen build plain --needle velden-archive --length 1000 --depths 0,100 --shard 1/2 --out shards
! niah-gen merge shards
niah-gen build plain --needle velden-archive --length 1000 --depths 0,100 --shard 2/2 --out shards
niah-gen merge SHARDS
niah-gen show DATASET --row 1
! niah-gen show DATASET no-such-id
niah-gen list build
! niah-gen list nowhere
niah-gen verify DATASET --full
! niah-gen verify broken
niah-gen recount DATASET --tokenizer o200k_base --limit 500
! niah-gen recount DATASET --tokenizer meta/llama
niah-gen card DATASET
! niah-gen card broken
niah-gen diff DATASET DATASET
! niah-gen diff DATASET broken
niah-gen page DATASET
! niah-gen page broken
niah-gen export DATASET --to openai-batch --model m --out requests
niah-gen export DATASET --to langsmith --out requests
! niah-gen export DATASET --to openai-batch --out requests
niah-gen publish DATASET me/needles --dry-run
! niah-gen publish DATASET me/needles
! niah-gen publish broken me/needles
niah-gen presets
! niah-gen presets show nobody
niah-gen needles
! niah-gen needles show nobody
niah-gen tokenizers --tiktoken-cache cache
! niah-gen tokenizers --tiktoken-cache answers.jsonl
niah-gen corpora list
niah-gen corpora show en_essays
! niah-gen corpora show nobody
! niah-gen corpora fetch paul_graham --url http://127.0.0.1:9
! niah-gen corpora fetch paul_graham --url http://me:hf_CanaryTokenOfTheHub0123456789abcdef@127.0.0.1:9
niah-gen corpora add mine text.txt
! niah-gen corpora add mine nowhere.txt
niah-score score DATASET answers.jsonl --missing zero --out scores --verbose
! niah-score score DATASET answers.jsonl --out again
! niah-score score broken answers.jsonl
niah-score report scores --dataset DATASET
! niah-score report nowhere
niah-score plot scores --out plot.png
! niah-score plot nowhere.csv --out other.png
niah-score score DATASET answers.jsonl --missing zero --model other --out others
niah-score compare scores others --out comparison
! niah-score compare scores nowhere
niah-score diagnose scores
niah-score gate scores others --junit gate.xml
! niah-score diagnose nowhere
! niah-score gate scores nowhere
niah-score gain DATASET gains.jsonl --missing exclude --out gained
! niah-score gain DATASET answers.jsonl
niah-gen build perplexity --length 128 --set options.tokens=128 --set options.documents=1 --format jsonl --out windows
niah-score perplexity SHARDS logprobs.jsonl --out windows/scored
! niah-score perplexity DATASET gains.jsonl
niah-score formats
niah-score judge export DATASET scores --model m --out judged
! niah-score judge export DATASET nowhere --model m --out judged
! niah-score judge import DATASET scores answers.jsonl
"""
# These lines start processes, which takes seconds.
WITH_PROCESSES = """\
niah-gen build plain --needle velden-archive --length 1000 --depths 0,30,60,100 --repeats 2 --out several --jobs 2
niah-gen verify DATASET --full --jobs 2
niah-gen recount DATASET --tokenizer o200k_base --jobs 2
niah-gen diff DATASET DATASET --jobs 2
niah-score score DATASET answers.parquet --missing zero --out columns
"""


class Ran(NamedTuple):
    """A command line as in LINES, and all that it printed."""

    line: str
    output: str


def run_every_command(place: Path, lines: str = LINES) -> Iterator[Ran]:
    """Run command lines in the working folder `place`; each must end as its line says."""
    prepare(place)
    dataset = printed = ""
    for line in lines.strip().splitlines():
        fails = line.startswith("! ")
        executable, *words = line.removeprefix("! ").replace("DATASET", dataset).replace("SHARDS", printed).split()
        done = CliRunner().invoke(app_of(executable), words)
        assert done.exit_code in ((2, 4, 5) if fails else (0, 3)), f"{line}: {done.output}{done.exception!r}"
        yield Ran(line, done.output)
        printed = done.stdout.splitlines()[-1] if done.stdout else ""
        if not dataset:
            dataset = printed
            _answer(place, Path(dataset))
        if " build perplexity " in line:
            _answer_windows(place, Path(printed))


def command_names() -> set[str]:
    """All commands of both programs, such as "niah-gen corpora add"."""
    named: set[str] = set()
    for executable in PROGRAMS:
        for name, command in get_command(app_of(executable)).commands.items():  # type: ignore[attr-defined]
            below = getattr(command, "commands", {})
            named |= {f"{executable} {name} {sub}" for sub in below} or {f"{executable} {name}"}
    return named


def prepare(place: Path) -> None:
    """Write the files that the lines name and no command writes."""
    (place / "text.txt").write_text(
        f"A first sentence stands here. A second one follows it. {WOULD_RUN} " * 40, "utf-8"
    )
    (place / "broken").mkdir()
    (place / "broken" / "manifest.json").write_text(json.dumps({"schema_version": 1, "name": WOULD_RUN}), "utf-8")


def _answer(place: Path, dataset: Path) -> None:
    import polars as pl

    ids = [json.loads(row)["id"] for file in dataset.glob("jsonl/*/*.jsonl") for row in file.open()]
    answers: list[dict[str, object]] = [{"id": name, "prediction": f"Blue. {WOULD_RUN}"} for name in ids[1:]]
    written(place / "answers.jsonl", answers)
    pl.DataFrame(answers).write_parquet(place / "answers.parquet")
    written(place / "gains.jsonl", sums_of(ids))


def _answer_windows(place: Path, dataset: Path) -> None:
    rows = [json.loads(row) for file in dataset.glob("jsonl/*/*.jsonl") for row in file.open()]
    written(place / "logprobs.jsonl", window_sums_of(rows))


if __name__ == "__main__":
    watch: Any = sys.modules["sitecustomize"]
    here = Path(os.environ["NIAH_WATCHED"]) / "here"
    os.chdir(here)
    for ran in run_every_command(here, LINES + WITH_PROCESSES if "--processes" in sys.argv else LINES):
        watch.line = f"after {ran.line}"
    print(json.dumps(watch.seen))
