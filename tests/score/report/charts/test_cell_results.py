"""Per-cell results of other tools are drawn with the scores that those tools gave."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from each import each
from made import Record

from niah_score.errors import ScoreError
from niah_score.report.charts.cell_results import read_cells
from niah_score.report.charts.grid import Grid


def mean(grid: Grid, length: float, depth: float) -> float | None:
    return grid.cells[grid.lengths.index(length), grid.depths.index(depth)].mean


def written(folder: Path, *records: Any) -> Path:
    path = folder / "results.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in records), "utf-8")
    return path


def cell(value: float | None, **more: Any) -> Record:
    """A row of needlehaystack 2."""
    score = None if value is None else {"value": value, "details": {}}
    return {
        "run_name": "first", "model_id": "m", "task_type": "single", "context_length": 1000,
        "target_depth_percent": 50.0, "response": None if value is None else "a",
        "score": score, "status": "error" if value is None else "ok", "seed": None, **more,
    }  # fmt: skip


def test_needlehaystack_2_scores_are_named_after_their_scorer_and_errors_are_unanswered(
    tmp_path: Path,
) -> None:
    file = written(
        tmp_path, cell(1.0, seed=1), cell(0.5, seed=2), cell(None, target_depth_percent=0.0),
        cell(0.25, context_length=2000),
    )  # fmt: skip
    (grid,) = read_cells(file)
    assert (grid.model, grid.metric, grid.lengths, grid.depths) == ("m", "exact_match", (1000, 2000), (0, 50))
    assert (mean(grid, 1000, 50), mean(grid, 2000, 50), mean(grid, 1000, 0)) == (75, 25, None)
    assert grid.cells[0, 0].unanswered == 1
    (chain,) = read_cells(written(tmp_path, cell(0.2, task_type="uuid_chain")))
    assert (chain.metric, mean(chain, 1000, 50)) == ("chain_match", 20)
    (own,) = read_cells(written(tmp_path, cell(0.2, task_type="mine")))
    assert own.metric == "score"


def test_each_model_task_and_run_in_one_file_gets_its_own_grid(tmp_path: Path) -> None:
    file = written(
        tmp_path, cell(1.0), cell(0.0, model_id="n"), cell(0.5, task_type="uuid_chain"), cell(0.0, run_name="second")
    )
    grids = {(grid.model, grid.metric): mean(grid, 1000, 50) for grid in read_cells(file)}
    assert grids == {
        ("m, single, first", "exact_match"): 100, ("n, single, first", "exact_match"): 0,
        ("m, uuid_chain, first", "chain_match"): 50, ("m, single, second", "exact_match"): 0,
    }  # fmt: skip
    assert [grid.model for grid in read_cells(file, "chain_match")] == ["m, uuid_chain, first"]


def test_all_files_of_a_results_folder_make_one_grid(tmp_path: Path) -> None:
    written(tmp_path, cell(1.0))
    (tmp_path / "more.jsonl").write_text(json.dumps(cell(0.0)) + "\n")
    (grid,) = read_cells(tmp_path)
    assert mean(grid, 1000, 50) == 50


def experiment(depth: float, scores: dict[str, Any], **run: Any) -> Record:
    """A row of a LangSmith experiment over our export."""
    return {
        "run": {"error": None, "outputs": {"output": "a"}, "extra": {"metadata": {}}, **run},
        "example": {"inputs": {"id": "X"}, "metadata": {"id": "X", "length": 1000, "depth_percent": depth}},
        "evaluation_results": {"results": [{"key": key, "score": score} for key, score in scores.items()]},
    }


def test_langsmith_feedback_is_drawn_for_the_key_that_is_chosen(tmp_path: Path) -> None:
    file = written(
        tmp_path, experiment(0, {"correct": 1, "brief": 0.5}), experiment(100, {"correct": True, "brief": None}),
        experiment(50, {"correct": 0, "brief": 0}, error="overloaded", extra={"metadata": {"ls_model_name": "model"}}),
    )  # fmt: skip
    with pytest.raises(ScoreError, match=r"has several metrics \(brief, correct\); choose one with --metric"):
        read_cells(file)
    (grid,) = read_cells(file, "correct")
    assert (mean(grid, 1000, 0), mean(grid, 1000, 50), mean(grid, 1000, 100)) == (100, None, 100)
    (brief,) = read_cells(file, "brief")
    assert (mean(brief, 1000, 0), mean(brief, 1000, 100)) == (50, None)


def test_langsmith_examples_listed_with_their_run_use_the_servers_averages(tmp_path: Path) -> None:
    run = {"error": None, "feedback_stats": {"correct": {"n": 2, "avg": 0.5}}}
    metadata = {"length": 1000, "depth_percent": 50.0}
    (grid,) = read_cells(written(tmp_path, {"inputs": {}, "metadata": metadata, "runs": [run]}))
    assert (grid.metric, mean(grid, 1000, 50)) == ("correct", 50)


@each(
    ("record", "message"),
    [
        (cell(1.5), ":1: score: value: is '1.5'; expected a number of 0 to 1, a share"),
        (cell(1.0, score=1), ":1: score: is '1'; expected an object with `value`, or null"),
        (cell(1.0, target_depth_percent=-1), ":1: target_depth_percent: is '-1'; expected a number of 0 to 100"),
        (cell(1.0, context_length=None), ":1: context_length: is 'None'; expected a number"),
        (experiment(0, {"correct": 7}), ":1: correct: score: is '7'; expected a number of 0 to 1"),
        (experiment(101, {"correct": 1}), ":1: metadata: depth_percent: is '101'"),
        ({"run": {}, "example": {}}, ":1: its example has no metadata"),
        (experiment(0, {}), ": its results have no scores; score their answers"),
        ({"run_type": "chain", "inputs": {}, "outputs": {}}, ":1: a LangSmith run without its example"),
        ({"inputs.id": "X", "outputs.output": "a"}, ":1: a LangSmith run without its example"),
        ({"metadata": {"length": 1, "depth_percent": 1}, "runs": [{}, {}]}, ":1: runs: found 2, expected one"),
        ({"example": {}, "runs": 5}, ":1: runs: is '5'; expected a list, or null"),
        (experiment(0, {}) | {"evaluation_results": {"results": 5}}, ":1: evaluation_results: results: is '5'"),
        (
            experiment(0, {}) | {"evaluation_results": {"results": [{"key": "k", "score": 1}, {"key": "k"}]}},
            ":1: evaluation_results: two have the key 'k'",
        ),
        (cell(1.0, model_id=5), ":1: model_id: is '5'; expected a text, or null"),
    ],
)
def test_a_result_that_cannot_be_drawn_is_refused_with_its_line(record: Record, message: str, tmp_path: Path) -> None:
    file = written(tmp_path, record)
    with pytest.raises(ScoreError) as caught:
        read_cells(file)
    assert f"{file}{message}" in str(caught.value)


def test_an_unknown_metric_is_refused_with_the_metrics_there_are(tmp_path: Path) -> None:
    with pytest.raises(ScoreError, match="has no metric 'bleu'; it has exact_match"):
        read_cells(written(tmp_path, cell(1.0)), "bleu")


@each("key", ["id", "length", "depth_percent", "status", "language", "score", "half \ud800"])
def test_an_evaluator_may_have_any_name(key: str, tmp_path: Path) -> None:
    (grid,) = read_cells(written(tmp_path, experiment(0, {key: 1}), experiment(50, {key: 0.25})))
    assert (grid.lengths, grid.depths) == ((1000,), (0.0, 50.0))
    assert (grid.metric, mean(grid, 1000, 0), mean(grid, 1000, 50)) == (key.replace("\ud800", "\ufffd"), 100, 25)


def test_null_names_count_as_missing(tmp_path: Path) -> None:
    (grid,) = read_cells(written(tmp_path, cell(1.0, model_id=None, task_type=None, run_name=None)))
    assert (grid.model, grid.metric) == ("model", "score")
