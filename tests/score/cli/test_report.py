"""The command `niah-score report` as users run it: the page is rebuilt from a folder of scores."""

from __future__ import annotations

from pathlib import Path

import pytest
from made import CONTRACT, WriteLines
from made_commands import run
from made_pages import large

import niah_score
from niah_score.report.write import write

pytestmark = pytest.mark.slow


def test_the_command_rebuilds_the_page_and_refuses_another_dataset(write_lines: WriteLines, tmp_path: Path) -> None:
    rows, answers = large(30)
    dataset = write_lines("r.jsonl", rows)
    report = niah_score.evaluate(dataset, write_lines("a.jsonl", answers), missing="zero")
    out = write(report, tmp_path / "out")
    first = (out / "report.html").read_bytes()

    (out / "report.html").unlink()
    done = run("report", out, "--dataset", dataset)
    assert (done.returncode, done.stdout) == (0, f"{out / 'report.html'}\n")
    assert (out / "report.html").read_bytes() == first
    done = run("report", out, "--dataset", CONTRACT)
    assert (done.returncode, "name the dataset that was scored" in done.stderr) == (4, True)
    assert (out / "report.html").read_bytes() == first
    done = run("report", out)
    assert (done.returncode, "pass --dataset" in done.stderr, done.stderr.count("\n")) == (2, True, 1)
    assert (out / "report.html").read_bytes() == first
    (out / "report.html").unlink()
    for _ in range(2):  # a page without texts may be replaced by another
        done = run("report", out)
        assert (done.returncode, "without --dataset" in done.stderr) == (0, True)
    assert run("report", out, "--dataset", dataset).returncode == 0
    assert (out / "report.html").read_bytes() == first
    assert run("report", tmp_path).returncode == 2
