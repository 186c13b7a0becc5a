"""Faulty readers answer every row in lines that the scorer reads, by their seed alone, and go wrong by their fault."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from examples.faulty_readers import FAULTS, OTHERS, answers, rows, told
from niah_gen.recipe.read import load_recipe
from niah_score import Report, evaluate

ROOT = Path(__file__).parents[2]
# Three strengths of every kind would take minutes; each kind is scored at the one at which it must show.
KINDS = [(fault, kind) for fault, kinds in FAULTS.items() for kind in kinds or (None,)]


@pytest.fixture(scope="module")
def world_dataset(built_once: Callable[..., Path]) -> Path:
    recipe = {"lengths": [2000, 4000], "options.worlds": 2}
    return built_once({**load_recipe("default", recipe).table()})


@pytest.fixture(scope="module")
def world_rows(world_dataset: Path) -> list[dict[str, Any]]:
    return list(rows(world_dataset))


def scored(dataset: Path, lines: Sequence[dict[str, Any]], folder: Path) -> Report:
    file = folder / "answers.jsonl"
    file.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
    return evaluate(dataset, file, metrics=[])


@pytest.mark.slow
def test_whoever_sees_all_of_a_world_and_takes_care_reads_the_truth_in_it(world_rows: list[dict[str, Any]]) -> None:
    for row in world_rows:
        assert told(row, [True] * len(row["needles"])) == [group[0] for group in row["keywords"]]


@pytest.mark.slow
def test_a_healthy_reader_gets_its_accuracy_and_a_declining_one_less_at_length(
    world_dataset: Path, world_rows: list[dict[str, Any]], tmp_path: Path
) -> None:
    right = scored(world_dataset, answers(world_rows, "healthy", accuracy=1), tmp_path)
    assert right.overall.mean == 100
    found = scored(world_dataset, answers(world_rows, "healthy", accuracy=0.8), tmp_path)
    # Four standard errors.
    assert abs(found.scores["score"].mean() - 80) < 400 * (0.8 * 0.2 / len(world_rows)) ** 0.5  # type: ignore[operator]
    fallen = scored(world_dataset, answers(world_rows, "declining", 3, 1.0), tmp_path).scores
    short, long = (fallen.filter(fallen["length"] == length)["score"].mean() for length in (2000, 4000))
    assert short == 100
    assert 35 < long < 65  # type: ignore[operator]


@pytest.mark.slow
@pytest.mark.parametrize(("fault", "kind"), KINDS)
def test_the_weakest_of_each_fault_takes_a_tenth_of_the_answers(
    fault: str, kind: str | None, world_dataset: Path, world_rows: list[dict[str, Any]], tmp_path: Path
) -> None:
    lines = answers(world_rows, fault, 1, 1.0, 5, kind=kind)
    report = scored(world_dataset, lines, tmp_path)
    assert report.lines.used == len(world_rows)
    assert report.scores["score"].mean() < 91.5  # type: ignore[operator]
    assert lines == answers(world_rows, fault, 1, 1.0, 5, kind=kind)
    assert lines != answers(world_rows, fault, 1, 1.0, 6, kind=kind)


@pytest.mark.slow
def test_only_prompts_that_the_server_cut_are_found_by_the_tokens_it_says_it_read(
    world_dataset: Path, world_rows: list[dict[str, Any]], tmp_path: Path
) -> None:
    for fault, kind in (("front-lost", "cut"), ("front-lost", "window"), ("healthy", None)):
        report = scored(world_dataset, answers(world_rows, fault, 2, 0.9, 1, kind=kind), tmp_path)
        assert ("prompt_shortened" in report.scores["finding"]) == (kind == "cut"), (fault, kind)


@pytest.mark.slow
def test_every_fault_answers_simple_needles_and_the_command_writes_what_the_function_says(
    dataset: Path, tmp_path: Path
) -> None:
    asked = list(rows(dataset))
    for fault in (*OTHERS, *FAULTS):
        report = scored(dataset, answers(asked, fault, 2, 0.9, 1), tmp_path)
        assert report.lines.used == len(asked) == 36, fault
    command = [sys.executable, str(ROOT / "examples" / "faulty_readers.py"), str(dataset), "--fault", "front-lost"]
    run = subprocess.run([*command, "--seed", "1"], cwd=ROOT, capture_output=True, text=True, check=True)
    assert [json.loads(line) for line in run.stdout.splitlines()] == answers(asked, "front-lost", 2, 0.9, 1)
    for more, message in (
        (("--kind", "zebra"), "expected one of window, cut"), (("--out", __file__), "already exists"),
    ):  # fmt: skip
        refused = subprocess.run([*command, *more], cwd=ROOT, capture_output=True, text=True, check=False)
        assert refused.returncode == 2
        assert message in refused.stderr
