"""The commands compare, plot and report as users run them: tables, pictures and pages out, exit codes as documented."""

from __future__ import annotations

import os
import pty
import subprocess
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest
from made import CONTRACT, WriteLines, made, right, written
from made_commands import EXECUTABLE
from made_commands import run as called
from made_pages import large
from made_runs import TABLES, pictures, reports

from niah_score.evaluation import evaluate
from niah_score.report.write import write


def run(*arguments: object) -> subprocess.CompletedProcess[str]:
    return called(*arguments, COLUMNS="100")


# compare -------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def scored(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Folders of scores as `niah-score score` writes them."""
    root = tmp_path_factory.mktemp("scores")
    return [write(report, root / name) for name, report in reports()]


@pytest.fixture(scope="module")
def gated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folders of scores of 60 rows of 12 needles; the last two answered half of them, all right and all wrong."""
    root = tmp_path_factory.mktemp("gated")
    rows = [{**row, "needle_id": f"n{number % 12}"} for number, row in enumerate(made(60))]
    dataset = written(root / "rows.jsonl", rows)
    wrong = {"good": set[int](), "same": {0}, "bad": {*range(30)}, "odd": {*range(0, 60, 4)}, "late": {*range(60)}}
    for name, numbers in {**wrong, "early": set[int]()}.items():
        answers = [{**a, "prediction": "no"} if number in numbers else a for number, a in enumerate(right(rows))]
        answers = answers[: 30 if name in ("late", "early") else None]
        file = written(root / f"{name}.jsonl", answers)
        write(evaluate(dataset, file, model=name, missing="exclude"), root / name)
    return root


@pytest.mark.slow
def test_comparing_marks_noise_and_fails_on_a_drop_when_asked_to(gated: Path, tmp_path: Path) -> None:
    good, same, bad, odd = (gated / name for name in ("good", "same", "bad", "odd"))
    lines = run("compare", good, same, bad).stdout.partition("differences to good")[2].splitlines()
    noise, fall = (next(line.split() for line in lines if line.split()[:1] == [name]) for name in ("same", "bad"))
    assert "-1.7≈" in noise
    assert "-50.0*" in fall
    failed, chance = (
        "failed: bad dropped: score 50.00, 50.00 points below the 100.00 of good",
        "undecided: it cannot be",
    )
    for runs, code, sentences in (
        ((good, same), 0, ()), ((good, odd), 0, (chance,)), ((good, odd, bad), 6, (chance, failed)),
        ((good,), 2, ()), ((good, tmp_path / "nothing"), 2, ()),
    ):  # fmt: skip
        done = run("compare", *runs, "--fail-if-drop", 5)
        assert done.returncode == code, runs
        places = [done.stderr.index(sentence) for sentence in sentences]
        assert places == sorted(places)
    for points, code in ((0, 6), (49, 6), (90, 0), (-1, 2), ("nan", 2)):
        assert run("compare", good, bad, "--fail-if-drop", points).returncode == code, points


@pytest.mark.slow
def test_a_gate_ends_with_the_code_of_its_verdict(gated: Path, tmp_path: Path) -> None:
    file = tmp_path / "gate.xml"
    for name, flags, code, words in (
        ("same", ("--drop", 20), 0, "gate passed\npassed: same has not dropped by 20 points: score 98.33"),
        ("same", ("--drop", 20, "--strict"), 0, "gate passed"),
        ("bad", ("--junit", file), 6, "gate failed\nfailed: bad dropped: score 50.00, 50.00 points below the 100.00"),
        ("bad", ("--drop", 90), 0, "; it did drop, by less"),
        ("odd", (), 0, "gate undecided\nundecided: it cannot be told whether odd dropped by 5 points"),
        ("odd", ("--strict",), 7, "gate undecided"), ("late", ("--strict",), 6, "gate failed"),
        ("early", ("--strict", "--drop", 40), 0, "30 are still to come"),
        ("early", ("--strict",), 7, "over 30 rows of 12 needles, 30 are still to come"),
        ("odd", ("--format", "markdown"), 0, "**gate undecided**"),
    ):  # fmt: skip
        done = run("gate", gated / "good", gated / name, *flags)
        assert (done.returncode, done.stderr) == (code, ""), (name, flags, done.stdout)
        assert words in done.stdout, (name, flags, done.stdout)
    assert b'failures="3"' in file.read_bytes()
    for wrong, words in (
        (("nowhere",), "nowhere"), (("bad", "--alarm", 0), "--alarm 0: expected a number from"),
        (("bad", "--format", "html"), "'html' is unknown"), (("bad", "--metric", "bleu"), "bleu"),
        (("bad", "--junit", gated / "bad.jsonl"), "stays as it is"), (("good",), "two runs are called"),
    ):  # fmt: skip
        done = run("gate", gated / "good", gated / wrong[0], *wrong[1:])
        assert (done.returncode, done.stdout) == (2, ""), wrong
        assert words in done.stderr, wrong


@pytest.mark.slow
def test_the_command_prints_the_table_and_writes_the_folder(scored: list[Path], tmp_path: Path) -> None:
    out = tmp_path / "out"
    done = run("compare", *scored, "--format", "markdown", "--out", out, "--palette", "colourblind")
    assert (done.returncode, done.stderr) == (0, f"{out}\n")
    assert (out / "comparison.md").read_text("utf-8").startswith(done.stdout)
    assert {path.name for path in out.iterdir()} == TABLES | pictures("heatmaps", "difference-1", "difference-2")
    assert run("compare", *scored[:2], "--out", out, "--overwrite").returncode == 0
    assert not (out / "difference-2.png").exists()
    report = reports()[0][1]
    strange = replace(report, digest8="0badc0de", scores=report.scores.with_columns(id="x" + pl.col("id")))
    for wrong, code, words in (
        (("--out", out), 2, "already holds a comparison"), (("--format", "html"), 2, "'html' is unknown"),
        (("--metric", "bleu"), 2, "bleu"), ((scored[0],), 2, "two runs are called"),
        ((write(strange, tmp_path / "strange"),), 4, "made-0badc0de"),
    ):  # fmt: skip
        done = run("compare", *scored, *wrong)
        assert (done.returncode, done.stdout, words in done.stderr) == (code, "", True), done.stderr


# plot ----------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="session")
def folders(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Scores of three models with awkward names; the last one answered half of the rows."""
    place = tmp_path_factory.mktemp("plotted")
    rows = [{**row, "language": "zh" if number % 3 else "en"} for number, row in enumerate(made(24))]
    for name, records in (("rows", rows), ("all", right(rows)), ("half", right(rows)[::2])):
        written(place / f"{name}.jsonl", records)
    return [
        write(
            evaluate(place / "rows.jsonl", place / f"{file}.jsonl", model=model, missing="exclude"), place / str(number)
        )
        for number, (model, file) in enumerate((("qwen/7b", "all"), ("QWEN 7b", "all"), ("=cmd", "half")))
    ]


