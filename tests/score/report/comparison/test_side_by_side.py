"""Runs side by side: figures over the common rows, which run is best beyond noise, and the data of the heatmaps."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from made_parts import answers_file, control_rows, part_rows, parts_folder
from made_reports import SIGNATURE, report, right
from made_runs import LENGTHS, RUNS, reports

from niah_score.errors import IntegrityError, ScoreError
from niah_score.evaluation import evaluate
from niah_score.report.comparison.side_by_side import side_by_side
from niah_score.statistics.effective_length import as_record
from niah_score.statistics.paired import drops
from niah_score.statistics.significance import holm


def test_the_figures_of_a_run_match_its_summary() -> None:
    side = side_by_side(reports())
    assert side.lengths == tuple(LENGTHS)
    for line, (name, whole) in zip(side.lines, reports(), strict=True):
        figures = whole.summary["metrics"]["score"]
        assert line.name == name
        assert line.of_rows._asdict() == figures["overall"]
        assert line.of_lengths._asdict() == figures["overall_of_lengths"]
        assert [one.mean for one in line.lengths] == [one["mean"] for one in figures["groups"]["length"]]
        effective = {"nolima": as_record(line.nolima), "ruler": as_record(line.ruler)}
        assert effective == figures["effective_length"]
        assert line.signature == f"niah|ds:{whole.digest8}|metric:keyword/strict|text:extracted|missing:zero|v:0.1.0"


def test_equal_runs_differ_nowhere_and_none_is_best() -> None:
    scores = right(0.7, 1)
    side = side_by_side([(name, report(scores)) for name in "abc"])
    assert side.best == {}
    for grid in side.differences:
        assert set(grid.noise) == set(grid.cells)
        assert {cell.mean for cell in grid.cells.values()} == {0.0}


def test_the_best_run_differs_from_every_other_by_more_than_noise() -> None:
    """At 1k and 2k `good` leads; at 3k `twin` has the very same scores, so neither of the two is best."""
    weak, good = right(0.3, 2), right(0.95, 3)
    twin = [score if k % 3 == 2 else other for k, (score, other) in enumerate(zip(good, weak, strict=True))]
    side = side_by_side([("weak", report(weak)), ("good", report(good)), ("twin", report(twin))])
    assert side.best == {0: 1, 1: 1, "rows": 1, "lengths": 1}
    assert side_by_side([("weak", report(weak)), ("good", report(good))]).best == {
        0: 1, 1: 1, 2: 1, "rows": 1, "lengths": 1,
    }  # fmt: skip
    assert side_by_side([("good", report(good)), ("near", report(right(0.94, 4)))]).best == {}


def test_the_best_run_of_a_length_is_tested_with_holm_over_the_lengths() -> None:
    """Of 80 rows at 1k, 8 are right in one run only, 1 in the other only: p = 0.02, too high among three lengths."""
    frames = [report([100.0 * (k in right) for k in range(240)]) for right in ((225,), range(0, 24, 3))]
    for one in frames:
        # The rows are independent: none names its needle.
        one.__dict__["table"] = one.scores.with_columns(needle_id=pl.lit(None, pl.String), haystack_id=pl.lit("h"))
    side = side_by_side(list(zip(("base", "better"), frames, strict=True)))
    parts = side.comparison.pairs[0].lengths
    # t of the mean 7/80, over 81 values with the added row, is 2.40; its tail with 79 degrees of freedom:
    assert [part.p for part in parts] == pytest.approx([0.0188, 1, 1], abs=1e-4)
    assert parts[0].low is not None
    assert parts[0].low > 0
    assert holm([part.p or 0.0 for part in parts])[0] > 0.05
    assert 0 not in side.best


def test_the_order_of_rows_and_of_runs_changes_no_figure() -> None:
    frames = [report(right(share, seed)) for seed, share in enumerate((0.9, 0.5, 0.7))]
    original = side_by_side(list(zip("abc", frames, strict=True)))
    for one in frames:
        one.__dict__["table"] = one.scores.sample(fraction=1, shuffle=True, seed=7)
    assert side_by_side(list(zip("abc", frames, strict=True))) == original
    swapped = side_by_side(list(zip("cba", frames[::-1], strict=True)))
    assert sorted(swapped.lines, key=lambda line: line.name) == list(original.lines)
    assert {column: swapped.lines[place].name for column, place in swapped.best.items()} == {
        column: original.lines[place].name for column, place in original.best.items()
    }


def test_only_rows_that_all_runs_have_are_compared_and_the_others_are_noted() -> None:
    whole = report(right(0.9, 1))
    part = report(right(0.8, 2, 120), digest8="0000bbbb")
    side = side_by_side([("whole", whole), ("part", part)])
    assert side.comparison.rows == 120
    assert [line.of_rows.rows for line in side.lines] == [120, 120]
    assert side.grids[0].overall is not None
    assert side.grids[0].overall.rows == 120
    assert side.notes == (
        "The runs are of different datasets (made-0000aaaa, made-0000bbbb); rows with the same id are compared",
        "whole: 120 of its 240 rows are not in every run and are left out, such as 'row-00120'",
    )


def test_runs_without_common_rows_and_a_single_run_are_refused() -> None:
    other = report(right(0.9, 1), digest8="0000bbbb")
    other.__dict__["table"] = other.scores.with_columns(id="x" + pl.col("id"))
    with pytest.raises(
        IntegrityError, match="b answers made-0000bbbb and a answers made-0000aaaa, and no row is in both"
    ):
        side_by_side([("a", report(right(0.9, 1))), ("b", other)])
    with pytest.raises(ScoreError, match="needs two runs or more"):
        side_by_side([("a", report(right(0.9, 1)))])


def test_runs_that_were_measured_differently_are_noted() -> None:
    raw = report(right(0.5, 2), signature=SIGNATURE.replace("extracted", "raw"))
    side = side_by_side([("a", report(right(0.5, 1))), ("b", raw)])
    assert side.notes == ("The runs were measured differently: their signatures differ, which may explain differences",)
    fewer = report(right(0.5, 2), signature=SIGNATURE.replace("240", "200"))
    assert side_by_side([("a", report(right(0.5, 1))), ("b", fewer)]).notes == ()


def test_rows_without_a_length_count_only_in_the_mean_of_rows_and_make_no_heatmap() -> None:
    frames = [report(right(0.9, seed, 60)) for seed in (1, 2)]
    for one in frames:
        one.__dict__["table"] = one.scores.with_columns(length=pl.lit(None, pl.Int64))
    side = side_by_side(list(zip("ab", frames, strict=True)))
    assert (side.lengths, side.grids, side.differences) == ((), (), ())
    assert side.lines[0].of_rows.n == 60
    assert side.lines[0].of_lengths.mean is None
    assert side.notes == ("60 of 60 rows have no length and count only in the mean of rows",)


def test_the_names_of_the_made_runs_match_their_reports() -> None:
    assert tuple(name for name, _ in reports()) == RUNS


@pytest.mark.slow
def test_runs_of_a_dataset_of_parts_are_compared_by_their_headlines(tmp_path: Path) -> None:
    rows = part_rows() + control_rows()
    dataset = parts_folder(tmp_path / "parts", rows)
    runs = [
        (name, evaluate(dataset, answers_file(tmp_path / f"{name}.jsonl", rows, seed), model=name))
        for seed, name in enumerate("ab")
    ]
    side = side_by_side(runs)
    first, second = (report.summary["headline"]["mean"] for _, report in runs)
    (pair,) = side.comparison.pairs
    assert [line.of_rows.mean for line in side.lines] == [first, second]
    assert pair.overall.mean == pytest.approx(second - first)
    of_lengths = [report.summary["metrics"]["score"]["overall_of_lengths"]["mean"] for _, report in runs]
    assert pair.of_lengths.mean == pytest.approx(of_lengths[1] - of_lengths[0])
    for place, difference in enumerate(pair.lengths):
        one, other = (line.lengths[place].mean for line in side.lines)
        assert one is not None
        assert other is not None
        assert difference.mean == pytest.approx(other - one)
    assert side.comparison.rows == pair.overall.n == 96
    cells = {(one.length, one.depth_percent): one.mean for one in pair.cells}
    for (across, down), figure in side.grids[0].cells.items():
        second_mean = side.grids[1].cells[across, down].mean
        assert figure.mean is not None
        assert second_mean is not None
        at = int(side.grids[0].lengths[across]), side.grids[0].depths[down]
        assert cells[at] == pytest.approx(second_mean - figure.mean)
    # A drop in the headline that the mean of all rows does not show.
    limit = (first - second) / 2
    outcome = drops(side.comparison, limit)
    assert bool(outcome.failed or outcome.noise) == (first > second)


def test_rows_count_the_same_with_a_note_where_datasets_weigh_parts_differently(tmp_path: Path) -> None:
    rows = part_rows(("single", "chains"))
    answers = answers_file(tmp_path / "a.jsonl", rows)
    runs = [
        (name, evaluate(parts_folder(tmp_path / name, rows, weights), answers, model=name))
        for name, weights in (("a", {"single": 1, "chains": 2}), ("b", {"single": 2, "chains": 1}))
    ]
    side = side_by_side(runs)
    assert any("different weights; here every row counts the same" in note for note in side.notes)
    mean = runs[0][1].scores["score"].mean()
    assert [line.of_rows.mean for line in side.lines] == [pytest.approx(mean)] * 2
