"""The command niah-score as people call it: files in, tables out, exit codes as documented."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from commands import invoke
from made import CONTRACT, ROOT, WriteLines, made, right

from niah_score.cli.main import app

EXECUTABLE = Path(sys.executable).with_name("niah-score")
TABLES = {
    "scores.parquet", "summary.json", "summary.csv", "cells.csv", "opencompass_summary.csv", "problems.jsonl",
    "heatmap.png", "heatmap.svg", "report.html",
}  # fmt: skip


def run(*arguments: object) -> subprocess.CompletedProcess[str]:
    return invoke(app, *arguments)


def installed(*arguments: object, **more: Any) -> subprocess.CompletedProcess[str]:
    """The command in a process of its own."""
    return subprocess.run([EXECUTABLE, *map(str, arguments)], capture_output=True, text=True, check=False, **more)


def contract_answers() -> list[dict[str, Any]]:
    """The reference answer to every row of the contract dataset."""
    files = sorted((CONTRACT / "jsonl").rglob("*.jsonl"))
    rows = [json.loads(line) for file in files for line in file.read_text("utf-8").splitlines()]
    return [{"id": row["id"], "prediction": row["answers"][0]} for row in rows]


def test_one_command_scores_and_its_last_line_is_the_folder(write_lines: WriteLines, tmp_path: Path) -> None:
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


def test_scoring_again_gives_the_same_bytes_whatever_the_order_and_the_processes(
    write_lines: WriteLines, tmp_path: Path
) -> None:
    answers = contract_answers()
    one, other = tmp_path / "one", tmp_path / "other"
    installed("score", CONTRACT, write_lines("a.jsonl", answers), "--model", "m", "--out", one, "--jobs", 1)
    environment = {**os.environ, "PYTHONHASHSEED": "7", "TZ": "Asia/Shanghai", "LC_ALL": "C"}
    installed(
        "score", CONTRACT, write_lines("b.jsonl", answers[::-1]), "--model", "m", "--out", other, "--jobs", 2,
        env=environment, cwd=tmp_path,
    )  # fmt: skip
    for name in TABLES:
        assert (one / name).read_bytes() == (other / name).read_bytes(), name


def test_a_folder_with_scores_is_left_alone_unless_it_may_be_replaced(write_lines: WriteLines, tmp_path: Path) -> None:
    answers = write_lines("a.jsonl", contract_answers())
    (tmp_path / "note.txt").write_text("mine")
    assert run("score", CONTRACT, answers, "--out", tmp_path).returncode == 0
    before = (tmp_path / "summary.json").read_bytes()
    again = run("score", CONTRACT, answers, "--out", tmp_path, "--model", "other")
    assert again.returncode == 2
    assert "holds scores already" in again.stderr
    assert (tmp_path / "summary.json").read_bytes() == before
    assert run("score", CONTRACT, answers, "--out", tmp_path, "--model", "other", "--overwrite").returncode == 0
    assert json.loads((tmp_path / "summary.json").read_bytes())["model"] == "other"
    assert (tmp_path / "note.txt").read_text() == "mine"


@pytest.mark.parametrize(
    ("change", "flags", "code", "said"),
    [
        (lambda a: a[1:], [], 2, "1 of 9 rows have no answer"),
        (lambda a: a[1:], ["--missing", "zero"], 0, "missing 1"),
        (lambda a: [*a, {"id": "x", "prediction": "y"}], [], 3, "unknown 1"),
        (lambda a: [*a, {"id": "x", "prediction": 5}], [], 3, "malformed 1"),
        (lambda a: [*a, a[0]], [], 2, "is answered again"),
        (lambda a: [*a, a[0]], ["--on-duplicate", "last"], 0, "duplicate 1"),
        (lambda a: [{"id": "0badc0de-x", "prediction": "y"}], [], 4, "none of 1 answers belongs"),
        (lambda a: a, ["--metric", "bleu"], 2, "'bleu' is unknown"),
        (lambda a: a, ["--think-tag", "<x>"], 2, "expected OPEN,CLOSE"),
    ],
)
def test_exit_codes_tell_what_became_of_the_inputs(
    change: Any, flags: list[str], code: int, said: str, write_lines: WriteLines, tmp_path: Path
) -> None:
    file = write_lines("answers.jsonl", change(contract_answers()))
    done = run("score", CONTRACT, file, "--out", tmp_path / "out", *flags)
    assert (done.returncode, said in done.stderr) == (code, True), done.stderr
    assert "Traceback" not in done.stderr


def test_what_would_act_on_a_terminal_or_a_spreadsheet_is_written_out(write_lines: WriteLines, tmp_path: Path) -> None:
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


def test_problems_are_listed_with_file_and_line(write_lines: WriteLines, tmp_path: Path) -> None:
    rows = made(3)
    answers = [*right(rows)[:2], {"id": "nobody", "prediction": "x"}, {"id": "row-002", "prediction": True}]
    file = write_lines("answers.jsonl", answers)
    done = run("score", write_lines("rows.jsonl", rows), file, "--out", tmp_path / "out", "--missing", "zero")
    assert done.returncode == 3
    problems = [json.loads(line) for line in (tmp_path / "out" / "problems.jsonl").read_text().splitlines()]
    assert [(p["kind"], p["line"], p["id"]) for p in problems] == [
        ("malformed", 4, None), ("unknown", 3, "nobody"), ("missing", None, "row-002"),
    ]  # fmt: skip
    assert f"{file}:3: no row has the id 'nobody'" in done.stderr


def test_the_scorer_alone_with_its_base_dependencies_scores_the_contract_dataset(
    write_lines: WriteLines, tmp_path: Path
) -> None:
    """niah_score copied away from the project, with site-packages but without what is only the generator's."""
    shutil.copytree(ROOT / "niah_score", tmp_path / "alone" / "niah_score")
    code = """
import sys
sys.path[:0] = [sys.argv[1], sys.argv[2]]
class Wall:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in "niah_gen tiktoken jieba datasets tokenizers filelock tomli_w regex".split():
            raise ModuleNotFoundError(f"{name} is not a dependency of the scorer", name=name)
sys.meta_path.insert(0, Wall())
import niah_score
assert niah_score.__file__.startswith(sys.argv[1]), niah_score.__file__
from niah_score.cli.main import app
app(sys.argv[3:])
"""
    packages = sysconfig.get_paths()["purelib"]
    file = write_lines("answers.jsonl", contract_answers())
    out = tmp_path / "out"
    # -S: no .pth file brings the project back.
    done = subprocess.run(
        [sys.executable, "-S", "-P", "-c", code, tmp_path / "alone", packages, "score", CONTRACT, file, "--out", out],
        capture_output=True, text=True, check=False, cwd=tmp_path,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert json.loads((out / "summary.json").read_bytes())["metrics"]["keyword"]["overall"]["mean"] == 100.0


def test_importing_the_scorer_loads_nothing_of_the_generator() -> None:
    code = (
        "import sys, niah_score, niah_score.cli.main, niah_score.evaluation, niah_score.metrics, niah_score.formats;"
        "print([m for m in ('niah_gen', 'tiktoken', 'jieba', 'datasets', 'polars', 'pyarrow') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_comparing_marks_noise_and_fails_on_a_drop_when_asked_to(write_lines: WriteLines, tmp_path: Path) -> None:
    rows = made(60)
    dataset = write_lines("rows.jsonl", rows)
    good, same, bad = right(rows), right(rows), right(rows)
    same[0]["prediction"] = "no"
    for answer in bad[:30]:
        answer["prediction"] = "no"
    for name, answers in (("good", good), ("same", same), ("bad", bad)):
        run("score", dataset, write_lines(f"{name}.jsonl", answers), "--out", tmp_path / name)
    done = run("compare", tmp_path / "good", tmp_path / "same", tmp_path / "bad")
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    noise, fall = lines[lines.index("same - good") + 1], lines[lines.index("bad - good") + 1]
    assert noise.split()[:2] == ["all", "-1.67"]
    assert noise.endswith("noise")
    assert fall.split()[:2] == ["all", "-50.00"]
    assert not fall.endswith("noise")
    assert run("compare", tmp_path / "good", tmp_path / "same", "--fail-if-drop", 5).returncode == 0
    failed = run("compare", tmp_path / "good", tmp_path / "bad", "--fail-if-drop", 5)
    assert failed.returncode == 3
    assert "bad" in failed.stderr
    assert run("compare", tmp_path / "good").returncode == 2
    assert run("compare", tmp_path / "good", tmp_path / "nothing").returncode == 2


def test_a_judge_is_asked_and_its_verdicts_become_a_metric(write_lines: WriteLines, tmp_path: Path) -> None:
    rows = [{**row, "question": "Which word?"} for row in made(3)]
    dataset, scores, out = write_lines("rows.jsonl", rows), tmp_path / "scores", tmp_path / "judged"
    run("score", dataset, write_lines("a.jsonl", right(rows)[:2]), "--missing", "zero", "--out", scores)
    asked = run("judge", "export", dataset, scores, "--model", "judge", "--out", tmp_path / "requests")
    assert asked.stdout == f"{tmp_path / 'requests' / 'judge-gkamradt-00000.jsonl'}  2 requests\n"
    verdicts = write_lines(
        "v.jsonl", [{"id": f"row-00{k}", "prediction": f"Rating: [[{k * 9 + 1}]]"} for k in range(2)]
    )
    done = run("judge", "import", dataset, scores, verdicts, "--out", out)
    assert done.returncode == 0, done.stderr  # that an answer is missing was allowed when it was scored
    assert pl.read_parquet(out / "scores.parquet")["judge"].to_list() == [10.0, 100.0, 0.0]
    assert json.loads((out / "summary.json").read_bytes())["signatures"]["judge"].startswith("niah|ds:")


def test_formats_are_listed_with_an_example_line_of_each() -> None:
    from niah_score.formats import FORMATS

    listed = run("formats").stdout
    for form in FORMATS.values():
        assert f"{form.name}: {form.what}" in listed
        assert form.example in listed


def test_help_names_every_command_and_the_version_is_printed() -> None:
    listed = run("--help").stdout
    for name in ("score", "compare", "formats", "judge"):
        assert f"\n  {name} " in listed
        assert run(name, "--help").returncode == 0
    assert run("--version").stdout.startswith("niah-score ")
