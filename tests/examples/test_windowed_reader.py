"""The windowed reader states the true answers that are inside its window, and no others."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from examples.windowed_reader import answer
from niah_score import evaluate

ROOT = Path(__file__).parents[2]
RECIPE: dict[str, Any] = {
    "lengths": [1000],
    "depths": [0, 50, 100],
    "corpora": ["en_essays"],
    "needles": ["velden-archive", "ellersea-tram-shed", "ferrand-gap-viaduct"],
    "options": {"distractors": 3},
    "controls": ["absent"],
    "form": "chat",
}


@pytest.fixture(scope="module")
def dataset(built_once: Callable[..., Path]) -> Path:
    return built_once(RECIPE)


@pytest.fixture(scope="module")
def rows(dataset: Path) -> list[dict[str, Any]]:
    return [row for file in sorted(dataset.glob("data/*/*.parquet")) for row in pq.read_table(file).to_pylist()]


@pytest.mark.slow
def test_a_window_of_the_whole_prompt_answers_everything(dataset: Path, tmp_path: Path) -> None:
    out = tmp_path / "answers.jsonl"
    command: list[str | Path] = [
        sys.executable,
        ROOT / "examples" / "windowed_reader.py",
        dataset,
        out,
        "--window",
        "5000",
    ]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip().endswith("18 answers")
    summary = evaluate(dataset, out).summary
    assert summary["headline"]["mean"] == 100
    assert summary["controls"]["absent"]["false_answer_rate"] == 0
    again = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert again.returncode == 2
    assert "already exists" in again.stderr


@pytest.mark.slow
def test_a_missing_dataset_or_output_folder_is_reported(dataset: Path, tmp_path: Path) -> None:
    for folder, out, message in (
        (tmp_path, tmp_path / "a.jsonl", "no manifest.json"),
        (dataset, tmp_path / "no" / "a.jsonl", "a.jsonl: No such file or directory"),
    ):
        command = [sys.executable, str(ROOT / "examples/windowed_reader.py"), str(folder), str(out), "--window", "10"]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
        assert done.returncode == 2
        assert message in done.stderr
        assert "Traceback" not in done.stderr


def test_facts_before_the_window_are_not_stated(rows: list[dict[str, Any]]) -> None:
    fact, items, chain = (
        next(row for row in rows if row["needle_id"] == name and row["depth_percent"] == 0 and not row["control"])
        for name in RECIPE["needles"]
    )
    assert answer(fact, fact["prompt_tokens"]) == "Drawer 417."
    assert answer(fact, 100) == "Not stated."
    starts = sorted(span["start"] for span in items["needle_token_spans"][:3])
    # The window begins at the second item in the text.
    seen = answer(items, items["prompt_tokens"] - starts[1])
    assert len(seen.split(", ")) == 2
    assert set(seen.split(", ")) < {"3174", "8662", "7391"}
    links = sorted(span["start"] for span in chain["needle_token_spans"][:2])
    assert answer(chain, chain["prompt_tokens"] - links[0]) == "The Trelorne Viaduct."
    assert answer(chain, chain["prompt_tokens"] - links[1]) == "Not stated."


def test_the_twin_without_the_needle_is_answered_as_the_prompt_asks(rows: list[dict[str, Any]]) -> None:
    assert {answer(row, 5000) for row in rows if row["control"]} == {"Not stated."}
