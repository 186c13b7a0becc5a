"""The overview of a run: the score first, then its parts, then the other metrics in their groups."""

from __future__ import annotations

from typing import Any

import polars as pl
from made_scores import Record, frame

from niah_score.report.overview import overview_of, score_line, short_name
from niah_score.statistics.figures import summary_of
from niah_score.statistics.scored import Scored


def summary(rows: list[Record] | Scored) -> dict[str, Any]:
    scored = rows if isinstance(rows, Scored) else Scored(frame(rows))
    return {"model": "m", "dataset": {"name": "d", "digest8": "0123abcd"}, **summary_of(scored, ("score",))}


def perfect(**more: Any) -> list[Record]:
    return [{"length": 1000 * k, "depth_percent": 0.0, "score": 100.0, **more} for k in (1, 2, 2, 2)]


def about(rows: list[Record] | Scored) -> list[str]:
    """What is said of a run without other metrics, after the first line."""
    return list(overview_of(summary(rows), []))[1:]


def score_of(rows: list[Record] | Scored) -> str:
    whole = summary(rows)
    return score_line(whole["headline"], whole["metrics"]["score"]["overall"])


def test_the_first_lines_say_the_score_with_its_interval_its_rows_and_what_was_measured() -> None:
    assert score_of(perfect()).startswith("score 100.00  95 % interval [")
    assert next(overview_of(summary(perfect()), ["keyword"])) == "m on d 0123abcd, by keyword"
    silent = {"status": "missing"}
    for rows, end in (
        (perfect(), "100.00]  n 4"),
        ([{**perfect()[0], **silent, "score": 0.0}, *perfect()[1:]], "  n 4, 1 without an answer"),
        ([{**perfect()[0], **silent, "score": None}, *perfect()[1:]], "  n 3 of 4 rows, 1 without an answer"),
        ([{"score": None}], "score -  no row has one"),
        (perfect(needle_id="only"), "of this needle alone  n 4"),
    ):
        assert score_of(rows).endswith(end), end
    assert "One needle: intervals are for this one alone and do not show what others would give" in about(
        perfect(needle_id="only")
    )


def test_an_effective_length_is_printed_only_with_its_interval() -> None:
    for scores, line in (
        ((100.0,), None), ((40.0, 0.0), "none [none to none]"), ((100.0, 100.0), "not shown by these data"),
        ((100.0, 0.0, 100.0), "3,000 [3,000 to 3,000 or more]"),
    ):  # fmt: skip
        rows = [{"length": 1000 * at, "score": score} for at, score in enumerate(scores, 1) for _ in range(80)]
        assert about(rows) == ([] if line is None else [f"effective length {line}"])


def test_parts_beyond_the_first_twenty_are_only_counted() -> None:
    scores = frame([{"score": 100.0} for _ in range(30)]).with_columns(part=pl.col("id"))
    lines = about(Scored(scores))
    assert sum(line.startswith("part ") for line in lines) == 20
    assert lines[-1] == "and 10 more parts: all are in summary.json"


def test_each_control_is_listed_with_its_own_figure() -> None:
    rows: list[Record] = [
        {"control": "absent", "finding": "found", "score": 100.0},
        {"control": "absent", "finding": "said_absent", "score": 0.0},
        {"control": "no_context", "finding": "nothing", "score": 0.0},
        {"control": "literal", "score": 100.0},
    ]
    lines = about([{"score": 100.0}, *rows])
    assert [line.split("  ")[0] for line in lines] == [
        "control absent: false answers 50.00 %", "control literal: score 100.00", "control no_context: guessed 0.00 %",
    ]  # fmt: skip
    assert [line.rpartition("n ")[2] for line in lines][::2] == ["2", "1"]
    assert "  n 1; the same items as asked 100.00, gap +0.00  [" in lines[1]


def test_answers_to_a_conflict_are_counted_by_the_needles_they_name() -> None:
    rows: list[Record] = [
        {"control": "conflict", "finding": finding, "keyword.needles": needles}
        for finding, needles in (
            ("found", [True, True]), ("partly", [True, False]), ("partly", [False, True]), ("nothing", [False, False]),
        )
    ]  # fmt: skip
    (line,) = about([{"score": 100.0}, *rows])
    assert line.startswith("control conflict: one-sided 50.00 %  [")
    assert line.endswith("n 4")


def test_a_long_name_is_cut_and_control_characters_are_escaped() -> None:
    assert short_name("模" * 81) == "模" * 80 + "…"
    assert short_name("a\nb\x1b\u202e") == "a b\\x1b\\u202e"
