"""Runs side by side: the figures of the common rows, what is noise, what is refused, noted and written."""

from __future__ import annotations

import json
import unicodedata
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hostile import EVERY
from made_commands import run
from made_parts import answers_file, control_rows, part_rows, parts_folder
from made_reports import SIGNATURE, report, right
from made_runs import TABLES, pictures, reports

import niah_score
from niah_score.errors import IntegrityError, ScoreError
from niah_score.evaluation import evaluate
from niah_score.report.compare import RunComparison, compare_named, write_comparison
from niah_score.report.report import Report, report_grid
from niah_score.report.write import write
from niah_score.statistics.paired import holm
from niah_score.text.visible import in_markdown


def named(names: str, *runs: Report) -> RunComparison:
    return compare_named(list(zip(names, runs, strict=True)))


def changed(one: Report, **columns: Any) -> Report:
    return replace(one, scores=one.scores.with_columns(**columns))


def test_it_prints_what_the_command_prints_for_the_same_folders(tmp_path: Path) -> None:
    one, other = report(right(0.9, 1)), replace(report(right(0.5, 2)), model="other")
    folders = [write(one, tmp_path / "one"), write(other, tmp_path / "other")]
    found = niah_score.compare(one, folders[1])
    assert f"{found}\n" == run("compare", *folders).stdout
    assert f"{found._repr_markdown_()}\n" == run("compare", *folders, "--format", "markdown").stdout
    assert repr(found) == "<RunComparison of m, other: score, 240 rows>"
    again = niah_score.compare(one, folders[1], replace(other, model="m"), replace(other, model="b"))
    assert [one["name"] for one in again.record["runs"]] == ["m (1)", str(folders[1]), "m (3)", "b (4)"]
    with pytest.raises(ScoreError, match="two runs are called"):
        niah_score.compare(folders[0], folders[0])


def test_every_figure_is_in_the_record_and_in_the_frame() -> None:
    found = compare_named([reports()[0], reports()[2]])
    record, frame = json.loads(json.dumps(found.record, allow_nan=False)), found.frame
    assert record["rows"] == 330
    assert frame.height == 2 * (2 + 5 + 55) + (2 + 5 + 55)
    (pair,) = record["pairs"]
    for group, parts in (("all", [pair["overall"]]), ("length", pair["lengths"]), ("cell", pair["cells"])):
        lines = frame.filter(pl.col("kind") == "difference", pl.col("group") == group)
        for name in ("n", "mean", "low", "high", "p", "adjusted", "noise"):
            assert lines[name].to_list() == [part[name] for part in parts]


def test_rows_left_out_and_other_differences_between_runs_are_noted() -> None:
    one = report(right(0.5, 1))
    found = named("ab", one, report(right(0.8, 2, 120), digest8="0000bbbb"))
    assert [found.record["rows"], *(run["overall"]["rows"] for run in found.record["runs"])] == [120, 120, 120]
    assert [(run["rows"], run["left_out"]) for run in found.record["runs"]] == [(240, 120), (120, 0)]
    assert found.grids[0].overall is not None
    assert found.grids[0].overall.rows == 120
    raw, fewer = (
        report(right(0.5, 2), signature=SIGNATURE.replace(*words)) for words in (("extracted", "raw"), ("240", "200"))
    )
    bare = named("ab", *(changed(other, length=pl.lit(None, pl.Int64)) for other in (one, fewer)))
    assert (bare.record["runs"][0]["lengths"], bare.grids, bare.differences) == ([], (), ())
    assert bare.record["runs"][0]["overall_of_lengths"]["mean"] is None
    assert " –" in "\n".join(bare.lines("markdown"))
    silent = named("ab", one, report([None] * 6 + right(0.5, 2)[6:]))
    assert [silent.record["pairs"][0]["overall"][name] for name in ("rows", "n")] == [240, 234]
    for runs, notes in (
        (found, ["The runs are of different datasets (made-0000aaaa, made-0000bbbb); rows with the same id are "
                 "compared",
                 "a: 120 of its 240 rows are not in every run and are left out, such as 'row-00120'"]),
        (named("ab", one, raw),
         ["The runs were measured differently: their signatures differ, which may explain differences"]),
        (named("ab", one, fewer), []),
        (bare, ["240 of 240 rows have no length and count only in the mean of rows"]),
        (silent, ["a and b: 6 of 240 rows have no score in one of them and do not count"]),
    ):  # fmt: skip
        assert runs.record["notes"] == notes


