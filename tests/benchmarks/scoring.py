"""Measures scoring: whole `niah-score` processes on a million answers, beside the published evaluator in the same run.

make bench

The dataset has the needles of the library at 8 lengths and 21 depths, with one answer for each row; as in the
published grids, the needle is the reference. Answers are 120 to 300 characters of the bundled texts, six in ten with
the needle or its answer between words. The published evaluator computes one metric (CDME's), ours all default ones,
from its start to written files.
"""

from __future__ import annotations

import json
import random
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
from rapidfuzz import fuzz
from rapidfuzz.distance import Levenshtein
from speed import Spent, process

from niah_gen.corpora.find import locate
from niah_gen.corpora.read import read_corpus
from niah_gen.tasks.needle_library import needle_files
from niah_score.contract import MANIFEST, VERSION, FileEntry, Manifest, TokenizerEntry, file_sha256
from niah_score.join.rows import read_rows
from niah_score.metrics import METRICS, default_metrics, opencompass, similarity, target_of

ROWS = 1_000_000
ALIGNED = 50_000  # rows for which the alignments are run on their own
SAMPLE = 2_000  # rows that the published evaluator scores; its time grows with their number


def make(folder: Path, language: str, rows: int) -> tuple[Path, Path]:
    """Write a dataset of `rows` rows and answers to it; return both files."""
    rng = random.Random(7)
    corpus = read_corpus(locate("en_essays" if language == "en" else "zh_articles"))
    text = (" " if language == "en" else "").join(document.text for document in corpus.documents).replace("\n", "")
    needles = needle_files()[f"single-{language}"]
    truth: dict[str, list[object]] = {
        name: []
        for name in ("id", "language", "length", "depth_percent", "needle_id", "haystack_id", "answers", "keywords")
    }
    answers = folder / f"{language}.jsonl"
    with answers.open("w", encoding="utf-8") as file:
        for number in range(rows):
            needle = needles[number % len(needles)]
            length, depth = 1000 * (1 + number % 8), 5.0 * (number // 8 % 21)
            name = f"52c3b6fc-{language}-{length}-d{int(depth * 10):04}-{needle.id[:18]}-r0-{number:012x}"
            row = (
                name, language, length, depth, needle.id, f"h{number % 4096}", [*needle.needles, *needle.answers],
                [list(group) for group in needle.keywords],
            )  # fmt: skip
            for column, value in zip(truth.values(), row, strict=True):
                column.append(value)
            start, chance = rng.randrange(len(text) - 300), rng.random()
            prediction = text[start : start + rng.randint(120, 200)]
            if chance < 0.6:
                before, after = cut(prediction, language)
                prediction = f"{before}{needle.answers[0] if chance < 0.3 else needle.needles[0]}{after}"
            file.write(json.dumps({"id": name, "prediction": prediction}, ensure_ascii=False) + "\n")
    dataset = folder / f"{language}.parquet"
    pl.DataFrame(truth).write_parquet(dataset)
    return dataset, answers


def cut(text: str, language: str) -> tuple[str, str]:
    """A text in two parts: cut between words some 60 characters in, in Chinese after the first mark beyond 40."""
    if language == "en":
        place = text.rfind(" ", 0, 60) + 1
        return text[:place], f" {text[place:]}"
    place = min((end for mark in "，。、" if (end := text.find(mark, 40) + 1)), default=60)
    return text[:place], text[place:]


def scored(dataset: Path, answers: Path | str, out: Path) -> Spent:
    """The cost of the command from its start to written files."""
    spent = process([Path(sys.executable).with_name("niah-score"), "score", dataset, answers, "--out", out])
    print(f"    {spent.cpu:.1f} s of processor", flush=True)
    return spent


def bare_loop(dataset: Path, answers: Path) -> float:
    """Processor microseconds per row of the alignments alone: rapidfuzz's calls with the texts that metrics pass to it.

    No scorer that aligns these pairs one after another takes less: reading, joining, folding, judging keywords and
    findings, and writing are all left out.
    """
    truth = pl.read_parquet(dataset, n_rows=ALIGNED)
    with answers.open(encoding="utf-8") as file:
        texts = [json.loads(next(file))["prediction"] for _ in range(truth.height)]
    known = {row["needle_id"]: target_of(row) for row in truth.unique("needle_id").iter_rows(named=True)}
    targets = [known[name] for name in truth["needle_id"]]
    calls: list[tuple[Callable[[Any, Any], object], Any, Any]] = []

    def recorded(function: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
        def call(one: Any, other: Any) -> Any:
            calls.append((function, one, other))
            return function(one, other)

        return call

    with (
        patch.object(
            similarity, "fuzz", SimpleNamespace(ratio=recorded(fuzz.ratio), partial_ratio=recorded(fuzz.partial_ratio))
        ),
        patch.object(opencompass, "Levenshtein", SimpleNamespace(distance=recorded(Levenshtein.distance))),
    ):
        for name in default_metrics():
            for text, target in zip(texts, targets, strict=True):
                METRICS[name].judge(text, target)
    taken = []
    for _ in range(3):
        began = time.process_time()
        for function, one, other in calls:
            function(one, other)
        taken.append(time.process_time() - began)
    return 1e6 * min(taken) / truth.height


def published(dataset: Path, answers: Path) -> float:
    """Seconds per row of the published evaluator: Levenshtein distance in plain Python, row by row."""
    truth = pl.read_parquet(dataset, n_rows=SAMPLE)
    with answers.open(encoding="utf-8") as file:
        predictions = [json.loads(next(file))["prediction"] for _ in range(SAMPLE)]
    began = time.perf_counter()
    for text, references in zip(predictions, truth["answers"].to_list(), strict=True):
        left, right = "".join(text.split()), "".join(references[0].split())
        above = list(range(len(right) + 1))
        for place, char in enumerate(left, 1):
            row = [place]
            for column, other in enumerate(right):
                row.append(min(above[column + 1] + 1, row[column] + 1, above[column] + (char != other)))
            above = row
        _ = 100 * (1 - above[-1] / max(len(left), len(right), 1))
    return (time.perf_counter() - began) / SAMPLE


def long_prompts(folder: Path) -> None:
    """Print the time to score rows of a million tokens, rows of a thousand, and rows with one run-away answer."""
    import niah_gen

    times = {}
    for length in ("1000", "1m"):
        recipe = {"name": f"l{length}", "lengths": [length], "depths": {"steps": 21}, "needles": ["single-en"]}
        dataset = niah_gen.build({**recipe, "corpora": ["en_essays"], "allow_repeats": True}, folder)
        rows = [
            row
            for file in sorted(dataset.glob("data/*/*.parquet"))
            for row in pl.read_parquet(file, columns=["id"])["id"]
        ]
        answers = folder / f"l{length}.jsonl"
        answers.write_text("".join(json.dumps({"id": name, "prediction": "No."}) + "\n" for name in rows))
        times[length] = min(scored(dataset, answers, folder / f"out-{length}-{k}").wall for k in range(3))
        if length == "1m":
            lines = answers.read_text().splitlines()
            lines[0] = json.dumps({"id": rows[0], "prediction": "so " * 350_000})
            answers.write_text("\n".join(lines) + "\n")
            times["run-away"] = min(scored(dataset, answers, folder / f"out-r-{k}").wall for k in range(3))
    print(
        f"{len(rows)} rows: prompts of 1,000 tokens {times['1000']:.2f} s, of 1,000,000 {times['1m']:.2f} s, "
        f"with one answer of 1 MB {times['run-away']:.2f} s",
        flush=True,
    )


def hashing(folder: Path) -> None:
    """Print the cost of comparing a dataset's files with its manifest before reading them, from the page cache."""
    import niah_gen

    for longest, suffix in (("128k", "parquet"), ("128k", "jsonl"), ("1m", "parquet"), ("1m", "jsonl")):
        lengths = {"lengths": {"max": longest, "steps": 8}, "allow_repeats": True}
        dataset = niah_gen.build("plain", folder / longest, formats=[suffix], overrides=lengths)
        reading(dataset, f"lengths to {longest} as {suffix}")
        shutil.rmtree(folder / longest)
    reading(incompressible(folder / "random"), "random text in one Parquet file")


def reading(dataset: Path, what: str) -> None:
    """Print wall and processor seconds of reading a dataset's truth, and processor seconds of hashing its files."""
    files = sorted(dataset.glob("*/*/test-*"))
    size = sum(file.stat().st_size for file in files)
    walls, cores, hashes = [], [], []
    for _ in range(4):
        wall, core = time.perf_counter(), time.process_time()
        rows = read_rows(dataset).table.height
        walls.append(time.perf_counter() - wall)
        cores.append(time.process_time() - core)
        core = time.process_time()
        for file in files:
            file_sha256(file)
        hashes.append(time.process_time() - core)
    print(
        f"{what}: {rows:,} rows, {len(files)} files, {size / 1e6:,.1f} MB: read in {min(walls):.2f} s, "
        f"{min(cores):.2f} s of processor, {min(hashes):.2f} of them to hash",
        flush=True,
    )


def incompressible(folder: Path) -> Path:
    """A dataset with a single Parquet file of 1 GB, of which scoring reads next to nothing."""
    file = folder / "data" / "en-1m" / "test-00000-of-00001.parquet"
    file.parent.mkdir(parents=True)
    kinds = {"id": pa.string(), "answers": pa.list_(pa.string()), "prompt": pa.large_string()}
    with pq.ParquetWriter(file, pa.schema(list(kinds.items())), compression="none", use_dictionary=False) as writer:
        for number in range(1000):
            rows = {
                "id": [f"row-{number}"],
                "answers": [["x"]],
                "prompt": [random.Random(number).randbytes(500_000).hex()],
            }
            writer.write_table(pa.table(rows, schema=writer.schema))
    entry = FileEntry(file.relative_to(folder).as_posix(), file_sha256(file), 1000, file.stat().st_size)
    tokenizer = TokenizerEntry("t", "0" * 64)
    manifest = Manifest(1, "random", "1", "p", "c", VERSION, tokenizer, (), 1000, 1, (entry,))
    (folder / MANIFEST).write_bytes(manifest.to_json())
    return folder


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for language in ("en", "zh"):
            dataset, answers = make(folder, language, ROWS)
            slow = published(dataset, answers)
            seconds, processor, peak = scored(dataset, answers, folder / f"out-{language}")
            aligning = bare_loop(dataset, answers)
            print(
                f"{language}: the alignments alone take {aligning:.1f} microseconds of processor a row, so two cores "
                f"do at most {2e6 / aligning:,.0f} rows/s; ours takes {1e6 * processor / ROWS:.1f}, "
                f"{1e6 * processor / ROWS / aligning:.1f} times as much",
                flush=True,
            )
            print(
                f"{language}: {ROWS:,} answers in {seconds:.1f} s: {ROWS / seconds:,.0f} rows/s, goal 100,000; "
                f"peak {peak / 1e3:.2f} GB, goal 1; published evaluator {1e6 * slow:,.0f} microseconds a row: "
                f"{slow * ROWS / seconds:,.0f} times, goal 300",
                flush=True,
            )
        long_prompts(folder)
        hashing(folder)


if __name__ == "__main__":
    main()
