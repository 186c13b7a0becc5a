"""Rates of controls: which answers count as false, which as guessed, and which rows count at all."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest
from each import each
from hypothesis import given
from made_scores import Record, frame, records, steady

from niah_score.scoring.findings import FINDINGS
from niah_score.statistics.controls import NUMBERS, controls_of
from niah_score.statistics.scored import Scored


def number(control: str, **row: Any) -> tuple[float | None, int]:
    """The number of a control with one row, and its n."""
    figures = controls_of(Scored(frame([{"control": control, **row}])))[control]
    (value,) = (figures[name] for name in NUMBERS if name in figures)
    return value, figures["n"]


@each("finding", sorted({*FINDINGS, "said_absent"}))
def test_answers_to_absent_facts_are_false_unless_they_decline_to_answer(finding: str) -> None:
    names_nothing = finding in ("said_absent", "refused", "no_answer")
    assert number("absent", finding=finding) == (0.0 if names_nothing else 100.0, 1)


@each("status", ["missing", "error", "empty", "think_unclosed"])
def test_rows_without_an_answer_are_not_false_answers(status: str) -> None:
    assert number("absent", status=status, finding="truncated", score=0.0) == (0.0, 1)


@each("finding", sorted(FINDINGS))
def test_naming_every_fact_without_the_text_is_a_guess(finding: str) -> None:
    guessed = finding in ("found", "hedged")
    assert number("no_context", finding=finding, score=50.0) == (100.0 if guessed else 0.0, 1)


def test_without_keywords_full_marks_are_a_guess_and_absent_facts_do_not_count() -> None:
    assert number("no_context", score=100.0) == (100.0, 1)
    assert number("no_context", score=99.9) == (0.0, 1)
    assert number("no_context") == (None, 0)
    assert number("absent", score=100.0) == (None, 0)


def test_missing_answers_without_a_score_are_in_no_rate() -> None:
    for control in ("absent", "no_context", "conflict"):
        assert number(control, status="missing", finding="no_answer", score=None) == (None, 0)
        assert number(control, status="missing", finding="no_answer", score=0.0) == (0.0, 1)


def test_any_other_control_has_its_mean_score() -> None:
    rows: list[Record] = [{"control": "literal", "score": score} for score in (0.0, 100.0, 100.0, 50.0)]
    figures = controls_of(Scored(frame([*rows, {"score": 0.0}])))
    assert list(figures) == ["literal"]
    assert list(figures["literal"]) == sorted(
        ["asked", "gap", "high", "high_these", "low", "low_these", "n", "rows", "score", "unanswered"]
    )
    assert (figures["literal"]["score"], figures["literal"]["n"]) == (62.5, 4)


def test_a_control_is_compared_with_the_rows_it_is_a_twin_of() -> None:
    asked: list[Record] = [
        {"needle_id": needle, "length": length, "score": 100.0 * (needle == "a"), "haystack_id": f"{needle}{length}"}
        for needle in "abc"
        for length in (1000, 2000)
    ]
    # One control whose twin has no score, and one without a twin.
    asked[2]["score"] = None
    twins: list[Record] = [{**row, "control": "literal", "score": 100.0} for row in asked]
    twins[0]["score"] = 50.0
    twins.append({**twins[0], "needle_id": "d", "score": 0.0})
    figures = controls_of(Scored(frame([*asked, *twins])))["literal"]
    assert (figures["n"], figures["asked"]["n"], figures["gap"]["n"]) == (7, 5, 5)
    assert figures["asked"]["mean"] == pytest.approx(200 / 5)
    assert figures["gap"]["mean"] == pytest.approx((-50 + 0 + 300) / 5)
    assert figures["gap"]["low"] < figures["gap"]["mean"] < figures["gap"]["high"]
    alone = controls_of(Scored(frame(twins)))["literal"]
    assert (alone["asked"]["n"], alone["asked"]["mean"], alone["gap"]["mean"]) == (0, None, None)


@each(
    ("finding", "needles", "named"),
    [
        ("found", [True, True], "both"), ("hedged", [True, True], "both"), ("partly", [True, False], "first"),
        ("partly", [False, True, None], "other"), ("nothing", [False, False], None), ("no_answer", None, None),
        ("said_absent", [False, False], None), ("wrong_needle", [False, False], None),
    ],
)  # fmt: skip
def test_an_answer_that_names_only_one_of_two_facts_is_one_sided(
    finding: str, needles: list[bool | None] | None, named: str | None
) -> None:
    row: Record = {"control": "conflict", "finding": finding, "keyword.needles": needles, "score": 0.0}
    figures = controls_of(Scored(frame([row])))["conflict"]
    assert (figures["one_sided_rate"], figures["n"]) == (100.0 * (named in ("first", "other")), 1)
    assert figures["shares"] == {name: 100.0 * (name == named) for name in ("both", "first", "other")}


def test_a_conflict_in_which_only_one_fact_is_looked_for_is_not_counted() -> None:
    rows = frame([{"control": "conflict", "finding": "found", "score": 100.0}] * 2)
    figures = controls_of(Scored(rows.with_columns(pl.Series("keyword.groups", [1, 2], pl.Int64))))["conflict"]
    assert (figures["one_sided_rate"], figures["n"], figures["rows"]) == (0.0, 1, 2)
    without = controls_of(Scored(rows.drop("keyword.needles")))["conflict"]
    assert (without["n"], without["shares"]) == (2, {"both": 100.0, "first": None, "other": None})


@steady
@given(rows=records)
def test_a_rate_agrees_with_loops_over_its_rows(rows: list[Record]) -> None:
    figures = controls_of(Scored(frame(rows)))
    own = [row for row in rows if row["control"] == "absent"]
    assert list(figures) == ["absent"] * bool(own)
    if not own:
        return
    silent = ("missing", "error", "empty", "think_unclosed")
    counted = [
        row["status"] not in silent and row["finding"] not in ("said_absent", "refused", "no_answer")
        for row in own
        if not (row["status"] == "missing" and row["score"] is None)
        and (row["finding"] is not None or row["status"] in silent)
    ]
    assert (figures["absent"]["rows"], figures["absent"]["n"]) == (len(own), len(counted))
    if counted:
        assert figures["absent"]["false_answer_rate"] == pytest.approx(100 * sum(counted) / len(counted))
        low, high = figures["absent"]["low"], figures["absent"]["high"]
        # One needle says nothing about others.
        assert low is high is None or 0 <= low <= figures["absent"]["false_answer_rate"] <= high <= 100