def test_controls_are_not_compared_and_what_cannot_be_compared_is_refused() -> None:
    one, other = report(right(0.9, 1)), report(right(0.5, 2))
    halves = [changed(run, control=pl.Series(["absent", None] * 120)) for run in (one, other)]
    found = named("ab", *halves)
    assert found.record["rows"] == 120
    assert [run["overall"] for run in found.record["runs"]] == [run.overall._asdict() for run in halves]
    strange = changed(replace(one, digest8="ffffffff"), id="x" + pl.col("id"))
    for names, second, kind, words in (
        ("a", None, ScoreError, "needs two runs or more, found 1"),
        ("aa", other, ScoreError, "two runs are called 'a'"),
        ("ab", replace(other, scores=other.scores.drop("score")), ScoreError, "b: its scores have no column 'score'"),
        ("ab", strange, IntegrityError, "b answers made-ffffffff and a answers made-0000aaaa, and no row is in both"),
        ("ab", changed(other, metric=pl.lit("edit")), ScoreError, "is judged by keyword in a and by edit in b"),
        ("ab", report([None] * 240), ScoreError, "a and b: no row has a score in both"),
        ("ab", replace(other, scores=other.scores.head(0)), ScoreError, "b and a: no rows to compare"),
        *(("ab", changed(other, **{column: pl.lit(value).cast(one.scores.schema[column])}), IntegrityError,
           rf"'row-00000' has {column} .* in a and .* in b; only runs of the same")
          for column, value in (("length", 9000), ("needle_id", "other"), ("depth_percent", None))),
    ):  # fmt: skip
        with pytest.raises(kind, match=words):
            named(names, *([one] if second is None else [one, second]))
    with pytest.raises(ScoreError, match="bleu"):
        niah_score.compare(one, one, metric="bleu")


def test_every_run_is_compared_with_the_first_and_overall_differences_are_adjusted_over_all_runs() -> None:
    pairs = named("abc", *(report(right(share, seed, 90)) for seed, share in enumerate((0.9, 0.7, 0.5)))).record[
        "pairs"
    ]
    assert [(pair["first"], pair["second"]) for pair in pairs] == [("a", "b"), ("a", "c")]
    whole = [pair["overall"] for pair in pairs]
    assert [one["adjusted"] for one in whole] == holm([one["p"] for one in whole])
    assert whole[1]["adjusted"] != whole[1]["p"]


def test_a_difference_grid_is_the_second_grid_minus_the_first() -> None:
    first, second = (report_grid(whole) for _, whole in (reports()[0], reports()[2]))
    forward, backward = (
        compare_named(runs).differences[0] for runs in ([reports()[0], reports()[2]], [reports()[2], reports()[0]])
    )
    assert (forward.model, forward.kind, forward.lengths, forward.depths) == (
        "lost_in_the_middle - steady", "difference", first.lengths, first.depths,
    )  # fmt: skip
    assert set(forward.cells) == set(first.cells)
    assert forward.noise == backward.noise
    for place, cell in forward.cells.items():
        assert (cell.n, cell.rows) == (6, 6)
        apart = (second.cells[place].mean or 0.0) - (first.cells[place].mean or 0.0)
        assert (cell.mean, backward.cells[place].mean) == pytest.approx((apart, -apart))
    means = ([one.mean if one else None for one in grid.means] for grid in (forward, first, second))
    for mean, a, b in zip(*means, strict=True):
        assert mean == pytest.approx((b or 0.0) - (a or 0.0))
    assert sum(cell.unanswered for cell in forward.cells.values()) == 1


