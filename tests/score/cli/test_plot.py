"""The command `niah-score plot` as users run it, and the pictures that scoring writes."""

from __future__ import annotations

import json
import os
import pty
import subprocess
from pathlib import Path

import pytest
from made import WriteLines, made, right
from made_commands import EXECUTABLE
from made_commands import run as called

from niah_score.errors import ScoreError
from niah_score.evaluation import evaluate
from niah_score.report.plot import read_grids
from niah_score.report.report import report_grid
from niah_score.report.write import write

CSV = (
    "dataset,version,metric,mode,qwen/7b,QWEN 7b,=cmd\n"
    "Length1000Depth0_origin_zh_8k,-,score,gen,100,50,0\n"
    "Length8000Depth100_origin_zh_8k,-,score,gen,30,-,0\n"
)


def run(*arguments: object) -> subprocess.CompletedProcess[str]:
    return called(*arguments, COLUMNS="100")


@pytest.fixture
def summary(tmp_path: Path) -> Path:
    path = tmp_path / "summary.csv"
    path.write_text(CSV, "utf-8")
    return path


def test_every_run_gets_its_pictures_and_the_last_lines_name_them(summary: Path, tmp_path: Path) -> None:
    done = run("plot", summary, "--out", tmp_path / "out", "--dataset-length", "8k")
    assert (done.returncode, done.stderr) == (0, "")
    names = [Path(line).name for line in done.stdout.splitlines()]
    assert names == [
        "qwen-7b.png", "qwen-7b.svg", "QWEN-7b-2.png", "QWEN-7b-2.svg", "cmd.png", "cmd.svg",
    ]  # fmt: skip
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == sorted(names)
    svg = (tmp_path / "out" / "qwen-7b.svg").read_text("utf-8")
    assert ">8K Context Performance: Fact Retrieval" in svg


