"""Figures, headline, controls, effective lengths and summary of scored rows, against plain loops and definitions."""

from __future__ import annotations

import json
import math
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from made_scores import Record, agrees, frame, mean, records, steady

from niah_score.scoring.findings import FINDINGS
from niah_score.statistics.figures import (
    NUMBERS,
    cells,
    controls_of,
    effective_length,
    headline_of,
    length_averages,
    length_means,
    needle_recall,
    of_lengths,
    summary_of,
)
from niah_score.statistics.scored import UNANSWERED, Scored


def text_of(value: Any) -> str | None:
    return f"{value:g}" if isinstance(value, int | float) else value


# Cells, groups and means of lengths -----------------------------------------------------------------------------------


@steady
@given(rows=records)
def test_cells_agree_with_loops_over_their_rows(rows: list[Record]) -> None:
    lines = cells(Scored(frame(rows))).to_dicts()
    languages = {row["language"] for row in rows}
    assert {line["language"] for line in lines} == (languages | {None} if len(languages) > 1 else {None})
    for line in lines:
        where = {name: line[name] for name in ("language", "length", "depth_percent")}
        if where["language"] is None:
            del where["language"]
        agrees(line, [row for row in rows if where.items() <= row.items()])
    for language in {line["language"] for line in lines}:
        of_language = [row for row in rows if language in (None, row["language"])]
        assert sum(line["rows"] for line in lines if line["language"] == language) == len(of_language)


@steady
@given(rows=records)
def test_the_mean_of_lengths_is_that_of_a_pivot_tables_column_means_within_its_interval(rows: list[Record]) -> None:
    scored = Scored(frame(rows))
    figure, means = of_lengths(scored), length_means(scored, "score")
    table: dict[int | None, dict[float | None, list[float]]] = {}
    for row in rows:
        if row["score"] is not None:
            table.setdefault(row["length"], {}).setdefault(row["depth_percent"], []).append(row["score"])
    columns = {
        length: math.fsum(math.fsum(cell) / len(cell) for cell in by.values()) / len(by) for length, by in table.items()
    }
    assert {length: one.mean for length, one in means.items()} == pytest.approx(columns)
    placed = [of_length for length, of_length in columns.items() if length is not None]
    assert figure.mean == pytest.approx(mean(placed))
    assert figure.rows == sum(row["length"] is not None for row in rows)
    assert figure.n == sum(row["length"] is not None and row["score"] is not None for row in rows)
    for one in (figure, *means.values()) if placed else ():
        assert 0 <= (one.low_these or 0.0) <= (one.mean or 0.0) <= (one.high_these or 0.0) <= 100


# Effective lengths ----------------------------------------------------------------------------------------------------


@steady
@given(rows=records)
def test_the_effective_length_is_the_longest_that_reaches_85_6_and_is_shown_where_lengths_differ(
    rows: list[Record],
) -> None:
    scored = Scored(frame(rows))
    found = effective_length(scored)
    lengths = {length: one for (length,), one in scored.figures("score", "length").items() if length is not None}
    mean, low, high = (
        max((length for length, one in lengths.items() if (one._asdict()[end] or 0) >= 85.6), default=None)
        for end in ("mean", "low", "high")
    )
    assert (found["threshold"], found["length"]) == (85.6, mean)
    known = all(one.low is not None for one in lengths.values())
    apart = any((one.low or 0) > (other.high or 0) for one in lengths.values() for other in lengths.values())
    assert found["interval"] == ([low, high] if known and apart else None)
    assert found["or_more"] == (known and apart and high == max(lengths))


def test_rulers_averages_are_those_of_its_published_table() -> None:
    """Gemini 1.5 Pro, 4k to 128k."""
    averages = length_averages([96.7, 95.8, 96.0, 95.9, 95.9, 94.4])
    assert {name: round(value or 0, 1) for name, value in averages.items()} == {"rising": 95.5, "falling": 96.1}
    assert length_averages([100.0, None, 40.0]) == {"rising": 60.0, "falling": 80.0}
    assert length_averages([None]) == {"rising": None, "falling": None}


