"""The windowed reader states the true answers that are inside its window, and no others."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from changed_rows import rows_of

from examples.windowed_reader import answer
from niah_gen.recipe.read import load_recipe
from niah_score import evaluate

ROOT = Path(__file__).parents[2]
RECIPE: dict[str, Any] = {
    "lengths": [1000], "depths": [0, 50, 100], "corpora": ["en_essays"],
    "needles": ["velden-archive", "ellersea-tram-shed", "ferrand-gap-viaduct"], "controls": ["absent"], "form": "chat",
}  # fmt: skip


def run(*arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(ROOT / "examples" / "windowed_reader.py"), *map(str, arguments)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def dataset(built_once: Callable[..., Path]) -> Path:
    return built_once(RECIPE)


@pytest.mark.slow
def test_a_window_of_the_whole_prompt_answers_everything(dataset: Path, tmp_path: Path) -> None:
    out = tmp_path / "answers.jsonl"
    assert run(dataset, out, "--window", "5000").stdout.strip().endswith("18 answers")
    summary = evaluate(dataset, out).summary
    assert summary["headline"]["mean"] == 100
    assert summary["controls"]["absent"]["false_answer_rate"] == 0
    for folder, target, message in (
        (dataset, out, "already exists"), (tmp_path, tmp_path / "b.jsonl", "no manifest.json"),
        (dataset, tmp_path / "no" / "a.jsonl", "a.jsonl: No such file or directory"),
    ):  # fmt: skip
        done = run(folder, target, "--window", "10")
        assert done.returncode == 2
        assert message in done.stderr
        assert "Traceback" not in done.stderr


def test_facts_before_the_window_are_not_stated(dataset: Path) -> None:
    rows = rows_of(dataset)
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


def test_the_twin_without_the_needle_is_answered_as_the_prompt_asks(dataset: Path) -> None:
    assert {answer(row, 5000) for row in rows_of(dataset) if row["control"]} == {"Not stated."}


def test_of_a_world_the_deciding_record_is_enough_and_what_takes_several_takes_all(
    built_once: Callable[..., Path],
) -> None:
    recipe = {"parts": "records,threads", "languages": ["en"], "lengths": [2000], "options.worlds": 1}
    rows = rows_of(built_once({**load_recipe("default", recipe).table()}))
    for part in ("records", "threads"):
        own = [row for row in rows if row["part"] == part and row["keywords"]]
        whole, half = ([answer(row, size) == row["answers"][0] for row in own] for size in (5000, 800))
        assert all(whole)
        near = [part == "records" and row["depth_percent"] > 60 for row in own]
        far = [part == "threads" or row["depth_percent"] < 50 for row in own]
        assert not any(seen and away for seen, away in zip(half, far, strict=True))
        assert all(seen for seen, close in zip(half, near, strict=True) if close)