def test_a_run_gets_a_picture_of_its_name_several_share_one_and_the_last_lines_name_it(
    folders: list[Path], tmp_path: Path
) -> None:
    out = tmp_path / "out"
    out.mkdir()
    (out / "cmd.png").write_text("mine")
    command = ["plot", folders[2], "--out", out]
    done = run(*command)
    assert (done.returncode, done.stdout) == (2, "")
    assert f"{out}: already holds pictures (cmd.png); choose another --out" in done.stderr
    done = run(*command, "--overwrite")
    assert (done.returncode, done.stderr) == (0, "")
    names = [Path(line).name for line in done.stdout.splitlines()]
    assert names == sorted(path.name for path in out.iterdir()) == ["cmd.png", "cmd.svg"]
    assert (out / "cmd.png").read_bytes().startswith(b"\x89PNG")
    done = run("plot", *folders, "--palette", "colourblind", "--title", "All", "--out", out)
    assert [Path(line).name for line in done.stdout.splitlines()] == ["heatmaps.png", "heatmaps.svg"]
    svg = (out / "heatmaps.svg").read_text("utf-8")
    assert all(f">{name}</text>" in svg for name in ("All", "qwen/7b", "QWEN 7b", "=cmd"))
    assert "#fde725" in svg


def test_pictures_of_several_languages_and_metrics_share_one_folder(folders: list[Path], tmp_path: Path) -> None:
    for flags in (["--language", "en"], ["--language", "zh"], ["--metric", "exact"]):
        done = run("plot", folders[2], "--out", tmp_path, *flags)
        assert done.returncode == 0, done.stderr
    assert {path.name for path in tmp_path.iterdir()} == pictures("cmd-en", "cmd-zh", "cmd-exact")


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
        ([folders[0], "--metric", "x"], "have no metric 'x'; they have "),
        ([folders[0], "--out", tmp_path / "summary.csv"], "summary.csv"),
    ):
        done = run("plot", *arguments)
        assert done.returncode in (2, 5), arguments
        assert message in done.stderr
        assert "Traceback" not in done.stderr