@pytest.mark.slow
def test_runs_of_a_dataset_of_parts_are_compared_by_their_headlines(tmp_path: Path) -> None:
    rows = part_rows() + control_rows()
    dataset = parts_folder(tmp_path / "parts", rows)
    runs = [
        evaluate(dataset, answers_file(tmp_path / f"{seed}.jsonl", rows, seed), model="ab"[seed]) for seed in (0, 1)
    ]
    found = niah_score.compare(*runs)
    first, second = (one.summary["headline"]["mean"] for one in runs)
    (pair,) = found.record["pairs"]
    assert [run["overall"]["mean"] for run in found.record["runs"]] == pytest.approx([first, second])
    assert pair["overall"]["mean"] == pytest.approx(second - first)
    of_lengths = [run["overall_of_lengths"]["mean"] for run in found.record["runs"]]
    assert pair["overall_of_lengths"]["mean"] == pytest.approx(of_lengths[1] - of_lengths[0])
    for kind in ("lengths", "cells"):
        for place, difference in enumerate(pair[kind]):
            one, other = (run[kind][place]["mean"] for run in found.record["runs"])
            assert difference["mean"] == pytest.approx(other - one)
    assert found.record["rows"] == pair["overall"]["n"] == 96


def test_rows_count_the_same_with_a_note_where_datasets_weigh_parts_differently(tmp_path: Path) -> None:
    rows = part_rows(("single", "chains"))
    answers = answers_file(tmp_path / "a.jsonl", rows)
    runs = [
        (name, evaluate(parts_folder(tmp_path / name, rows, weights), answers, model=name))
        for name, weights in (("a", {"single": 1, "chains": 2}), ("b", {"single": 2, "chains": 1}))
    ]
    record = compare_named(runs).record
    assert any("different weights; here every row counts the same" in note for note in record["notes"])
    mean = runs[0][1].scores["score"].mean()
    assert [run["overall"]["mean"] for run in record["runs"]] == [pytest.approx(mean)] * 2


@pytest.fixture(scope="module")
def two() -> RunComparison:
    return compare_named([reports()[0], reports()[2]])


def test_the_same_runs_are_written_as_the_same_bytes(two: RunComparison, tmp_path: Path) -> None:
    one, other = write_comparison(two, tmp_path / "one"), write_comparison(two, tmp_path / "other")
    names = {path.name for path in one.iterdir()}
    assert names == TABLES | pictures("heatmaps", "difference-1")
    for name in names:
        assert (one / name).read_bytes() == (other / name).read_bytes(), name
    bare = write_comparison(replace(two, grids=(), differences=()), tmp_path / "bare")
    assert {path.name for path in bare.iterdir()} == TABLES
    assert "![" not in (bare / "comparison.md").read_text("utf-8")


@cache
def carrying(name: str) -> RunComparison:
    """Two runs; the first one, its dataset and its signature carry the name."""
    _, report = reports()[0]
    small = replace(report, scores=report.scores.head(6))
    strange = replace(small, dataset=name, signatures={"keyword": f"niah|{name}"})
    return compare_named([(name, strange), ("other", small)])


def test_hostile_names_of_models_and_datasets_stay_plain_text(tmp_path: Path) -> None:
    plain = carrying("plain")
    for name in EVERY[::11]:
        hostile, shown = carrying(name), name.encode("utf-8", "backslashreplace").decode()
        assert hostile.record["runs"][0]["name"] == hostile.frame["run"][0] == shown
        for form in ("text", "markdown"):
            lines = hostile.lines(form)
            assert len(lines) == len(plain.lines(form)), (form, name)
            for line in lines:
                assert not {char for char in line if unicodedata.category(char) in {"Cc", "Cf", "Cs", "Zl", "Zp"}}, form
        assert f"| {in_markdown(shown)} | " in "\n".join(hostile.lines("markdown"))
