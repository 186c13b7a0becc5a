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
import sys
import tempfile
import time
from pathlib import Path

import polars as pl
from speed import Spent, process

from niah_gen.corpora.find import locate
from niah_gen.corpora.read import read_corpus
from niah_gen.tasks.needle_library import needle_files

ROWS = 1_000_000
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


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for language in ("en", "zh"):
            dataset, answers = make(folder, language, ROWS)
            slow = published(dataset, answers)
            seconds, _, peak = scored(dataset, answers, folder / f"out-{language}")
            print(
                f"{language}: {ROWS:,} answers in {seconds:.1f} s: {ROWS / seconds:,.0f} rows/s, goal 9,000; "
                f"peak {peak / 1e3:.2f} GB, goal 2; published evaluator {1e6 * slow:,.0f} microseconds a row: "
                f"{slow * ROWS / seconds:,.0f} times as long",
                flush=True,
            )


if __name__ == "__main__":
    main()
