"""Answers without ids are joined to the one row that fits their cell, question and needles, and to no other."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st
from made import Record, WriteLines
from properties import examples

from niah_score.errors import IntegrityError, ScoreError
from niah_score.evaluation import evaluate
from niah_score.join.join import Lines
from niah_score.report.report import Report

DEPTHS = (0.0, 33.908016654811604, 100.0)


def code(length: int, seed: int) -> str:
    return f"code-{length}-{seed}"


def row(length: int, depth: float, seed: int, **more: Any) -> Record:
    """A row whose needle hides the code of its length and seed."""
    needle = f"The secret code is {code(length, seed)}."
    return {
        "id": f"r-{length}-{depth:.1f}-{seed}", "answers": [code(length, seed)], "keywords": [[code(length, seed)]],
        "length": length, "depth_percent": depth, "repeat": seed, "question": "What is the secret code?",
        "needles": [needle], "placement": "needlehaystack2",
        "prompt_sha256": sha256(f"{length} {depth} {needle}".encode()).hexdigest(), **more,
    }  # fmt: skip


def result(truth: Record, **more: Any) -> Record:
    """The record that needlehaystack 2 writes for a row that was answered correctly."""
    return {
        "model_id": "m", "run_name": "uuid", "task_type": "uuid", "context_length": truth["length"],
        "target_depth_percent": truth["depth_percent"], "expected_answer": truth["answers"][0],
        "recipe": {"needle_placements": [{"text": text} for text in truth["needles"]]},
        "prompt_question": "What is the secret code?", "response": truth["answers"][0], "score": {"value": 1.0},
        "status": "ok", "error": None, "seed": truth["repeat"], **more,
    }  # fmt: skip


def grid(seeds: int = 2) -> list[Record]:
    return [row(length, depth, seed) for length in (1000, 2000) for depth in DEPTHS for seed in range(seeds)]


@pytest.fixture
def scored(write_lines: WriteLines) -> Any:
    """A function that scores results against rows."""

    def scored(rows: list[Record], results: list[Record], **how: Any) -> Report:
        dataset, answers = write_lines("rows.jsonl", rows), write_lines("results.jsonl", results)
        return evaluate(dataset, answers, metrics=(), **how)

    return scored


@examples(30, HealthCheck.function_scoped_fixture)
@given(st.permutations(range(12)))
def test_results_in_any_order_are_joined_to_their_rows(scored: Any, order: list[int]) -> None:
    rows = grid()
    report = scored(rows, [result(rows[place]) for place in order])
    assert report.scores["score"].to_list() == [100.0] * 12
    assert report.lines == Lines(12, 12, 0, 0, 0)
    assert report.problems == []


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"context_length": 1500}, "no row has length 1500 and depth 0"),
        ({"target_depth_percent": 33.9}, "no row has length 1000 and depth 33.9"),
        (
            {"prompt_question": "Which code?"},
            "no row has length 1000 and depth 0, its placement",
        ),
        ({"recipe": {"needle_placements": [{"text": "x"}]}}, "no row has length 1000 and depth 0, its placement"),
        ({"recipe": None, "expected_answer": "x"}, "no row has length 1000 and depth 0, its placement"),
    ],
)
def test_an_answer_that_fits_no_row_is_unknown_and_the_reason_is_given(
    scored: Any, change: Record, reason: str
) -> None:
    rows = grid()
    results = [result(one) for one in rows]
    report = scored(rows, [results[0] | change, *results[1:]], missing="zero")
    assert report.lines == Lines(12, 11, 0, 1, 0)
    (problem,) = [one for one in report.problems if one.kind == "unknown"]
    assert reason in problem.message
    assert problem.line == 1
    with pytest.raises(IntegrityError) as caught:
        scored(rows, [one | change for one in results[:1]])
    assert reason in str(caught.value)


def test_results_of_one_system_do_not_answer_the_prompts_of_another(scored: Any) -> None:
    rows = [{**one, "placement": "gkamradt"} for one in grid()]
    with pytest.raises(IntegrityError, match="no row has length 1000 and depth 0, its placement"):
        scored(rows, [result(one) for one in rows])
    hand_made = [{name: value for name, value in one.items() if name != "placement"} for one in rows]
    assert scored(hand_made, [result(one) for one in rows]).lines.used == 12


def test_no_row_is_guessed_if_several_fit(scored: Any) -> None:
    """The rows of a cell hide the same needle in different haystacks, and a result does not say in which."""
    rows = [row(1000, 0.0, 0, id=f"r{place}", prompt_sha256=sha256(bytes([place])).hexdigest()) for place in range(3)]
    with pytest.raises(IntegrityError, match=r"3 rows with length 1000 and depth 0 fit, but hold different prompts"):
        scored(rows, [result(rows[0])])
    unknown = [{name: value for name, value in one.items() if name != "prompt_sha256"} for one in rows]
    with pytest.raises(IntegrityError, match="3 rows with length 1000"):
        scored(unknown, [result(rows[0])])


def test_runs_of_one_prompt_fill_its_repeats_and_further_runs_are_samples(scored: Any) -> None:
    """A needle that no seed changes makes the same prompt at every seed."""
    one = row(1000, 0.0, 0)
    rows = [{**one, "id": f"r{repeat}", "repeat": repeat} for repeat in (1, 0)]
    results = [result(one, seed=seed, response=f"{one['answers'][0]} {seed}") for seed in (30, 10, 20)]
    report = scored(rows, results[1:])
    answers = dict(report.scores.select("id", "prediction").iter_rows())
    assert {name: text.split()[-1] for name, text in answers.items()} == {"r0": "10", "r1": "20"}
    every = scored(rows, results).samples
    assert every is not None
    samples = every.select("id", "sample", "prediction").rows()
    assert [(name, sample, text.split()[-1]) for name, sample, text in samples] == [
        ("r0", 0, "10"), ("r0", 1, "30"), ("r1", 0, "20"),
    ]  # fmt: skip


def test_results_of_several_models_are_refused(scored: Any) -> None:
    rows = grid(1)
    mixed = [result(one, model_id="m" if place % 2 else "other") for place, one in enumerate(rows)]
    with pytest.raises(ScoreError, match=r"several models: 'm' \(.*results.jsonl:2\), 'other' \(.*:1\)"):
        scored(rows, mixed)


def test_results_are_never_joined_to_control_rows(scored: Any) -> None:
    rows = grid(1)
    controls = [{**one, "id": f"{one['id']}-absent", "control": "absent"} for one in rows]
    report = scored([*rows, *controls], [result(one) for one in rows], missing="zero")
    assert report.lines.used == 6
    assert dict(report.scores.select("id", "status").iter_rows())["r-1000-0.0-0-absent"] == "missing"


def test_versions_of_gkamradts_test_are_samples_and_their_needle_must_match(
    scored: Any, write_lines: WriteLines, tmp_path: Path
) -> None:
    needle = "\nEat a sandwich.\n"
    rows = [row(1000, depth, 0, placement="gkamradt", needles=[needle], question="Best?") for depth in DEPTHS]
    results = [
        {
            "model": "m", "context_length": 1000, "depth_percent": depth, "version": version, "needle": needle,
            "model_response": code(1000, 0) if version == 1 else "no", "score": 10,
        }
        for depth in DEPTHS
        for version in (2, 1)
    ]  # fmt: skip
    report = scored(rows, results)
    assert report.scores["score"].to_list() == [50.0] * 3
    other = write_lines("other.jsonl", [{**results[0], "needle": "Another."}])
    with pytest.raises(IntegrityError, match="needles or answer"):
        evaluate(tmp_path / "rows.jsonl", other)


@pytest.mark.parametrize(
    ("answer", "reference", "fits"),
    [("4", "42", False), ("42", "It is 42.", True), ("art", "an art", True), ("art", "artful", False),
     ("北京", "答案是北京。", True), (" ", "42", False)],
)  # fmt: skip
def test_a_row_without_needles_is_identified_by_its_whole_answer(
    scored: Any, answer: str, reference: str, fits: bool
) -> None:
    other, truth = row(1000, 0.0, 0), row(2000, 0.0, 0)
    bare = {**truth, "answers": [answer], "keywords": [], "needles": []}
    results = [result(other), {**result(truth), "expected_answer": reference, "recipe": None}]
    assert scored([other, bare], results, missing="zero").lines == Lines(2, 1 + fits, 0, 1 - fits, 0)
