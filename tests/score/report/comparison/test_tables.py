"""The printed tables of a comparison: every figure, mark and note in its place, and the page of docs about them."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from made import ROOT
from made_reports import report, right
from made_runs import reports

from niah_score.errors import ScoreError
from niah_score.report.comparison.side_by_side import RunLine, SideBySide, side_by_side
from niah_score.report.comparison.tables import differences_table, length_names, lines_of, scores_table
from niah_score.report.comparison.typeset import TableCell
from niah_score.statistics.effective_length import EffectiveLength
from niah_score.statistics.figures import Figure
from niah_score.statistics.intervals import NO_TEST, ONE_NEEDLE
from niah_score.statistics.paired import ComparedRun, Comparison, Difference, Pair

FIGURE = Figure(40, 40, 0, 91.25, 80.0, 97.0, "clopper-pearson: 40 needles", 82.5, 96.0)
EFFECTIVE = EffectiveLength(85.6, 1000, (1000, 1000), False, 1000, None, (), None, (), 0)
DIFFERENCE = Difference(None, None, 40, 40, -8.04, -12.0, -3.96, 0.001, 0.002, "t: 40 needles", False, -10.0, -6.0)


def made_of(*parts: tuple[str, float, float], weighed_by: str = "rows") -> dict[str, object]:
    """A headline of parts: name, mean, weight."""
    named = [{"name": name, "mean": mean, "weight": weight} for name, mean, weight in parts]
    return {"parts": named, "weighed_by": weighed_by}


def line(name: str, **other: object) -> RunLine:
    known: dict[str, object] = {
        "headline": made_of(("only", 91.25, 1.0)),
        "dataset": "made-0000aaaa", "signature": "niah|ds:0000aaaa|missing:exclude|v:1", "of_rows": FIGURE,
        "of_lengths": FIGURE, "lengths": (FIGURE, FIGURE), "ruler": EFFECTIVE, "nolima": EFFECTIVE,
        **other,
    }  # fmt: skip
    return RunLine(name, **known)  # type: ignore[arg-type]


def side(*lines: RunLine, pairs: tuple[Pair, ...] = (), **other: object) -> SideBySide:
    runs = tuple(ComparedRun(one.name, 40, 0, one.of_rows) for one in lines)
    known = {"best": {}, "grids": (), "differences": (), "notes": (), **other}
    return SideBySide(Comparison("score", 40, runs, pairs, ()), ("keyword",), (1000, 2000), lines, **known)  # type: ignore[arg-type]


def test_each_line_shows_means_with_intervals_and_effective_lengths() -> None:
    table = scores_table(
        side(line("a"), line("b", lengths=(FIGURE, Figure(2, 0, 0, None, None, None, "none"))), best={1: 0})
    )
    mean, effective = TableCell("91.2", "[80.0, 97.0]"), [TableCell("1k", "[1k, 1k]")] * 2
    assert table.columns == ("run", "1k", "2k", "all rows", "all lengths", "RULER", "NoLiMa")
    assert table.lines == (
        (TableCell("a"), mean, mean._replace(bold=True), mean, mean, *effective),
        (TableCell("b"), mean, TableCell("–"), mean, mean, *effective),
    )
    assert table.title == "score (keyword) on made-0000aaaa: means by length, over the 40 rows that all runs have"
    assert "n: 40 rows in each run." in table.notes
    assert "Rows without an answer are left out." in table.notes
    assert "Signature: niah|ds:0000aaaa|missing:exclude|v:1" in table.notes


def test_the_note_that_all_rows_are_answered_appears_only_where_it_is_true() -> None:
    every = "Every row has an answer."
    signature = {"signature": "niah|ds:0000aaaa|missing:error|v:1"}
    assert every in scores_table(side(line("a", **signature), line("b", **signature))).notes
    silent = line("b", of_rows=FIGURE._replace(unanswered=2), **signature)
    notes = scores_table(side(line("a", **signature), silent)).notes
    assert "Rows without an answer: b 2." in notes
    assert every not in notes


def test_an_effective_length_stands_beside_its_interval_or_is_left_out() -> None:
    cases: list[tuple[dict[str, object], TableCell]] = [
        ({"length": 2000, "interval": (1000, 2000), "or_more": True}, TableCell("2k", "[1k, ≥2k]")),
        ({"interval": (None, 1000)}, TableCell("1k", "[<1k, 1k]")),
        ({"length": None, "interval": (None, None)}, TableCell("<1k", "[<1k, <1k]")),
        ({"interval": None}, TableCell("–")),
    ]
    for change, expected in cases:
        table = scores_table(side(line("a", ruler=EFFECTIVE._replace(**change)), line("b")))  # type: ignore[arg-type]
        assert table.lines[0][-2] == expected, change


def test_few_needles_are_noted_and_one_needle_has_the_interval_of_its_rows() -> None:
    rough, alone = (
        scores_table(side(line("a", of_rows=figure), line("b"))).notes
        for figure in (FIGURE._replace(method="clopper-pearson: 6 needles, rough"), FIGURE._replace(method=ONE_NEEDLE))
    )
    assert "6 needles: intervals over fewer than ten are rough." in rough
    assert any(note.startswith("One needle: ") for note in alone)
    assert not any("needles: intervals" in note for note in scores_table(side(line("a"), line("b"))).notes)
    single = FIGURE._replace(low=None, high=None, method=ONE_NEEDLE)
    assert scores_table(side(line("a", of_rows=single), line("b"))).lines[0][3] == TableCell("91.2", "[82.5, 96.0]")
    untested = DIFFERENCE._replace(low=None, high=None, p=None, adjusted=None, test=NO_TEST, noise=True)
    pairs = (Pair("a", "b", untested, untested, (untested, untested), (), ()),)
    assert differences_table(side(line("a"), line("b"), pairs=pairs)).lines[0][1] == (
        TableCell("-8.0", "[-10.0, -6.0]", "≈")
    )


def test_means_of_0_and_100_are_shown_with_both_intervals() -> None:
    full = FIGURE._replace(mean=100.0, low=54.07, high=100.0, low_these=91.19, high_these=100.0)
    table = scores_table(side(line("a", lengths=(full, FIGURE)), line("b")))
    assert table.lines[0][1] == TableCell("100.0", "[54.1, 100.0]")
    assert "Means of 0 and 100 with the 95 % interval of these needles alone: a 1k [91.2, 100.0]." in table.notes
    alone = full._replace(low=None, high=None)
    rows = full._replace(low=91.19)
    notes = scores_table(side(line("a", lengths=(alone, rows)), line("b"))).notes
    assert not any(note.startswith("Means of 0") for note in notes)


def test_notes_name_each_run_where_runs_differ() -> None:
    other = line("b", of_rows=FIGURE._replace(n=30, unanswered=10), signature="niah|ds:0000aaaa|missing:zero|v:1")
    notes = scores_table(side(line("a"), other, notes=("Something is to be said",))).notes
    assert "n: a 40, b 30 rows." in notes
    assert "Rows without an answer: b 10." in notes
    assert "Signature of b: niah|ds:0000aaaa|missing:zero|v:1" in notes
    assert "Something is to be said." in notes
    assert not any(note.startswith("Rows without an answer count") for note in notes)


def test_differences_to_the_first_run_are_bold_or_marked_as_noise() -> None:
    noise = DIFFERENCE._replace(mean=-0.04, low=-3.0, high=2.96, noise=True)
    nothing = DIFFERENCE._replace(n=0, mean=None, low=None, high=None, p=None, adjusted=None, noise=True)
    gain = DIFFERENCE._replace(mean=8.04, low=3.96, high=12.0)
    pairs = (
        Pair("a", "b", DIFFERENCE, gain, (noise, nothing), (), ()),
        Pair("a", "c", noise, noise, (noise, noise), (), ()),
        Pair("b", "c", noise, noise, (noise, noise), (), ()),
    )
    table = differences_table(side(line("a"), line("b"), line("c"), pairs=pairs))
    assert table.title.endswith(": differences to a")
    none = TableCell("0.0", "[-3.0, 3.0]", "≈")
    assert table.lines == (
        (
            TableCell("b"),
            none,
            TableCell("–"),
            TableCell("-8.0", "[-12.0, -4.0]", bold=True),
            TableCell("+8.0", "[4.0, 12.0]", bold=True),
        ),
        (TableCell("c"), none, none, none, none),
    )


def test_lengths_are_named_in_thousands_only_where_all_are_whole_thousands() -> None:
    assert list(length_names((1000, 128_000)).values()) == ["1k", "128k"]
    assert list(length_names((1000, 4096)).values()) == ["1000", "4096"]


def test_text_shows_the_table_then_every_pair_with_lengths_only_against_the_first_run() -> None:
    lines = lines_of(side_by_side(reports()), "text")
    assert lines[0] == "score over the 330 rows that all runs have"
    assert [line for line in lines if " - " in line and not line.startswith(" ")] == [
        "steady-again - steady", "lost_in_the_middle - steady", "lost_in_the_middle - steady-again",
    ]  # fmt: skip
    at = lines.index("lost_in_the_middle - steady-again")
    assert lines[at + 1].startswith("  all ")
    assert len(lines) == at + 2
    assert sum(line.startswith("  128000 ") for line in lines) == 2
    with pytest.raises(ScoreError, match="--format: 'html' is unknown; expected one of text, markdown, latex"):
        lines_of(side_by_side(reports()), "html")


def test_the_page_of_docs_about_comparing_shows_the_actual_output() -> None:
    """The page has the whole tables in Markdown, the caption and a line of the LaTeX, and the pair of the text."""
    comparison = side_by_side([reports()[0], reports()[2]])
    page = (ROOT / "docs" / "comparing.md").read_text("utf-8")
    begins, ends = "<!-- niah-score compare begins -->\n\n", "\n\n<!-- niah-score compare ends -->"
    assert page.split(begins)[1].split(ends)[0] == "\n".join(lines_of(comparison, "markdown"))
    latex, text = lines_of(comparison, "latex"), lines_of(comparison, "text")
    caption, line = (next(one for one in latex if mark in one) for mark in (r"\caption", r"lost\_in"))
    assert f"```latex\n{caption}\n{line}\n```" in page
    pair = text[text.index("lost_in_the_middle - steady") :]
    assert len(pair) == 7
    assert "```\n" + "\n".join(pair) + "\n```" in page


def test_a_table_without_lengths_has_no_columns_for_them() -> None:
    none = EFFECTIVE._replace(length=None, interval=None)
    bare = [replace(one, lengths=(), ruler=none, nolima=none) for one in (line("a"), line("b"))]
    comparison = replace(side(*bare), lengths=())
    table = scores_table(comparison)
    assert table.groups == (("mean of", 2), ("effective length", 2))
    assert [cell.main for cell in table.lines[0]] == ["a", "91.2", "91.2", "–", "–"]


def test_the_parts_of_each_mean_are_listed_in_the_notes_and_the_text() -> None:
    several = made_of(("single", 90.0, 0.75), ("chains", 30.0, 0.25), ("anchor", 100.0, 0.0), weighed_by="manifest")
    shown = side(line("a", headline=several), line("b"))
    notes = scores_table(shown).notes
    assert "All rows, by part: a = single 90.0 x 0.75 + chains 30.0 x 0.25." in notes
    assert (
        "Rows of a part share the weight that the dataset gives it, in all means; parts of weight 0 are left out."
        in notes
    )
    assert "    = single 90.0 x 0.75 + chains 30.0 x 0.25" in lines_of(shown, "text")
    assert not [note for note in scores_table(side(line("a"), line("b"))).notes if "part" in note]


@pytest.mark.slow
def test_for_many_runs_only_differences_to_the_first_are_printed_and_the_rest_counted() -> None:
    runs = [(f"run-{number:02}", report(right(0.5, number, 24))) for number in range(14)]
    for count, pairs in ((12, 66), (14, 13)):
        printed = lines_of(side_by_side(runs[:count]), "text")
        assert sum(bool(re.fullmatch(r"run-\d\d - run-\d\d", line)) for line in printed) == pairs
        summaries = [line for line in printed if line.startswith("differences to run-00, the first of 14 runs; ")]
        assert len(summaries) == (count == 14)
        assert all("the 78 other pairs are in the files that --out writes" in line for line in summaries)
