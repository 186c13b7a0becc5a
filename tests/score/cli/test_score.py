"""The command `niah-score score` as users run it: files in, tables out, exit codes as documented."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from made import CONTRACT, ROOT, WriteLines, made, right
from made_commands import contract_answers, installed, run

from niah_score.report.write import hold_scores

TABLES = {
    "scores.parquet", "summary.json", "summary.csv", "cells.csv", "opencompass_summary.csv", "problems.jsonl",
    "heatmap.png", "heatmap.svg", "report.html",
}  # fmt: skip


@pytest.mark.slow
def test_one_command_scores_and_prints_the_folder(write_lines: WriteLines, tmp_path: Path) -> None:
    done = installed("score", CONTRACT, write_lines("gpt.jsonl", contract_answers()), "--out", tmp_path / "out")
    assert (done.returncode, done.stdout) == (0, f"{tmp_path / 'out'}\n")
    assert {path.name for path in (tmp_path / "out").iterdir()} == TABLES
    summary = json.loads((tmp_path / "out" / "summary.json").read_bytes())
    assert summary["model"] == "gpt"
    assert summary["dataset"]["name"] == "contract"
    assert summary["metrics"]["score"]["overall"]["mean"] == 100.0
    scores = pl.read_parquet(tmp_path / "out" / "scores.parquet")
    assert scores["id"].is_sorted()
    assert scores["score"].to_list() == [100.0] * scores.height
    assert "lines read 9 = used 9 + duplicate 0 + unknown 0 + malformed 0" in done.stderr
    assert "rows 9 = ok 9 + missing 0" in done.stderr


@pytest.mark.slow
def test_scoring_again_writes_the_same_bytes_in_any_order_and_environment(
    write_lines: WriteLines, tmp_path: Path
) -> None:
    answers = contract_answers()
    one, other = tmp_path / "one", tmp_path / "other"
    installed("score", CONTRACT, write_lines("a.jsonl", answers), "--model", "m", "--out", one)
    environment = {**os.environ, "PYTHONHASHSEED": "7", "TZ": "Asia/Shanghai", "LC_ALL": "C"}
    installed(
        "score", CONTRACT, write_lines("b.jsonl", answers[::-1]), "--model", "m", "--out", other,
        env=environment, cwd=tmp_path,
    )  # fmt: skip
    for name in TABLES:
        assert (one / name).read_bytes() == (other / name).read_bytes(), name


def test_exit_codes_and_messages_report_problems_with_the_inputs(write_lines: WriteLines, tmp_path: Path) -> None:
    a = contract_answers()
    cases: list[tuple[list[dict[str, Any]], list[str], int, str]] = [
        (a[1:], [], 2, "1 of 9 rows have no answer"),
        (a[1:], ["--missing", "zero"], 0, "missing 1"),
        ([*a, {"id": "x", "prediction": "y"}, {"id": "x", "prediction": 5}], [], 3, "unknown 1 + malformed 1"),
        ([*a, a[0]], [], 2, "is answered again"),
        ([*a, a[0]], ["--on-duplicate", "last"], 0, "duplicate 1"),
        ([{"id": a[0]["id"], "error": "overloaded"}, *a], ["--tools"], 0, "duplicate 1"),
        ([{**a[0], "prompt": "cut"}, *a[1:]], [], 3, "was given to another prompt"),
        ([{"id": "0badc0de-x", "prediction": "y"}], [], 4, "no row has the id '0badc0de-x'"),
        (a, ["--metric", "bleu"], 2, "'bleu' is unknown"),
        (a, ["--think-tag", "<x>"], 2, "expected OPEN,CLOSE"),
    ]
    for number, (answers, flags, code, message) in enumerate(cases):
        file = write_lines(f"{number}.jsonl", answers)
        done = run("score", CONTRACT, file, "--out", tmp_path / f"out-{number}", *flags)
        assert (done.returncode, message in done.stderr) == (code, True), done.stderr
        assert "Traceback" not in done.stderr


def test_terminal_control_characters_and_spreadsheet_formulas_are_escaped(
    write_lines: WriteLines, tmp_path: Path
) -> None:
    rows = made(2)
    rows[0]["needle_id"] = "=HYPERLINK(1)"
    rows[1]["needle_id"] = "+1"
    strange = {"id": "\x1b]0;pwned\x07\u202e", "prediction": "x"}
    file = write_lines("answers.jsonl", [*right(rows), strange])
    done = run("score", write_lines("rows.jsonl", rows), file, "--out", tmp_path / "out", "--model", "=cmd|' /C'!A0")
    assert done.returncode == 3
    assert not {"\x1b", "\x07", "\u202e"} & set(done.stderr + done.stdout)
    assert "\\x1b]0;pwned\\x07" in done.stderr
    for table in ("summary.csv", "cells.csv", "opencompass_summary.csv"):
        for line in (tmp_path / "out" / table).read_text("utf-8").splitlines():
            assert not any(cell.startswith(("=", "+", "@")) for cell in line.split(",")), line


def test_the_first_line_is_the_score_and_signatures_are_shown_on_request(
    write_lines: WriteLines, tmp_path: Path
) -> None:
    answers = write_lines("a.jsonl", contract_answers())
    quiet, loud = (
        run("score", CONTRACT, answers, "--out", tmp_path / f"out{len(flags)}", "--model", "meta/模型", *flags).stderr
        for flags in ((), ("--verbose",))
    )
    assert quiet.startswith("score 100.00  95 % interval [")
    assert quiet.splitlines()[1].startswith("meta/模型 on contract ")
    signatures = json.loads((tmp_path / "out1" / "summary.json").read_bytes())["signatures"]
    assert (quiet.count("niah|ds:"), loud.count("niah|ds:")) == (0, len(signatures))


def test_the_documentation_shows_what_is_printed(write_lines: WriteLines, tmp_path: Path) -> None:
    def shape(text: str) -> str:
        """The text without its numbers, which depend on the rows below, and without their padding."""
        return re.sub(r" +", " ", re.sub(r"\b[0-9a-f]{8}\b|\d[\d,.]*", "#", text))

    rows = [{**row, "part": "chains" if number % 4 else "retrieval"} for number, row in enumerate(made(36))]
    answers = right(rows)
    for answer in answers[::5]:
        answer["prediction"] = "I do not know."
    answers[7]["prediction"] = ""
    sorry = "I'm sorry, but I can't assist with that."
    for control, reply, fourth in (("absent", sorry, "It is word007."), ("no_context", "Something else.", "word000")):
        twins = [{**row, "id": f"{row['id']}-{control}", "control": control} for row in rows[:12]]
        rows += twins
        answers += [{"id": row["id"], "prediction": reply if k % 4 else fourth} for k, row in enumerate(twins)]
    files = write_lines("made.jsonl", rows), write_lines("answers.jsonl", answers)
    printed = run("score", *files, "--model", "my-model", "--out", tmp_path / "out").stderr
    page = (ROOT / "docs" / "scoring.md").read_text("utf-8")
    shown = page.partition("## What is printed")[2].partition("```text\n")[2].partition("```")[0]
    assert shape(shown) == shape(printed), printed


def test_rows_of_an_unknown_metric_and_other_problems_are_listed_with_file_and_line(
    write_lines: WriteLines, tmp_path: Path
) -> None:
    rows = made(4)
    for row, metric in zip(rows, ("keyword", "keywrod", "keywrod", ""), strict=True):
        row["metric"] = metric
    answers = [*right(rows)[:2], {"id": "nobody", "prediction": "x"}, {"id": "row-002", "prediction": True}]
    file = write_lines("answers.jsonl", answers)
    done = run("score", write_lines("rows.jsonl", rows), file, "--out", tmp_path / "out", "--missing", "zero")
    assert done.returncode == 3
    assert "unknown_metric: 1 row has no score: metric '' is unknown; expected one of correct, " in done.stderr
    assert "2 rows have no score: metric 'keywrod' is unknown; did you mean 'keyword'" in done.stderr
    assert f"{file}:3: no row has the id 'nobody'" in done.stderr
    problems = [json.loads(line) for line in (tmp_path / "out" / "problems.jsonl").read_text("utf-8").splitlines()]
    found = {(problem["kind"], problem["line"], problem["id"]) for problem in problems}
    assert found >= {("malformed", 4, None), ("unknown", 3, "nobody"), ("missing", None, "row-002")}
    assert json.loads((tmp_path / "out" / "summary.json").read_bytes())["metrics"]["score"]["overall"]["n"] == 1


def test_a_refused_run_creates_no_folder_and_keeps_the_old_scores(write_lines: WriteLines, tmp_path: Path) -> None:
    answers = contract_answers()
    some, every = write_lines("some.jsonl", answers[1:]), write_lines("all.jsonl", answers)
    out = tmp_path / "below" / "out"
    assert run("score", CONTRACT, some, "--out", out).returncode == 2
    assert not out.parent.exists()
    assert run("score", CONTRACT, every, "--out", out).returncode == 0
    (out / "note.txt").write_text("mine")
    assert run("score", CONTRACT, every, "--out", out, "--overwrite").returncode == 0
    before = {path.name: path.read_bytes() for path in out.iterdir()}
    assert run("score", CONTRACT, some, "--out", out, "--overwrite").returncode == 2
    assert {path.name: path.read_bytes() for path in out.iterdir()} == before
    with hold_scores(out, overwrite=True):
        busy = run("score", CONTRACT, every, "--out", out, "--overwrite")
    assert (busy.returncode, "is held by another process; wait for it to end" in busy.stderr) == (11, True)
    # If the scores may not be replaced, nothing is read.
    done = run("score", CONTRACT, tmp_path / "nothing.jsonl", "--out", out)
    assert (done.returncode, "already holds scores" in done.stderr) == (2, True)


def test_every_command_refuses_a_mix_of_two_runs(write_lines: WriteLines, tmp_path: Path) -> None:
    one, other = tmp_path / "one", tmp_path / "other"
    wrong = [{**answer, "prediction": "no"} for answer in contract_answers()]
    run("score", CONTRACT, write_lines("a.jsonl", contract_answers()), "--out", one)
    run("score", CONTRACT, write_lines("b.jsonl", wrong), "--out", other)
    (one / "scores.parquet").write_bytes((other / "scores.parquet").read_bytes())
    for command in (
        ["compare", other, one],
        ["report", one],
        ["plot", one, "--out", tmp_path / "pictures"],
        ["judge", "export", CONTRACT, one, "--model", "m", "--out", tmp_path / "requests"],
        ["judge", "import", CONTRACT, one, tmp_path / "b.jsonl", "--out", tmp_path / "judged"],
    ):
        done = run(*command)
        assert (done.returncode, "score again with --overwrite" in done.stderr) == (4, True), (command, done.stderr)
    (one / "summary.json").unlink()
    for command in (["compare", other, one], ["plot", one, "--out", tmp_path / "pictures"]):
        done = run(*command)
        assert (done.returncode, "may be of two runs" in done.stderr) == (4, True), (command, done.stderr)
    assert {path.name for path in tmp_path.iterdir()} == {"one", "other", "a.jsonl", "b.jsonl"}