# The headline ---------------------------------------------------------------------------------------------------------

NAMES = st.lists(st.sampled_from(["retrieval", "chains", "anchor"]), min_size=40, max_size=40)


def parted(rows: list[Record], parts: list[Any]) -> pl.DataFrame:
    return frame(rows).with_columns(pl.Series("part", parts[: len(rows)], pl.String))


@steady
@given(
    rows=records,
    parts=NAMES,
    weights=st.none()
    | st.fixed_dictionaries({name: st.sampled_from([0.0, 0.4, 1, 1e300]) for name in ("retrieval", "chains")}),
)
def test_the_headline_is_the_mean_of_parts_weighted_as_in_the_dataset_or_by_rows(
    rows: list[Record], parts: list[str], weights: dict[str, float] | None
) -> None:
    asked = [{**row, "control": None} for row in rows]
    weights = None if weights is None else {**weights, "anchor": 0.0}
    scored = Scored(parted(asked, parts), weights)
    headline = headline_of(scored)
    assert headline["weighed_by"] == ("rows" if weights is None else "manifest")
    order = (
        sorted(set(parts[: len(rows)])) if weights is None else [name for name in weights if name in parts[: len(rows)]]
    )
    assert [part["name"] for part in headline["parts"]] == order
    for part in headline["parts"]:
        own = [row["score"] for row, name in zip(rows, parts, strict=False) if name == part["name"]]
        known = [score for score in own if score is not None]
        assert (part["rows"], part["n"]) == (len(own), len(known))
        assert part["mean"] == (pytest.approx(mean(known)) if known else None)
    inside = {part["name"]: part["n"] if weights is None else weights[part["name"]] / 1e300 * (part["n"] > 0)
              for part in headline["parts"]}  # fmt: skip
    total = sum(inside.values())
    assert {part["name"]: part["weight"] for part in headline["parts"]} == pytest.approx(
        {name: weight / total if total else 0.0 for name, weight in inside.items()}
    )
    if not total:
        assert (headline["mean"], headline["low"], headline["n"]) == (None, None, 0)
    else:
        expected = sum(part["weight"] * part["mean"] for part in headline["parts"] if part["weight"])
        assert headline["mean"] == pytest.approx(expected)
    if weights is None:
        whole = scored.figures("score")[()]
        assert [headline[name] for name in ("mean", "low", "high", "n")] == [whole.mean, whole.low, whole.high, whole.n]


@steady
@given(rows=records, parts=NAMES)
def test_means_over_several_parts_weigh_rows_as_the_headline_does(rows: list[Record], parts: list[str]) -> None:
    weights = {"retrieval": 3.0, "chains": 1.0, "anchor": 0.0}
    summary, alone = summary_of(Scored(parted(rows, parts), weights)), summary_of(Scored(parted(rows, parts)))
    figures = summary["metrics"]["score"]
    assert figures["overall"]["mean"] == pytest.approx(summary["headline"]["mean"])
    own = [
        (name, row)
        for row, name in zip(rows, parts, strict=False)
        if row["control"] is None and row["score"] is not None
    ]
    n = {name: sum(other == name for other, _ in own) for name in weights}
    for group in ("length", "language", "needle_id", "depth_percent"):
        for line in figures["groups"].get(group, []):
            inside = [
                (weights[name] / n[name], row["score"])
                for name, row in own
                if weights[name] and text_of(row[group]) == line["value"]
            ]
            total = sum(each for each, _ in inside)
            assert line["n"] == len(inside)
            expected = sum(each * score for each, score in inside) / total if inside else None
            assert line["mean"] == pytest.approx(expected)
    assert {line["value"]: line["n"] for line in figures["groups"].get("part", [])}.items() <= n.items()
    assert summary["controls"] == alone["controls"]  # which weigh all rows equally


