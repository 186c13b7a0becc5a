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

from niah_score.evaluation import evaluate
from niah_score.report.write import write


def run(*arguments: object) -> subprocess.CompletedProcess[str]:
    return called(*arguments, COLUMNS="100")


@pytest.fixture(scope="session")
def folders(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Scores of three models with awkward names; the last one answered half of the rows."""
    place = tmp_path_factory.mktemp("plotted")
    rows = [{**row, "language": "zh" if number % 3 else "en"} for number, row in enumerate(made(24))]
    for name, records in (("rows", rows), ("all", right(rows)), ("half", right(rows)[::2])):
        (place / f"{name}.jsonl").write_text("".join(f"{json.dumps(record)}\n" for record in records), "utf-8")
    return [
        write(
            evaluate(place / "rows.jsonl", place / f"{file}.jsonl", model=model, missing="exclude"), place / str(number)
        )
        for number, (model, file) in enumerate((("qwen/7b", "all"), ("QWEN 7b", "all"), ("=cmd", "half")))
    ]


def test_every_run_gets_its_picture_and_the_last_lines_name_them(folders: list[Path], tmp_path: Path) -> None:
    done = run("plot", *folders, "--out", tmp_path / "out", "--dataset-length", "8k", "--format", "png,svg")
    assert (done.returncode, done.stderr) == (0, "")
    names = [Path(line).name for line in done.stdout.splitlines()]
    assert names == ["qwen-7b.png", "qwen-7b.svg", "QWEN-7b-2.png", "QWEN-7b-2.svg", "cmd.png", "cmd.svg"]
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == sorted(names)
    assert ">8K Context Performance: Fact Retrieval" in (tmp_path / "out" / "qwen-7b.svg").read_text("utf-8")


def test_existing_pictures_stay_unless_they_may_be_overwritten(folders: list[Path], tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.mkdir()
    (out / "cmd.png").write_text("mine")
    done = run("plot", folders[2], "--out", out)
    assert (done.returncode, done.stdout) == (2, "")
    assert f"{out}: already holds pictures (cmd.png); choose another --out" in done.stderr
    assert run("plot", folders[2], "--out", out, "--overwrite").returncode == 0
    assert (out / "cmd.png").read_bytes().startswith(b"\x89PNG")
    assert [path.name for path in out.iterdir()] == ["cmd.png"]


def test_all_runs_share_one_picture_on_request(folders: list[Path], tmp_path: Path) -> None:
    asked = ("--together", "--palette", "colourblind", "--title", "All", "--format", "svg")
    done = run("plot", *folders, *asked, "--out", tmp_path / "o")
    assert [Path(line).name for line in done.stdout.splitlines()] == ["heatmaps.svg"]
    svg = (tmp_path / "o" / "heatmaps.svg").read_text("utf-8")
    assert all(f">{name}</text>" in svg for name in ("All", "qwen/7b", "QWEN 7b", "=cmd"))
    assert "#fde725" in svg


def test_a_plot_for_the_terminal_is_printed_and_no_file_is_written(
    folders: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = run("plot", folders[2], "--terminal")
    assert done.returncode == 0
    assert "mean" in done.stdout
    assert "//////" in done.stdout
    assert "\x1b" not in done.stdout  # a pipe has no colours
    assert not list(tmp_path.iterdir())


def test_input_that_cannot_be_drawn_ends_with_a_message(folders: list[Path], tmp_path: Path) -> None:
    (tmp_path / "summary.csv").write_text("dataset,version\n")
    for arguments, message in (
        (["nothing"], "nothing: there are no scores"),
        ([tmp_path / "summary.csv"], "summary.csv: is a file; name a folder that niah-score score wrote"),
        ([folders[0], "--palette", "colorblind"], "did you mean 'colourblind'?"),
        ([folders[0], "--format", "gif"], "--format: 'gif' is unknown"),
        ([folders[0], "--metric", "x"], "have no metric 'x'; they have "),
        ([folders[0], "--out", tmp_path / "summary.csv"], "summary.csv"),
    ):
        done = run("plot", *arguments)
        assert done.returncode in (2, 5), arguments
        assert message in done.stderr
        assert "Traceback" not in done.stderr


def test_pictures_of_several_languages_and_metrics_share_one_folder(folders: list[Path], tmp_path: Path) -> None:
    for flags in (["--language", "en"], ["--language", "zh"], ["--metric", "exact"], []):
        for together in ([], ["--together"]):
            done = run("plot", folders[2], "--out", tmp_path, *flags, *together)
            assert done.returncode == 0, done.stderr
    names = {path.name for path in tmp_path.iterdir()}
    assert names == {f"{name}{tail}.png" for name in ("cmd", "heatmaps") for tail in ("", "-en", "-zh", "-exact")}


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
