"""Commands on existing datasets: what they print, and their exit codes."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from commands import invoke
from each import each
from proofs import ENGLISH, RECIPE, read, write

import niah_gen
import niah_score.cli.commands
from niah_gen.cli.commands import app
from niah_gen.dataset.read import rows_in
from niah_score.contract import CARD, read_manifest


def run(*arguments: object) -> subprocess.CompletedProcess[str]:
    return invoke(app, *arguments)


@pytest.fixture(scope="module")
def built(built_once: Callable[..., Path]) -> Path:
    """Six rows, in a folder of their own."""
    return built_once(RECIPE)


def verify_full(folder: Path) -> subprocess.CompletedProcess[str]:
    command = [str(Path(sys.executable).with_name("niah-gen")), "verify", str(folder), "--full"]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.mark.slow
def test_verify_full_says_that_rows_are_built_again_or_names_every_wrong_row(tmp_path: Path) -> None:
    lines = niah_gen.build(RECIPE, tmp_path / "lines", formats=["jsonl"])
    copy = Path(shutil.copytree(lines, tmp_path / "copy"))
    done = verify_full(lines)
    assert done.returncode == 0
    assert done.stdout.endswith(": 5 files, 6 rows, all as the manifest says; the recipe builds the same rows again\n")
    rows = read(copy)
    write(copy, [{**row, "seed": 1} for row in rows])
    done = verify_full(copy)
    assert done.returncode == 4
    assert done.stderr.startswith(f"niah-gen: {copy}: 4 problems\n  {ENGLISH} row 1 ({rows[0]['id']}): ")
    assert "it differs in seed" in done.stderr


def test_list_prints_a_line_per_dataset_and_notes_what_it_skipped(built: Path, tmp_path: Path) -> None:
    top = built.parents[1]
    done = run("list", top)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith(f"{built}  p  1.0.0  {built.name[-8:]}  6 rows  ")
    (tmp_path / ".git").mkdir()
    done = run("list", tmp_path)
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr == (
        f"note: no dataset below {tmp_path}; `niah-gen build` makes one\n"
        "note: 1 folder whose name begins with a dot: not looked into\n"
    )
    missing = run("list", tmp_path / "nothing")
    assert (missing.returncode, missing.stdout) == (2, "")
    assert "no such folder" in missing.stderr


def test_list_looks_in_build_by_default(built: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "build").symlink_to(built.parents[1])
    monkeypatch.chdir(tmp_path)
    assert run("list").stdout.startswith(f"build/p/{built.name}  p  ")


def test_show_takes_an_id_a_number_coordinates_or_nothing(built: Path) -> None:
    first = run("show", built)
    assert (first.returncode, first.stderr) == (0, "")
    assert "\nrow              1 of 6\n" in first.stdout
    assert run("show", built, "--row", "1").stdout == first.stdout
    row_id = first.stdout.split()[1]
    for part in (row_id, row_id[-6:], row_id[:30]):
        assert run("show", built, part).stdout == first.stdout
    some = run("show", built, "--length", "700", "--depth", "40")
    assert "\nrow              2 of 6\n" in some.stdout
    assert some.stderr == (
        "note: 1 other row matches, told apart by --language (en, zh), --corpus (en_essays, zh_articles), "
        "--needle (velden-archive, heyuan-archive); by number: --row (5)\n"
    )
    one = run("show", built, "--length", "0.7k", "--depth", "40", "--language", "zh", "--control", "none")
    assert "\nrow              5 of 6\n" in one.stdout
    assert one.stderr == ""


@each(
    ("words", "message"),
    [
        (["--row", "7"], "no row 7; rows are numbered 1 to 6"),
        (["nothing"], "no row 'nothing' among 6"),
        (["--depth", "41"], "no row with --depth 41; there are 0, 40, 100"),
        (["--length", "8q"], "--length: expected a number of tokens such as 8000, 8k or 1m"),
        (["--part", "single"], "no row with --part single; there are none"),
        (["x", "--row", "1"], "an id and --row: give an id, --row, or coordinates"),
        (["x", "--depth", "1"], "an id and --depth: give an id, --row, or coordinates"),
        (["--row", "1", "--repeat", "0"], "--row and --repeat: give an id, --row, or coordinates"),
    ],
)
def test_show_exits_with_2_on_missing_rows_and_conflicting_options(words: list[str], message: str, built: Path) -> None:
    done = run("show", built, *words)
    assert (done.returncode, done.stdout) == (2, "")
    assert message in done.stderr


def test_one_digest_identifies_a_dataset_from_its_folder_to_the_report(
    built: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    digest8 = built.name[-8:]
    monkeypatch.chdir(tmp_path)
    rows = [row for path in sorted(built.glob("data/*/*.parquet")) for row in rows_in(path)]
    answers = tmp_path / "answers.jsonl"
    answers.write_text("".join(json.dumps({"id": row["id"], "prediction": row["answers"][0]}) + "\n" for row in rows))
    scored = invoke(niah_score.cli.commands.app, "score", built, answers, "--model", "mine", "--verbose")
    assert scored.returncode == 0, scored.stderr
    scores = tmp_path / "scores" / f"p-{digest8}" / "mine"
    assert read_manifest(built).plan_digest[:8] == digest8
    assert f" {digest8} " in run("list", built).stdout
    summary = json.loads((scores / "summary.json").read_text("utf-8"))
    assert summary["dataset"]["digest8"] == digest8
    everywhere = {
        "card": (built / CARD).read_text("utf-8"),
        "plan": run("plan", built / "recipe.toml").stdout,
        "score": scored.stdout + scored.stderr,
        "summary": json.dumps(summary),
        "report": (scores / "report.html").read_text("utf-8"),
        "again": invoke(niah_score.cli.commands.app, "report", scores, "--dataset", built).stdout,
    }
    for name, text in everywhere.items():
        assert digest8 in text, name
        assert set(re.findall(r"\bds:([0-9a-f]{8})\b", text)) <= {digest8}, name
    assert f"niah|ds:{digest8}|metric:" in everywhere["summary"]
    assert f"niah|ds:{digest8}|metric:" in everywhere["score"]
    assert f"niah|ds:{digest8}|metric:" in everywhere["report"]


def test_diff_exits_with_0_and_says_what_differences_mean_for_the_version(built: Path, tmp_path: Path) -> None:
    same = run("diff", built, built)
    assert (same.returncode, same.stderr) == (0, "")
    assert same.stdout.endswith("same: 6 rows\nnothing differs: no new version\n")
    other = niah_gen.build({**RECIPE, "seed": 5}, tmp_path)
    done = run("diff", built, other)
    assert done.returncode == 0
    assert done.stdout.endswith("version: MAJOR; 1.0.0 after 1.0.0 does not say so, call it 2.0.0 or higher\n")
    assert run("diff", built, tmp_path / "nothing").returncode == 4


def test_page_prints_its_path_and_refuses_to_replace_a_file(built: Path, tmp_path: Path) -> None:
    out = tmp_path / "page.html"
    done = run("page", built, "--out", out)
    assert (done.returncode, done.stdout) == (0, f"{out}\n")
    assert re.fullmatch(r"note: 6 of 6 rows in full, [\d,]+ bytes; open it in a browser\n", done.stderr)
    assert out.read_bytes().startswith(b"<!doctype html>")
    again = run("page", built, "--out", out)
    assert again.returncode == 2
    assert again.stderr == f"niah-gen: {out} exists; name another file with --out, or use --overwrite to replace it\n"
    assert run("page", built, "--out", out, "--overwrite").returncode == 0
    none = run("page", tmp_path)
    assert (none.returncode, none.stdout) == (4, "")
    assert "this is not a finished dataset" in none.stderr