def test_all_right_is_the_share_of_rows_with_nothing_missing_or_false() -> None:
    rows: list[Record] = [{"metric": "keyword_f1", "score": score} for score in (100.0, 80.0, 0.0, 100.0, None)]
    rows += [{"metric": "keyword", "score": 100.0}, {"metric": "keyword_f1", "score": 100.0}]
    parts = headline_of(Scored(parted(rows, ["lists"] * 5 + ["mixed"] * 2)))["parts"]
    assert [part["name"] for part in parts] == ["lists", "mixed"]
    assert (parts[0]["all_right"]["mean"], parts[0]["all_right"]["n"]) == (50.0, 4)
    assert parts[0]["all_right"]["low"] < 50 < parts[0]["all_right"]["high"]
    assert parts[1]["all_right"] is None


# Controls -------------------------------------------------------------------------------------------------------------


def number(control: str, **row: Any) -> tuple[float | None, int]:
    """The number of a control with one row, and its n."""
    figures = controls_of(Scored(frame([{"control": control, **row}])))[control]
    (value,) = (figures[name] for name in NUMBERS if name in figures)
    return value, figures["n"]


def test_false_answers_and_guesses_are_those_that_name_what_the_text_does_not_state() -> None:
    for finding in sorted({*FINDINGS, "said_absent"} - {"not_applicable"}):
        names_nothing = finding in ("said_absent", "refused", "no_answer")
        assert number("absent", finding=finding) == (0.0 if names_nothing else 100.0, 1), finding
        guessed = finding in ("found", "hedged")
        assert number("no_context", finding=finding, score=50.0) == (100.0 if guessed else 0.0, 1), finding
    for status in ("missing", "error", "empty", "think_unclosed"):
        assert number("absent", status=status, finding="truncated", score=0.0) == (0.0, 1), status
    # Without keywords, full marks are a guess, and absent facts do not count.
    assert number("no_context", score=100.0) == (100.0, 1)
    assert number("no_context", score=99.9) == (0.0, 1)
    assert number("no_context") == number("absent", score=100.0) == (None, 0)
    for control in ("absent", "no_context", "conflict"):
        assert number(control, status="missing", finding="no_answer", score=None) == (None, 0)
        assert number(control, status="missing", finding="no_answer", score=0.0) == (0.0, 1)


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
    figures = controls_of(Scored(frame([*asked, *twins])))
    assert list(figures) == ["literal"]
    one = figures["literal"]
    assert (one["n"], one["asked"]["n"], one["gap"]["n"]) == (7, 5, 5)
    assert one["score"] == pytest.approx(550 / 7)
    assert one["asked"]["mean"] == pytest.approx(200 / 5)
    assert one["gap"]["mean"] == pytest.approx((-50 + 0 + 300) / 5)
    assert one["gap"]["low"] < one["gap"]["mean"] < one["gap"]["high"]
    alone = controls_of(Scored(frame(twins)))["literal"]
    assert (alone["asked"]["n"], alone["asked"]["mean"], alone["gap"]["mean"]) == (0, None, None)


def test_an_answer_that_names_only_one_of_two_facts_is_one_sided() -> None:
    cases: tuple[tuple[str, list[bool | None] | None, str | None], ...] = (
        ("found", [True, True], "both"), ("hedged", [True, True], "both"), ("partly", [True, False], "first"),
        ("partly", [False, True, None], "other"), ("nothing", [False, False], None), ("no_answer", None, None),
        ("said_absent", [False, False], None), ("wrong_needle", [False, False], None),
    )  # fmt: skip
    for finding, needles, named in cases:
        row: Record = {"control": "conflict", "finding": finding, "keyword.needles": needles, "score": 0.0}
        figures = controls_of(Scored(frame([row])))["conflict"]
        assert (figures["one_sided_rate"], figures["n"]) == (100.0 * (named in ("first", "other")), 1), finding
        assert figures["shares"] == {name: 100.0 * (name == named) for name in ("both", "first", "other")}, finding
    # A row that asks for one fact does not count.
    rows = frame([{"control": "conflict", "finding": "found", "score": 100.0}] * 2)
    figures = controls_of(Scored(rows.with_columns(pl.Series("keyword.groups", [1, 2], pl.Int64))))["conflict"]
    assert (figures["one_sided_rate"], figures["n"], figures["rows"]) == (0.0, 1, 2)
    without = controls_of(Scored(rows.drop("keyword.needles")))["conflict"]
    assert (without["n"], without["shares"]) == (2, {"both": 100.0, "first": None, "other": None})


