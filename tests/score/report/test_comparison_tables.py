"""The printed tables of a comparison: every figure, mark and note in its place, and the page of docs about them."""

from __future__ import annotations

from typing import Any

import pytest
from made import ROOT
from made_runs import reports

from niah_score.errors import ScoreError
from niah_score.report.compare import compare_named
from niah_score.report.comparison_tables import scores_table

FIGURE: dict[str, Any] = {
    "rows": 40, "n": 40, "unanswered": 0, "mean": 91.25, "low": 80.0, "high": 97.0, "low_these": 82.5,
    "high_these": 96.0, "method": "clopper-pearson: 40 needles",
}  # fmt: skip
EFFECTIVE: dict[str, Any] = {"length": 1000, "interval": [1000, 1000], "or_more": False}


def made_of(*parts: tuple[str, float, float], weighed_by: str = "rows") -> dict[str, object]:
    """A headline of parts: name, mean, weight."""
    named = [{"name": name, "mean": mean, "weight": weight} for name, mean, weight in parts]
    return {"parts": named, "weighed_by": weighed_by}


def line(name: str, *lengths: dict[str, Any], ruler: Any = EFFECTIVE, **other: object) -> dict[str, Any]:
    return {
        "name": name, "headline": made_of(("only", 91.25, 1.0)), "dataset": "made-0000aaaa",
        "signature": "niah|ds:0000aaaa|missing:exclude|v:1", "overall": FIGURE, "overall_of_lengths": FIGURE,
        "lengths": [{**one, "length": 1000 * at} for at, one in enumerate(lengths or (FIGURE, FIGURE), 1)],
        "effective_length": {"ruler": ruler}, **other,
    }  # fmt: skip


def side(*runs: dict[str, Any], **other: object) -> dict[str, Any]:
    usual = {"metric": "score", "metrics": ["keyword"], "rows": 40, "notes": [], "pairs": []}
    return {**usual, "runs": runs, **other}


SINGLE = {**FIGURE, "low": None, "high": None, "method": "one needle: no interval over needles"}
ZERO = {"signature": "niah|ds:0000aaaa|missing:zero|v:1"}
FEWER = {**ZERO, "overall": {**FIGURE, "n": 30, "unanswered": 10}}
SEVERAL = {
    "headline": made_of(("single", 90.0, 0.75), ("chains", 30.0, 0.25), ("anchor", 100.0, 0.0), weighed_by="manifest")
}
# What differs in run `a` and in run `b`, words, and whether a note has them.
NOTES: list[tuple[dict[str, Any], dict[str, Any], str, bool]] = [
    ({"overall": {**FIGURE, "method": "clopper-pearson: 6 needles, rough"}}, {},
     "6 needles: intervals over fewer than ten are rough.", True),
    ({}, {}, "needles: intervals", False),
    ({"overall": SINGLE}, {}, "One needle: ", True),
    ({}, FEWER, "n: a 40, b 30 rows.", True),
    ({}, FEWER, "Rows without an answer: b 10.", True),
    ({}, FEWER, "Signature of b: niah|ds:0000aaaa|missing:zero|v:1", True),
    (SEVERAL, {}, "All rows, by part: a = single 90.0 x 0.75 + chains 30.0 x 0.25.", True),
    (SEVERAL, {}, "Rows of a part share the weight that the dataset gives it", True),
    ({}, {}, "part", False),
    ({}, {}, "To be said.", True),
]  # fmt: skip


def test_notes_say_how_runs_differ_and_what_their_means_are_made_of() -> None:
    short = {"lengths": [{**FIGURE, "length": 1000}]}
    for one, other, words, there in NOTES:
        shown = scores_table(side(line("a", **short | one), line("b", **short | other), notes=["To be said"])).notes
        assert any(words in note for note in shown) == there, (words, shown)


def test_text_and_markdown_show_both_tables_and_other_formats_are_refused() -> None:
    found = compare_named(reports())
    for form in ("text", "markdown"):
        titles = [line for line in found.lines(form) if line.startswith("score (keyword) on made-")]
        assert [title.partition(": ")[2] for title in titles] == [
            "means by length, over the 330 rows that all runs have", "differences to steady",
        ]  # fmt: skip
    with pytest.raises(ScoreError, match="--format: 'html' is unknown; expected one of text, markdown"):
        found.lines("html")


def test_the_page_of_docs_about_comparing_shows_the_actual_output() -> None:
    comparison = compare_named([reports()[0], reports()[2]])
    page = (ROOT / "docs" / "comparing.md").read_text("utf-8")
    begins, ends = "<!-- niah-score compare begins -->\n\n", "\n\n<!-- niah-score compare ends -->"
    assert page.split(begins)[1].split(ends)[0] == "\n".join(comparison.lines("markdown"))
