"""`Judge` scores answers one at a time exactly as `evaluate` scores them together."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st
from made import WriteLines, made
from made_parts import answers_file, control_rows, part_rows, parts_folder
from properties import examples

from niah_score import Judge, evaluate
from niah_score.contract import ContractError
from niah_score.errors import ScoreError


@pytest.mark.slow
def test_single_answers_to_a_dataset_of_parts_are_judged_as_by_evaluate(tmp_path: Path) -> None:
    rows = [*part_rows(), *control_rows()]
    folder = parts_folder(tmp_path / "dataset", rows)
    answers = answers_file(tmp_path / "answers.jsonl", rows)
    report = evaluate(folder, answers, missing="zero", metrics=["edit"])
    judge = Judge(folder, metrics=["edit"])
    replies = {line["id"]: line for line in map(json.loads, answers.read_text("utf-8").splitlines())}
    scores = []
    for row in report.scores.iter_rows(named=True):
        judged = judge(row["id"], replies[row["id"]]["prediction"])
        scores.append((judged.id, judged.score))
        assert (judged.status, judged.finding, judged.score) == (row["status"], row["finding"], row["score"])
        assert judged.metrics["edit"] == row["edit"]
        assert judged.metrics[row["metric"]] == row["score"]
    assert len({score for _, score in scores}) > 2
    assert judge.headline(scores) == pytest.approx(report.overall.mean, abs=1e-9)
    assert judge.headline(reversed(scores)) == judge.headline(scores)


TEXTS = ["", "  ", "It is blue.", "<think>red", "<think>a</think>blue", "42"]
ENDS = st.fixed_dictionaries(
    {
        "prediction": st.sampled_from(TEXTS),
        "finish_reason": st.sampled_from(
            ["stop", "length", "content_filter", "Max_Tokens", "FinishReason.MAX_TOKENS", "abort", "odd"]
        ),
    },
    optional={"reasoning": st.just("Is it?"), "error": st.sampled_from(["HTTP 500", "", "  "])},
)


@given(st.lists(ENDS, min_size=6, max_size=6))
@examples(30, HealthCheck.function_scoped_fixture)
def test_finish_reasons_and_reasoning_are_read_as_in_files(write_lines: WriteLines, ends: list[dict[str, str]]) -> None:
    rows = made(6)
    dataset = write_lines("rows.jsonl", rows)
    lines = [{"id": row["id"], **end} for row, end in zip(rows, ends, strict=True)]
    report = evaluate(dataset, write_lines("answers.jsonl", lines))
    judge = Judge(dataset)
    for line, row in zip(lines, report.scores.iter_rows(named=True), strict=True):
        more = {"finish": line["finish_reason"], "reasoning": line.get("reasoning"), "error": line.get("error")}
        judged = judge(line["id"], line["prediction"], **more)
        assert (judged.status, judged.finding, judged.score) == (row["status"], row["finding"], row["score"])


def test_samples_of_a_row_count_as_their_mean(write_lines: WriteLines) -> None:
    rows = made(4)
    judge = Judge(write_lines("rows.jsonl", rows))
    ids = [row["id"] for row in rows]
    assert judge.headline([(ids[0], 100.0), (ids[0], 0.0), (ids[1], 100.0), (ids[2], None)]) == 75.0
    assert judge.headline([(ids[0], 100.0), (ids[0], math.nan), (ids[1], 50.0), (ids[2], math.nan)]) == 75.0
    assert judge.headline([]) is None
    assert judge.headline([(ids[0], None)]) is None


def test_unknown_ids_unknown_metrics_and_missing_datasets_are_refused(write_lines: WriteLines, tmp_path: Path) -> None:
    rows = made(4)
    judge = Judge(write_lines("rows.jsonl", rows))
    with pytest.raises(ScoreError, match="has no row with the id 'stranger'"):
        judge("stranger", "blue")
    with pytest.raises(ScoreError, match="has no row with the id"):
        judge.headline([("\ud800", 1.0)])
    with pytest.raises(ScoreError, match="has no row with the id 'stranger'"):
        judge.headline([("stranger", 1.0)])
    with pytest.raises(ScoreError, match="keywrd"):
        Judge(write_lines("rows.jsonl", rows), metrics=["keywrd"])
    with pytest.raises((ScoreError, ContractError)):
        Judge(tmp_path / "nowhere")
