"""The sentences, the table and the JUnit file of a gate: they say what was found, whatever names are in them."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import polars as pl
import pytest
from hostile import EVERY
from made_gates import beyond, scored_as, with_status, world_run

from niah_score.errors import IntegrityError, ScoreError
from niah_score.report.gate import Gate, gate, gate_named, write_junit
from niah_score.report.report import Report
from niah_score.report.write import write
from niah_score.statistics.gate import FAILED, PASSED, UNDECIDED

GOOD = world_run(16, name="good")


def judged(candidate: Report, drop: float = 5) -> Gate:
    return gate(GOOD, replace(candidate, model="new"), drop=drop)


def test_each_verdict_has_its_sentence() -> None:
    worse, again = world_run(16, 0.7, 3), world_run(16, seed=5)
    silent = with_status(GOOD, "error", pl.col("id").str.ends_with("-0"))
    for candidate, drop, verdict, words in (
        (again, 8, PASSED,
         r"^new has not dropped by 8 points: score [\d.]+, [\d.]+ points (below|above) the [\d.]+ of good, over 768 "
         r"rows of 64 needles$"),
        (scored_as(GOOD, GOOD.scores["score"] * 0.98), 5, PASSED, "; it did drop, by less$"),
        (worse, 5, FAILED, r"^new dropped: score [\d.]+, [\d.]+ points below the [\d.]+ of good, over 768 rows of 64 "),
        (with_status(again, "missing", beyond(2)), 5, UNDECIDED,
         r"^it is not clear yet whether new dropped by 5 points: .*, over 96 rows of 8 needles, 672 are still to come; "
         r"(at most [\d,]+ more contexts decide it|the answers still to come may decide it, but the dataset has )"),
        (again, 2, UNDECIDED, r"^it cannot be told whether new dropped by 2 points: .*; the dataset has about [\d,]+ "
         r"contexts too few to tell such a drop for certain \(niah-gen plan --detect\)$"),
        (with_status(GOOD, "missing", pl.lit(True)), 5, UNDECIDED, "^no row has a score in both good and new yet$"),
        (silent, 8, FAILED, r"^new has not dropped by 8 points: .* over 640 of 768 rows"),
    ):  # fmt: skip
        found = judged(candidate, drop)
        (_, scores), (_, answers) = found.sentences()
        assert found.verdict == verdict, scores
        assert re.search(words, scores), scores
        assert found.lines()[0] == f"gate {verdict}"
        assert found.lines("markdown")[0] == f"**gate {verdict}**"
    assert answers == "new leaves 16.67 % of the rows without an answer (error 128), good 0.00 %; that is no chance"
    with pytest.raises(ScoreError, match="'html' is unknown"):
        found.lines("html")
    one = gate(
        *(
            replace(run, scores=run.scores.with_columns(needle_id=pl.lit("n"), language=pl.lit("en")), parts=())
            for run in (GOOD, scored_as(worse, np.zeros(768), "new"))
        )
    )
    assert next(one.sentences())[1].startswith("with one needle, a drop cannot be told from noise: new has score 0.00")


def test_the_table_has_each_part_and_length() -> None:
    lines = judged(world_run(16, 0.7, 3)).lines("markdown")
    assert [line.split("|")[1].strip() for line in lines if line.startswith("|")][2:] == [
        "part moves", "part records", "length 2000", "length 4000",
    ]  # fmt: skip
    assert any("at most 1 % of gates of equally good runs fail, and at most 10 % of those" in line for line in lines)


def test_runs_that_cannot_be_compared_and_numbers_out_of_range_are_refused() -> None:
    strange = replace(GOOD, scores=GOOD.scores.with_columns(id="x" + pl.col("id")), digest8="ffffffff", model="new")
    with pytest.raises(IntegrityError, match="no row is in both"):
        gate(GOOD, strange)
    with pytest.raises(ScoreError, match="two runs are called 'same'"):
        gate_named(("same", GOOD), ("same", GOOD), drop=5)
    for numbers in ({"drop": -1}, {"drop": float("nan")}, {"alarm": 0}, {"alarm": 0.6}, {"power": 1}, {"power": 0.4}):
        with pytest.raises(ScoreError, match=rf"--{next(iter(numbers))} .*: expected a number from"):
            gate(GOOD, replace(GOOD, model="new"), **numbers)


def test_junit_has_a_case_for_the_scores_the_missing_answers_and_each_place() -> None:
    """As the schema of Jenkins' plugin has it: counts, required names, and one outcome for each case."""
    fell = world_run(16, 0.7, 3)
    moves = scored_as(GOOD, GOOD.scores.select(pl.when(part="moves").then(0.0).otherwise("score").alias("s"))["s"])
    for candidate, failed, skipped in (
        (GOOD, [], []),
        (fell, ["scores", "part moves", "part records", "length 2000", "length 4000"], []),
        (moves, ["scores", "part moves", "length 2000", "length 4000"], []),
        (with_status(fell, "missing", beyond(1)), [], ["scores"]),
        (with_status(GOOD, "empty", pl.col("id").str.ends_with("-0"), 0.0), ["rows without an answer"], []),
    ):
        root = ElementTree.fromstring(judged(candidate, 9).junit())
        (suite,) = root
        cases = list(suite)
        outcome = {case.attrib["name"]: [child.tag for child in case] for case in cases}
        assert [name for name, tags in outcome.items() if tags == ["failure"]] == failed
        assert [name for name, tags in outcome.items() if tags == ["skipped"]] == skipped
        counts = {"tests": 6, "failures": len(failed), "errors": 0}
        assert root.attrib == {"name": "niah-score gate", **{name: str(count) for name, count in counts.items()}}
        assert suite.attrib == {**root.attrib, "skipped": str(len(skipped))}
        assert {case.attrib["classname"] for case in cases} == {"made-0000aaaa.new"}
        assert all(child.attrib.get("message") or child.text for case in cases for child in case)


def test_the_same_gate_is_the_same_bytes_and_replaces_only_its_own_file(tmp_path: Path) -> None:
    folders = [write(run, tmp_path / run.model) for run in (GOOD, replace(world_run(16, 0.7, 3), model="new"))]
    found, again = gate(*folders), gate(*folders)
    file, mine = tmp_path / "deep" / "gate.xml", tmp_path / "mine.xml"
    for one in (found, again):
        write_junit(one, file)
    assert file.read_bytes() == found.junit() == again.junit()
    mine.write_text("<mine/>")
    with pytest.raises(ScoreError, match="is no JUnit file of an earlier gate and stays as it is"):
        write_junit(found, mine)
    assert mine.read_text() == "<mine/>"


def test_hostile_names_stay_plain_text_in_every_form() -> None:
    small = world_run(2)
    plain = gate_named(("good", small), ("new", small), drop=5)
    for name in EVERY[::7]:
        hostile = gate_named(("good", small), (name, replace(small, dataset=name)), drop=5)
        (suite,) = ElementTree.fromstring(hostile.junit())
        assert len(suite) == 6
        for form in ("text", "markdown"):
            assert len(hostile.lines(form)) - len(hostile.notes) * (1 + (form == "markdown")) == len(plain.lines(form))
