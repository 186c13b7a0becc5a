"""`evaluate` from files to report: scores, statuses, samples, problems, and every row and line accounted for."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from made import WriteLines, made, right

from niah_score import evaluation
from niah_score.errors import ScoreError
from niah_score.evaluation import evaluate
from niah_score.formats.plain import ID_FIELDS, TEXT_FIELDS
from niah_score.join.join import Lines
from niah_score.report.compare import compare
from niah_score.report.read import read
from niah_score.report.write import write

# Rows without an answer ---------------------------------------------------------------------------------------------


def test_missing_answers_stop_the_run_unless_told_how_to_count_them(write_lines: WriteLines) -> None:
    rows = made(10)
    dataset, answers = write_lines("rows.jsonl", rows), write_lines("answers.jsonl", right(rows)[:7])
    with pytest.raises(ScoreError, match=r"3 of 10 rows have no answer \(row-007, row-008, row-009\)"):
        evaluate(dataset, answers)
    zero = evaluate(dataset, answers, missing="zero")
    assert zero.scores["score"].to_list() == [100.0] * 7 + [0.0] * 3
    assert zero.statuses["missing"] == 3
    excluded = evaluate(dataset, answers, missing="exclude")
    assert excluded.scores["score"].to_list() == [100.0] * 7 + [None] * 3
    assert excluded.statuses["missing"] == 3
    assert excluded.scores.height == 10
    signature = excluded.signatures["keyword"]
    assert re.fullmatch(r"niah\|ds:\w{8}\|metric:keyword/strict\|text:extracted\|missing:exclude\|n:7\|v:.*", signature)


def test_a_score_says_that_tools_were_given_wherever_it_is_shown(write_lines: WriteLines, tmp_path: Path) -> None:
    rows = made(4)
    dataset, answers = write_lines("rows.jsonl", rows), right(rows)
    plain = write_lines("plain.jsonl", answers)
    given: dict[str, list[dict[str, Any]]] = {
        "named": [*answers[:3], {**answers[3], "tools": ["read_file"]}],
        "flag": [{**answer, "tools": True} for answer in answers],
    }
    runs = {name: evaluate(dataset, write_lines(f"{name}.jsonl", lines), model="m") for name, lines in given.items()}
    table = tmp_path / "table.csv"
    table.write_text("id,prediction,tools\n" + "".join(f"{a['id']},{a['prediction']},bash\n" for a in answers), "utf-8")
    pl.read_csv(table).write_parquet(tmp_path / "table.parquet")
    runs |= {
        "csv": evaluate(dataset, table, model="m"),
        "parquet": evaluate(dataset, tmp_path / "table.parquet", model="m"),
    }
    runs["said"] = evaluate(dataset, plain, model="m", tools=True)
    for name, report in runs.items():
        assert (report.model, report.summary["tools"]) == ("m with tools", True), name
        assert all("|tools:given|missing:" in signature for signature in report.signatures.values()), name
        assert any("no score of what it reads in its own context" in line for line in report.overview()), name
        assert list(report.scores["score"]) == [100.0] * 4
    back = read(write(runs["said"], tmp_path / "scores"))
    assert (back.tools, back.summary) == (True, runs["said"].summary)
    without = {"none": answers, "null": [{**answers[0], "tools": None}, *answers[1:]],
               "empty": [{**answer, "tools": []} for answer in answers]}  # fmt: skip
    for name, lines in without.items():
        report = evaluate(dataset, write_lines(f"{name}.jsonl", lines), model="m")
        assert (report.model, "tools" in report.summary, report.tools) == ("m", False, False), name
    assert "measured differently" in "\n".join(compare(runs["said"], evaluate(dataset, plain, model="m")).lines("text"))


def test_an_error_about_missing_answers_shows_the_first_unusable_line(write_lines: WriteLines) -> None:
    rows = made(1008)
    answers = write_lines("answers.jsonl", [{"id": row["id"], "prediction": 417} for row in rows])
    with pytest.raises(ScoreError) as caught:
        evaluate(write_lines("rows.jsonl", rows), answers)
    message = str(caught.value)
    assert message.startswith("1,008 of 1,008 rows have no answer (row-000, row-001, row-002, ...); ")
    first = f"{answers}:1: the answer is not text: prediction is 417"
    assert f"; 1,008 lines read, 1,008 malformed, the first: {first}" in message
    for field in (*ID_FIELDS, *TEXT_FIELDS):
        assert field in message
    strangers = [{"id": f"stranger-{number}", "prediction": "x"} for number in range(5)]
    with pytest.raises(
        ScoreError, match=r"1,003 of 1,008 .*; 10 lines read, 5 unknown, the first: .*:6: no row has the"
    ):
        evaluate(write_lines("rows.jsonl", rows), write_lines("answers.jsonl", [*right(rows)[:5], *strangers]))


def test_a_file_without_answers_among_others_is_only_noted(write_lines: WriteLines, tmp_path: Path) -> None:
    rows = made(3)
    dataset = write_lines("rows.jsonl", rows)
    folder = tmp_path / "run"
    folder.mkdir()
    write_lines("run/answers.jsonl", right(rows))
    write_lines("run/errors.jsonl", [])
    write_lines("run/requests.jsonl", [{"custom_id": row["id"], "method": "POST", "body": {}} for row in rows])
    (folder / "results.json").write_text(json.dumps({"results": {"niah": {"keyword": 1.0}}}, indent=2))
    for named in ([folder], [str(folder / "*")], sorted(folder.iterdir())):
        report = evaluate(dataset, named)
        assert (report.exit_code, report.lines) == (0, Lines(3, 3, 0, 0, 0))
        assert [(one.kind, Path(one.file).name, one.line, one.id) for one in report.problems] == [
            ("no_answers", name, None, None) for name in ("errors.jsonl", "requests.jsonl", "results.json")
        ]
        assert str(report.problems[0]).startswith(f"{folder}/errors.jsonl: left out: no predictions in it")
    with pytest.raises(ScoreError, match=r"errors.jsonl: no predictions in it"):
        evaluate(dataset, folder / "errors.jsonl")
    (folder / "answers.jsonl").unlink()
    with pytest.raises(ScoreError, match="none of 3 files holds an answer") as caught:
        evaluate(dataset, folder, missing="zero")
    assert len(str(caught.value).splitlines()) == 4


# Samples ------------------------------------------------------------------------------------------------------------


def test_samples_count_as_their_mean_their_best_or_their_majority(write_lines: WriteLines) -> None:
    rows = made(2)
    dataset = write_lines("rows.jsonl", rows)
    texts = ["Blue.", "It is word000.", "blue ."]
    answers = [{"id": "row-000", "prediction": text} for text in texts] + right(rows)[1:]
    file = write_lines("answers.jsonl", answers)
    mean = evaluate(dataset, file, samples="mean")
    assert mean.scores["score"].to_list() == pytest.approx([100 / 3, 100.0])
    assert mean.scores["samples"].to_list() == [3, 1]
    assert mean.samples is not None
    assert mean.samples["sample"].to_list() == [0, 1, 2, 0]
    assert mean.lines == Lines(read=4, used=4, duplicate=0, unknown=0, malformed=0)
    assert evaluate(dataset, file, samples="best").scores["score"].to_list() == [100.0, 100.0]
    majority = evaluate(
        dataset, write_lines("more.jsonl", [*answers, {"id": "row-000", "prediction": "BLUE."}]), samples="majority"
    )
    assert majority.scores["score"].to_list() == [0.0, 100.0]
    assert majority.scores["prediction"].to_list()[0] == "Blue."


# Arguments ----------------------------------------------------------------------------------------------------------


def test_wrong_arguments_are_refused_with_advice(write_lines: WriteLines) -> None:
    dataset, answers = write_lines("rows.jsonl", made(2)), write_lines("answers.jsonl", right(made(2)))
    for name, value, message in (
        ("missing", "ignore", "missing: 'ignore' is unknown; expected one of error, zero, exclude"),
        ("on_duplicate", "frist", "did you mean 'first'"), ("samples", "all", "samples: 'all' is unknown"),
        ("text", "rwa", "did you mean 'raw'"),
        ("metrics", ["keywrod"], "metric 'keywrod' is unknown; did you mean 'keyword'"),
    ):  # fmt: skip
        with pytest.raises(ScoreError, match=message):
            evaluate(dataset, answers, **{name: value})  # type: ignore[arg-type]


def test_compat_metrics_judge_the_raw_answer_and_strict_ones_the_extracted_text(write_lines: WriteLines) -> None:
    rows = made(1)
    dataset = write_lines("rows.jsonl", rows)
    answers = write_lines(
        "answers.jsonl", [{"id": "row-000", "prediction": "<think>It is word999.</think>It is word000."}]
    )
    own, raw, extracted = (evaluate(dataset, answers, text=text) for text in ("own", "raw", "extracted"))
    assert (own.scores["exact"][0], own.scores["cdme"][0]) == (100.0, raw.scores["cdme"][0])
    assert own.scores["cdme"][0] < 50
    assert raw.scores["exact"][0] == 0.0
    assert (extracted.scores["exact"][0], extracted.scores["cdme"][0]) == (100.0, 100.0)
    assert "text:raw" in own.signatures["cdme"]
    assert "text:extracted" in extracted.signatures["cdme"]


@pytest.mark.skipif(sys.platform != "linux", reason="other systems do not let such file names exist")
def test_names_that_are_not_utf_8_are_written_with_replacement_characters(tmp_path: Path) -> None:
    """The bytes of a name in another encoding reach a program as halves of surrogate pairs."""
    rows, answers = tmp_path / "r\udce9.jsonl", tmp_path / "p\udce9.jsonl"
    rows.write_text(json.dumps({"id": "a", "answers": ["x"], "keywords": ["x"]}) + "\n")
    answers.write_text(json.dumps({"id": "a", "prediction": "x"}) + "\nnot JSON\n")
    for model in ("m\udce9", None):
        report = evaluate(rows, answers, model=model)
        write(report, tmp_path / f"out-{model is None}")
        assert report.model == ("p\ufffd" if model is None else "m\ufffd")
        assert report.dataset == "r\ufffd"
        assert [problem.file for problem in report.problems] == [str(answers).replace("\udce9", "\ufffd")]


@pytest.mark.slow
def test_the_headline_says_what_chance_is_worth_if_all_rows_that_count_say_so(write_lines: WriteLines) -> None:
    rows: list[dict[str, Any]] = [
        {"id": "a", "answers": ["yes"], "keywords": [["yes"]], "chance": 50.0},
        {"id": "b", "answers": ["yes"], "keywords": [["yes"]], "chance": 25.0},
        {"id": "c", "answers": ["yes"], "keywords": [["yes"]], "control": "absent"},
    ]
    answers = write_lines("answers.jsonl", [{"id": row["id"], "prediction": "yes"} for row in rows])
    report = evaluate(write_lines("rows.jsonl", rows), answers, metrics=["keyword"])
    assert report.summary["headline"]["chance"] == 37.5
    assert any(line.startswith("chance 37.5: the best answer that ignores the question") for line in report.overview())
    del rows[0]["chance"]
    assert "chance" not in evaluate(write_lines("rows.jsonl", rows), answers).summary["headline"]


@pytest.mark.slow
def test_several_processes_produce_the_same_report(write_lines: WriteLines, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = made(40)
    rows[30]["metric"] = "ruler_all"
    dataset, answers = write_lines("rows.jsonl", rows), write_lines("answers.jsonl", right(rows))
    alone = evaluate(dataset, answers)
    for most, size in (("_CHUNK_ROWS", 9), ("_CHUNK_BYTES", 300)):
        monkeypatch.setattr(evaluation, most, size)
    together = evaluate(dataset, answers, jobs=2)
    assert together.scores.equals(alone.scores)
    assert together.lines == alone.lines


def test_an_answer_too_long_to_be_judged_whole_is_a_problem(write_lines: WriteLines) -> None:
    rows = write_lines("rows.jsonl", [{"id": "a", "answers": ["blue"], "keywords": [["blue"]]}])
    report = evaluate(rows, write_lines("a.jsonl", [{"id": "a", "prediction": "x " * 140_000 + "blue"}]))
    assert [(one.kind, one.message) for one in report.problems] == [
        ("capped", "answers longer than 262,144 characters, of which only the last part is judged: 1")
    ]
    assert report.scores["keyword"].to_list() == [100]
