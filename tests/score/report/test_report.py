"""The record of a scored run, and the figures that follow from it alone."""

from __future__ import annotations

from dataclasses import FrozenInstanceError, replace

import pytest
from made import WriteLines, made, right

from niah_score.errors import ScoreError
from niah_score.evaluation import evaluate
from niah_score.join.join import Problem
from niah_score.report.charts.grid import grid_of
from niah_score.report.report import Report, report_grid
from niah_score.statistics.figures import cells
from niah_score.statistics.scored import Scored


@pytest.fixture
def report(write_lines: WriteLines) -> Report:
    rows = made(12)
    answers = right(rows)
    answers[0]["prediction"] = "no"
    return evaluate(write_lines("rows.jsonl", rows), write_lines("gpt.jsonl", answers))


def test_a_report_says_whose_scores_and_of_which_dataset(report: Report) -> None:
    grid = report_grid(report, "keyword")
    assert (grid.model, grid.dataset, grid.metric) == ("gpt", f"rows {report.digest8}", "keyword")
    assert grid == grid_of(Scored(report.scores), "keyword", model="gpt", dataset=f"rows {report.digest8}")
    with pytest.raises(ScoreError, match="'bleu' is no metric"):
        report_grid(report, "bleu")


def test_a_report_cannot_be_changed_and_a_changed_copy_has_figures_of_its_own(report: Report) -> None:
    with pytest.raises(FrozenInstanceError):
        report.model = "other"  # type: ignore[misc]
    assert report.summary["metrics"]["score"]["overall"]["rows"] == 12
    fewer = replace(report, scores=report.scores.head(5))
    assert fewer.summary["metrics"]["score"]["overall"]["rows"] == 5
    assert fewer.scored.frame.height == 5


def test_the_cells_are_those_of_every_metric(report: Report) -> None:
    assert report.cells["metric"].unique(maintain_order=True).to_list() == ["score", *report.metrics]
    for name in ("score", *report.metrics):
        own = report.cells.filter(metric=name).drop("metric")
        assert own.equals(cells(report.scores, name))


@pytest.mark.parametrize(
    ("kinds", "code"),
    [((), 0), (("missing", "duplicate"), 0), (("missing", "unknown"), 3), (("malformed",), 3), (("verdict",), 3)],
)
def test_the_exit_code_says_whether_inputs_had_problems(report: Report, kinds: tuple[str, ...], code: int) -> None:
    problems = [Problem(kind, "a.jsonl", 1, None, "x") for kind in kinds]
    assert replace(report, problems=problems).exit_code == code
