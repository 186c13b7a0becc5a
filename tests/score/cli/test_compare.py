"""The command `niah-score compare` as users run it: tables out, noise marked, exit codes as documented."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest
from made import WriteLines, made, right
from made_commands import run
from made_comparisons import TABLES, pictures
from made_runs import reports

from niah_score.report.write import write


@pytest.mark.slow
def test_comparing_marks_noise_and_fails_on_a_drop_when_asked_to(write_lines: WriteLines, tmp_path: Path) -> None:
    rows = made(60)
    dataset = write_lines("rows.jsonl", rows)
    good, same, bad = right(rows), right(rows), right(rows)
    same[0]["prediction"] = "no"
    for answer in bad[:30]:
        answer["prediction"] = "no"
    odd = [{**answer, "prediction": "no"} if number % 4 == 0 else answer for number, answer in enumerate(right(rows))]
    for name, answers in (("good", good), ("same", same), ("bad", bad), ("odd", odd)):
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
    assert failed.returncode == 6
    assert (
        "bad: score is 50.00, 50.00 points below the 100.00 of good; at most 5 are allowed; the 95 % " in failed.stderr
    )
    chance = run("compare", tmp_path / "good", tmp_path / "odd", "--fail-if-drop", 5)
    assert chance.returncode == 0
    assert (
        "odd: score is 75.00, 25.00 points below the 100.00 of good; at most 5 are allowed, but this is within noise"
        in (chance.stderr)
    )
    both = run("compare", tmp_path / "good", tmp_path / "odd", tmp_path / "bad", "--fail-if-drop", 5)
    assert both.returncode == 6
    assert both.stderr.index("bad: ") < both.stderr.index("odd: ")
    assert run("compare", tmp_path / "good").returncode == 2
    assert run("compare", tmp_path / "good", tmp_path / "nothing").returncode == 2


@pytest.fixture(scope="module")
def scored(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Folders of scores as `niah-score score` writes them."""
    root = tmp_path_factory.mktemp("scores")
    return [write(report, root / name) for name, report in reports()]


@pytest.mark.slow
def test_the_command_prints_the_table_and_writes_the_folder(scored: list[Path], tmp_path: Path) -> None:
    done = run("compare", *scored, "--format", "markdown", "--out", tmp_path / "out", "--palette", "colourblind")
    assert (done.returncode, done.stderr) == (0, f"{tmp_path / 'out'}\n")
    assert (tmp_path / "out" / "comparison.md").read_text("utf-8").startswith(done.stdout)
    assert {path.name for path in (tmp_path / "out").iterdir()} == (
        TABLES | pictures("heatmaps", "difference-1", "difference-2")
    )
    again = run("compare", *scored, "--out", tmp_path / "out")
    assert again.returncode == 2
    assert "already holds a comparison" in again.stderr
    assert again.stdout == ""
    latex = run("compare", *scored[:2], "--format", "latex", "--out", tmp_path / "out", "--overwrite")
    assert latex.returncode == 0
    assert (tmp_path / "out" / "comparison.tex").read_text("utf-8") == latex.stdout
    assert not (tmp_path / "out" / "difference-2.png").exists()


def test_exit_codes_say_how_a_comparison_ended(scored: list[Path], tmp_path: Path) -> None:
    assert run("compare", scored[0], scored[2], "--fail-if-drop", 5).returncode == 6
    assert run("compare", scored[0], scored[1], "--fail-if-drop", 5).returncode == 0
    assert run("compare", *scored, "--format", "html").returncode == 2
    assert run("compare", *scored, "--metric", "bleu").returncode == 2
    assert run("compare", scored[0], scored[0]).returncode == 2
    report = reports()[0][1]
    strange = replace(report, digest8="0badc0de", table=report.scores.with_columns(id="x" + pl.col("id")))
    done = run("compare", scored[0], write(strange, tmp_path / "strange"))
    assert done.returncode == 4
    assert "made-0badc0de" in done.stderr