def test_existing_pictures_stay_unless_they_may_be_overwritten(summary: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.mkdir()
    (out / "cmd.svg").write_text("mine")
    done = run("plot", summary, "--out", out)
    assert (done.returncode, done.stdout) == (2, "")
    assert f"{out}: already holds pictures (cmd.svg); choose another --out" in done.stderr
    assert [path.name for path in out.iterdir()] == ["cmd.svg"]
    assert run("plot", summary, "--out", out, "--overwrite", "--format", "svg").returncode == 0
    assert (out / "cmd.svg").read_text("utf-8").startswith("<?xml")
    assert not (out / "cmd.png").exists()


def test_all_runs_share_one_picture_on_request(summary: Path, tmp_path: Path) -> None:
    done = run("plot", summary, "--together", "--palette", "colourblind", "--title", "All", "--out", tmp_path / "o")
    assert [Path(line).name for line in done.stdout.splitlines()] == ["heatmaps.png", "heatmaps.svg"]
    svg = (tmp_path / "o" / "heatmaps.svg").read_text("utf-8")
    assert all(f">{name}</text>" in svg for name in ("All", "qwen/7b", "QWEN 7b", "=cmd"))
    assert "#fde725" in svg


def test_a_plot_for_the_terminal_is_printed_and_no_file_is_written(
    summary: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = run("plot", summary, "--terminal")
    assert done.returncode == 0
    assert "mean" in done.stdout
    assert "//////" in done.stdout
    assert "\x1b" not in done.stdout  # a pipe has no colours
    assert [path.name for path in tmp_path.iterdir()] == ["summary.csv"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nothing.csv"], "nothing.csv: no such file or folder"),
        (["summary.csv", "--palette", "colorblind"], "did you mean 'colourblind'?"),
        (["summary.csv", "--format", "gif"], "--format: 'gif' is unknown"),
        (["summary.csv", "--metric", "x"], "has no metric 'x'; it has score"),
        (["summary.csv", "--out", "summary.csv"], "summary.csv"),
    ],
)
def test_input_that_cannot_be_drawn_ends_with_a_message(
    arguments: list[str], message: str, summary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(summary.parent)
    done = run("plot", *arguments)
    assert done.returncode in (2, 5)
    assert message in done.stderr
    assert "Traceback" not in done.stderr


def test_scoring_writes_a_heatmap_only_if_rows_have_lengths(write_lines: WriteLines, tmp_path: Path) -> None:
    rows = made(12)
    file, answers = write_lines("rows.jsonl", rows), write_lines("小明.jsonl", right(rows))
    done = run("score", file, answers, "--out", tmp_path / "a")
    assert done.returncode == 0
    assert "Warning" not in done.stderr
    assert ">小明</text>" in (tmp_path / "a" / "heatmap.svg").read_text("utf-8")
    assert (tmp_path / "a" / "heatmap.png").read_bytes().startswith(b"\x89PNG")
    for row in rows:
        del row["length"]
    file, answers = write_lines("plain.jsonl", rows), write_lines("gpt.jsonl", right(rows))
    again = run("score", file, answers, "--out", tmp_path / "a", "--overwrite")
    assert again.returncode == 0
    assert not (tmp_path / "a" / "heatmap.png").exists()  # the one drawn from the other rows is gone


def test_too_many_lengths_are_scored_without_a_heatmap_and_a_note_says_so(
    write_lines: WriteLines, tmp_path: Path
) -> None:
    rows = made(130)
    for number, row in enumerate(rows):
        row["length"] = 1000 + number
    done = run("score", write_lines("rows.jsonl", rows), write_lines("gpt.jsonl", right(rows)), "--out", tmp_path / "a")
    assert done.returncode == 0
    assert "no heatmap: 130 lengths, and a heatmap shows at most 120" in done.stderr
    assert (tmp_path / "a" / "summary.json").exists()
    assert not (tmp_path / "a" / "heatmap.png").exists()


@pytest.mark.slow
def test_scoring_shows_the_heatmap_on_a_terminal(write_lines: WriteLines, tmp_path: Path) -> None:
    rows = made(12)
    leader, follower = pty.openpty()
    command = ["score", write_lines("rows.jsonl", rows), write_lines("gpt.jsonl", right(rows)), "--out", tmp_path / "a"]
    environment = {**os.environ, "TERM": "xterm-256color", "COLUMNS": "80", "COLORTERM": ""}
    environment.pop("NO_COLOR", None)
    with subprocess.Popen(
        [EXECUTABLE, *map(str, command)], stdout=subprocess.PIPE, stderr=follower, env=environment
    ) as process:
        os.close(follower)
        shown = b""
        try:
            while part := os.read(leader, 65536):
                shown += part
        except OSError:  # the other end is closed
            pass
        finally:
            os.close(leader)
        stdout = process.stdout.read() if process.stdout else b""
    assert process.returncode == 0
    assert b"48;5;43m" in shown
    assert b"mean" in shown
    assert stdout == f"{tmp_path / 'a'}\n".encode()
    assert json.loads((tmp_path / "a" / "summary.json").read_bytes())["model"] == "gpt"


def test_our_opencompass_summary_is_drawn_like_our_scores(write_lines: WriteLines, tmp_path: Path) -> None:
    rows = made(24)
    answers = [{**one, "prediction": "no"} if number % 5 == 0 else one for number, one in enumerate(right(rows))]
    report = evaluate(write_lines("rows.jsonl", rows), write_lines("=gpt.jsonl", answers), model="=gpt")
    folder = write(report, tmp_path / "scores")
    (ours,) = read_grids(folder)
    (theirs,) = read_grids(folder / "opencompass_summary.csv")
    assert ours == report_grid(report)
    assert (theirs.model, theirs.lengths, theirs.depths) == (ours.model, ours.lengths, ours.depths)
    assert [cell.mean for _, cell in sorted(theirs.cells.items())] == pytest.approx(
        [cell.mean for _, cell in sorted(ours.cells.items())], abs=0.005
    )
    assert [figure.mean for figure in theirs.means if figure] == pytest.approx(
        [figure.mean for figure in ours.means if figure], abs=0.005
    )
    assert read_grids(folder, "exact", "en")[0].metric == "exact"
    with pytest.raises(ScoreError, match="only folders that niah-score score wrote record the language"):
        read_grids(folder / "opencompass_summary.csv", language="en")


def test_pictures_of_several_languages_and_metrics_share_one_folder(write_lines: WriteLines, tmp_path: Path) -> None:
    rows = [{**row, "language": "zh" if number % 3 else "en"} for number, row in enumerate(made(24))]
    report = evaluate(write_lines("rows.jsonl", rows), write_lines("m.jsonl", right(rows)), model="m")
    folder, out = write(report, tmp_path / "scores"), tmp_path / "out"
    for flags in (["--language", "en"], ["--language", "zh"], ["--metric", "exact"], []):
        for together in ([], ["--together"]):
            done = run("plot", folder, "--out", out, "--format", "svg", *flags, *together)
            assert done.returncode == 0, done.stderr
    names = {path.name for path in out.iterdir()}
    assert names == {f"{name}{tail}.svg" for name in ("m", "heatmaps") for tail in ("", "-en", "-zh", "-exact")}