# report --------------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_the_page_is_written_again_and_keeps_the_texts_of_the_dataset(write_lines: WriteLines, tmp_path: Path) -> None:
    rows, answers = large(30)
    dataset = write_lines("r.jsonl", rows)
    out = write(evaluate(dataset, write_lines("a.jsonl", answers), missing="zero"), tmp_path / "out")
    page = out / "report.html"
    first = page.read_bytes()
    page.unlink()
    done = run("report", out, "--dataset", dataset)
    assert (done.returncode, done.stdout, page.read_bytes()) == (0, f"{page}\n", first)
    done = run("report", out, "--dataset", CONTRACT)
    assert (done.returncode, "name the dataset that was scored" in done.stderr) == (4, True)
    done = run("report", out)
    assert (done.returncode, "pass --dataset" in done.stderr, done.stderr.count("\n")) == (2, True, 1)
    assert page.read_bytes() == first
    page.unlink()
    done = run("report", out)
    assert (done.returncode, "without --dataset" in done.stderr) == (0, True)
    assert run("report", out, "--dataset", dataset).returncode == 0
    assert page.read_bytes() == first
    assert run("report", tmp_path).returncode == 2


# What scoring draws --------------------------------------------------------------------------------------------------


def test_scoring_writes_a_heatmap_only_if_rows_have_few_lengths(write_lines: WriteLines, tmp_path: Path) -> None:
    rows, out = made(12), tmp_path / "a"
    answers = write_lines("小明.jsonl", right(rows))
    done = run("score", write_lines("rows.jsonl", rows), answers, "--out", out)
    assert (done.returncode, "Warning" in done.stderr) == (0, False)
    assert ">小明</text>" in (out / "heatmap.svg").read_text("utf-8")
    assert (out / "heatmap.png").read_bytes().startswith(b"\x89PNG")
    for row in rows:
        del row["length"]
    again = run("score", write_lines("plain.jsonl", rows), answers, "--out", out, "--overwrite")
    assert again.returncode == 0
    assert not (out / "heatmap.png").exists()  # the one drawn from the other rows is gone
    many = [{**row, "length": 1000 + number} for number, row in enumerate(made(130))]
    done = run("score", write_lines("many.jsonl", many), write_lines("b.jsonl", right(many)), "--out", tmp_path / "b")
    assert "no heatmap: 130 lengths, and a heatmap shows at most 120" in done.stderr
    assert not (tmp_path / "b" / "heatmap.png").exists()


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
    assert (process.returncode, stdout) == (0, f"{tmp_path / 'a'}\n".encode())
    assert b"48;5;43m" in shown
    assert b"mean" in shown


# diagnose ------------------------------------------------------------------------------------------------------------


def test_a_diagnosis_tells_few_wrong_answers_and_none_of_the_faults_from_faults(
    write_lines: WriteLines, tmp_path: Path
) -> None:
    rows = [
        {**row, "length": 1000 * (1 + n % 4), "depth_percent": float(n % 11) * 10} for n, row in enumerate(made(88))
    ]
    dataset = write_lines("rows.jsonl", rows)
    for name, wrong, said in (
        ("few", range(3), "3 answers are wrong; a diagnosis needs 10"),
        ("many", range(0, 88, 5), "none of these faults explains the wrong answers:"),
        ("cut", range(40), "1. the output limit is too low, or thinking never ends: 40 of 40 wrong answers"),
    ):
        answers = [{**one, "prediction": "no"} if n in wrong else one for n, one in enumerate(right(rows))]
        if name == "cut":
            answers = [{**one, "finish_reason": "length"} if n in wrong else one for n, one in enumerate(answers)]
        write(evaluate(dataset, write_lines(f"{name}.jsonl", answers)), tmp_path / name)
        assert called("diagnose", tmp_path / name).stdout.startswith(said), name
    assert called("diagnose", tmp_path / "nowhere").returncode == 2