# The summary ----------------------------------------------------------------------------------------------------------


def test_needle_recall_is_per_position_and_counts_missing_answers_as_scores_do() -> None:
    rows: list[Record] = [
        {"needle_id": "three", "keyword": 100.0, "keyword.needles": [True, False, None]},
        {"needle_id": "three", "keyword": 50.0, "keyword.needles": [True, True, None]},
        {"needle_id": "two", "keyword": 50.0, "keyword.needles": [False, True]},
        {"needle_id": "one", "keyword": 100.0},
        {"needle_id": "three", "keyword": 0.0, "status": "missing"},
        {"needle_id": "two", "keyword": None, "status": "missing"},
        {"needle_id": "one", "keyword": 0.0, "status": "missing"},
    ]
    recall = needle_recall(Scored(frame(rows)))
    counts = [tuple(one[name] for name in ("position", "rows", "n", "unanswered")) for one in recall]
    assert counts == [(1, 5, 4, 2), (2, 5, 4, 2), (3, 3, 0, 1)]
    assert [one["mean"] for one in recall] == [50.0, 50.0, None]
    assert needle_recall(Scored(frame(rows[3:4]))) == []


@steady
@given(rows=records, seed=st.integers(0, 99))
def test_the_summary_ignores_the_order_of_rows_and_its_totals_add_up(rows: list[Record], seed: int) -> None:
    scores = frame(rows)
    summary = summary_of(Scored(scores), ["score", "keyword"])
    text = json.dumps(summary, allow_nan=False)
    assert json.dumps(summary, allow_nan=False, sort_keys=True) == text
    mixed = Scored(scores.sample(fraction=1, shuffle=True, seed=seed))
    assert json.dumps(summary_of(mixed, ["keyword", "score"]), allow_nan=False) == text
    assert cells(mixed).equals(cells(Scored(scores)))
    assert sum(summary["statuses"].values()) == sum(summary["findings"].values()) == summary["rows"] == len(rows)
    silent = sum(one["unanswered"] for one in (summary["metrics"]["score"]["overall"], *summary["controls"].values()))
    assert silent == sum(summary["statuses"][name] for name in UNANSWERED)
    assert summary["metrics"]["keyword"]["overall"]["mean"] is None


@steady
@given(rows=records)
def test_control_rows_count_only_in_their_own_group(rows: list[Record]) -> None:
    scores = frame(rows)
    summary, without = summary_of(Scored(scores)), summary_of(Scored(scores.filter(pl.col("control").is_null())))
    for name in ("headline", "needle_recall"):
        assert summary[name] == without[name]
    figures = summary["metrics"]["score"]
    by_control = figures["groups"].pop("control", None)
    assert figures == without["metrics"]["score"]
    assert (by_control is None) == (summary["rows"] == without["rows"])
    for line in by_control or ():
        agrees(line, [row for row in rows if row["control"] == line["value"]])
    assert (list(summary["controls"]), without["controls"]) == (sorted({row["control"] for row in rows} - {None}), {})


def test_guesses_are_averaged_by_metric_and_kind_of_needle() -> None:
    rows = frame([{"needle_id": name, "score": 1.0} for name in ("a#1-2", "a#2-2", "b", "b")])
    scored = Scored(rows.with_columns(pl.Series("choice.guess", [10.0, 20.0, 50.0, None])))
    assert summary_of(scored)["guess_rates"] == [
        {"mean": 15.0, "metric": "choice", "needle": "a", "rows": 2},
        {"mean": 50.0, "metric": "choice", "needle": "b", "rows": 1},
    ]
