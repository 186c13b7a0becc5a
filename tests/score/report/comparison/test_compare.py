"""`niah_score.compare` does from Python what the command does, with reports and folders."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest
from made_commands import run
from made_reports import report, right

import niah_score
from niah_score.errors import IntegrityError, ScoreError
from niah_score.report.write import write


def test_it_prints_what_the_command_prints_for_the_same_folders(tmp_path: Path) -> None:
    one, other = report(right(0.9, 1)), replace(report(right(0.5, 2)), model="other")
    folders = [write(one, tmp_path / "one"), write(other, tmp_path / "other")]
    comparison = niah_score.compare(one, folders[1])
    assert f"{comparison}\n" == run("compare", *folders).stdout
    assert f"{comparison._repr_markdown_()}\n" == run("compare", *folders, "--format", "markdown").stdout
    assert repr(comparison) == "<RunComparison of m, other: score, 240 rows>"
    assert comparison.record["pairs"][0]["overall"]["mean"] == comparison.side.comparison.pairs[0].overall.mean
    assert comparison.frame.filter(kind="difference", group="all")["run"].to_list() == ["other"]


def test_runs_of_one_model_are_named_by_folder_or_position(tmp_path: Path) -> None:
    one, other, third = report(right(0.9, 1)), report(right(0.5, 2)), replace(report(right(0.5, 3)), model="b")
    folder = write(other, tmp_path / "x")
    names = [line.name for line in niah_score.compare(one, folder, other, third).side.lines]
    assert names == ["m (1)", str(folder), "m (3)", "b"]


def test_rows_of_controls_are_not_compared() -> None:
    one, other = (
        replace(result, model=name, table=result.scores.with_columns(control=pl.Series(["absent", None] * 120)))
        for name, result in (("a", report(right(0.9, 1))), ("b", report(right(0.5, 2))))
    )
    result = niah_score.compare(one, other)
    assert result.side.comparison.rows == 120
    assert [line.of_rows for line in result.side.lines] == [one.overall, other.overall]


def test_a_single_run_an_unknown_metric_and_unrelated_datasets_are_refused() -> None:
    one = report(right(0.9, 1))
    with pytest.raises(ScoreError, match="two runs or more"):
        niah_score.compare(one)
    with pytest.raises(ScoreError, match="bleu"):
        niah_score.compare(one, one, metric="bleu")
    strange = report(right(0.9, 1), digest8="ffffffff")
    strange = replace(strange, table=strange.scores.with_columns(id="x" + pl.col("id")))
    with pytest.raises(IntegrityError, match="no row is in both"):
        niah_score.compare(one, strange)
