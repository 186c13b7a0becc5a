"""A report's figures and panels, and what a notebook shows of it: nothing that loads or runs, whatever the names."""

from __future__ import annotations

import re
from dataclasses import replace
from html import unescape
from pathlib import Path

import made_reports
import polars as pl
import pytest
from hostile import HOSTILE
from made import WriteLines, made, right
from made_parts import PARTS, answers_file, control_rows, part_rows, parts_folder

import niah_score
from niah_score.evaluation import evaluate
from niah_score.join.join import Problem
from niah_score.report.read import read
from niah_score.report.report import Report, report_grid, report_grids, title_of_grids
from niah_score.report.write import write


@pytest.fixture
def report(write_lines: WriteLines) -> Report:
    rows = made(12)
    answers = right(rows)
    answers[0]["prediction"] = "no"
    return evaluate(write_lines("rows.jsonl", rows), write_lines("gpt.jsonl", answers))


def test_the_repr_of_a_report_is_one_line_with_its_score(report: Report) -> None:
    score = report.overall
    assert repr(report) == (
        f"<Report gpt on rows {report.digest8}: {score.mean:.2f} [{score.low:.2f}, {score.high:.2f}], n 12>"
    )
    nothing = replace(
        report, scores=report.scores.with_columns(score=pl.lit(None, pl.Float64)), model="a\n\x1b" + "b" * 300
    )
    assert nothing.summary["metrics"]["score"]["overall"]["rows"] == 12
    assert repr(nothing) == f"<Report a \\x1b{'b' * 74}… on rows {report.digest8}: no score, n 0>"


@pytest.fixture
def parts(tmp_path: Path) -> Report:
    rows = part_rows() + control_rows()
    return evaluate(parts_folder(tmp_path / "parts", rows), answers_file(tmp_path / "a.jsonl", rows), model="m")


@pytest.mark.slow
def test_the_score_of_a_dataset_of_parts_is_their_weighted_mean_everywhere(parts: Report, tmp_path: Path) -> None:
    headline = parts.summary["headline"]
    asked = parts.scores.filter(pl.col("control").is_null())
    means = dict(asked.group_by("part").agg(pl.col("score").mean()).iter_rows())
    weighted = sum(PARTS[part][0] * mean for part, mean in means.items())
    assert headline["mean"] == pytest.approx(weighted)
    assert parts.overall.mean == headline["mean"] == parts.summary["metrics"]["score"]["overall"]["mean"]
    # Neither the anchor nor a control is in a cell, and cells weigh rows as the score does.
    counted = parts.scored.frame.with_columns(each=pl.Series(parts.scored.row_weights("score")))
    inside = counted.filter(length=2000, depth_percent=50.0)
    assert set(inside["part"]) == {*PARTS} - {"anchor"}
    mean = inside.select((pl.col("score") * pl.col("each")).sum() / pl.col("each").sum()).item()
    assert report_grid(parts).cells[1, 1].mean == pytest.approx(mean)
    again = read(write(parts, tmp_path / "out"))
    assert (again.parts, again.summary) == (parts.parts, parts.summary)
    table = pl.read_csv(tmp_path / "out" / "summary.csv", infer_schema_length=None).filter(metric="score")
    assert table.filter(group="all")["mean"].to_list() == [pytest.approx(weighted, abs=1e-4)]
    assert dict(table.filter(group="part").select("value", "weight").iter_rows()) == {
        name: pytest.approx(PARTS[name][0]) for name in PARTS
    }


def test_a_heatmap_of_parts_has_a_panel_for_each_part_and_states_the_score(parts: Report) -> None:
    grids = report_grids(parts)
    assert [grid.model for grid in grids] == [
        "single, weight 0.4", "chains, weight 0.25", "lists, weight 0.35", "anchor, in no score",
    ]  # fmt: skip
    for grid, name in zip(grids, PARTS, strict=True):
        own = parts.scores.filter(pl.col("control").is_null(), part=name)
        assert sum(cell.rows for cell in grid.cells.values()) == own.height
        cell = own.filter(length=grid.lengths[0], depth_percent=grid.depths[0])["score"].mean()
        assert grid.cells[0, 0].mean == pytest.approx(cell)
    # Neither controls nor the anchor are in any other cell.
    counted = parts.scores.filter(pl.col("control").is_null() & (pl.col("part") != "anchor")).height
    assert parts.cells.filter(metric="score")["rows"].sum() == counted
    assert sum(cell.rows for cell in report_grid(parts).cells.values()) == counted
    title = title_of_grids(parts, grids)
    assert title is not None
    assert title.startswith(f"m: {parts.overall.mean:.2f} [")
    assert " = single " in title
    drawn = [text.get_text() for text in niah_score.plot(parts).texts]
    assert any(text.startswith("m: ") for text in drawn)
    assert "single, weight 0.4" in drawn
    assert title_of_grids(parts, grids[:1]) is None


def shown_in(html: str) -> tuple[list[str], str]:
    """The elements of a fragment, and its text."""
    return re.findall(r"<(\w+)", html), unescape(re.sub(r"<[^>]*>", "", html))


def test_a_notebook_shows_the_overview_and_any_name_as_text() -> None:
    plain = made_reports.report(made_reports.right(0.8, 1))
    assert shown_in(plain._repr_html_()) == (["pre"], "\n".join(plain.overview()))
    bare = replace(plain, scores=plain.scores.with_columns(length=pl.lit(None, pl.Int64)))
    for text in HOSTILE:
        problem = Problem("malformed", text, 1, text, text)
        strange = replace(bare, model=text, dataset=text, digest8=text, problems=[problem], metrics=("keyword",))
        elements, shown = shown_in(strange._repr_html_())
        assert elements == ["pre"], text
        assert not {"\u202e", "\x1b", "\u2028", "\ud800"} & set(shown), text
