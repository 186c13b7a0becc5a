"""Commands on existing datasets: what they print, and their exit codes."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from changed_rows import RECIPE, rows_of, write_lines
from commands import invoke
from each import each

import niah_gen
import niah_score.cli.commands
from niah_gen.cli.commands import app
from niah_score.contract import CARD, read_manifest

run = partial(invoke, app)


@pytest.fixture(scope="module")
def built(built_once: Callable[..., Path]) -> Path:
    """Six rows, in a folder of their own."""
    return built_once(RECIPE)


def test_list_prints_a_line_per_dataset_and_notes_what_it_skipped(
    built: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
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
    assert (missing.returncode, missing.stdout, "no such folder" in missing.stderr) == (2, "", True)
    (tmp_path / "build").symlink_to(top)
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
    assert ("\nrow              5 of 6\n" in one.stdout, one.stderr) == (True, "")


@each(
    ("words", "message"),
    [
        (["--depth", "41"], "no row with --depth 41; there are 0, 40, 100"),
        (["--length", "8q"], "--length: expected a number of tokens such as 8000, 8k or 1m"),
        (["--part", "single"], "no row with --part single; there are none"),
        *((words, "give an id, --row, or coordinates such as --length and --depth, not two of these")
          for words in (["x", "--row", "1"], ["x", "--depth", "1"], ["--row", "1", "--repeat", "0"])),
    ],
)  # fmt: skip
def test_show_exits_with_2_on_missing_rows_and_conflicting_options(words: list[str], message: str, built: Path) -> None:
    done = run("show", built, *words)
    assert (done.returncode, done.stdout) == (2, "")
    assert message in done.stderr


def test_one_digest_identifies_a_dataset_from_its_folder_to_the_report(
    built: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    digest8 = built.name[-8:]
    monkeypatch.chdir(tmp_path)
    answers = write_lines(tmp_path / "answers.jsonl", ({"id": row["id"], "prediction": "x"} for row in rows_of(built)))
    scored = invoke(niah_score.cli.commands.app, "score", built, answers, "--model", "mine", "--verbose")
    scores = tmp_path / "scores" / f"p-{digest8}" / "mine"
    assert (scored.returncode, read_manifest(built).plan_digest[:8]) == (0, digest8)
    signed = [scored.stdout + scored.stderr, *((scores / name).read_text() for name in ("summary.json", "report.html"))]
    again = invoke(niah_score.cli.commands.app, "report", scores, "--dataset", built).stdout
    for text in (*signed, again, (built / CARD).read_text("utf-8"), run("plan", built / "recipe.toml").stdout):
        assert digest8 in text
        assert set(re.findall(r"\bds:([0-9a-f]{8})\b", text)) <= {digest8}
    assert all(f"niah|ds:{digest8}|metric:" in text for text in signed)


def test_diff_exits_with_0_and_says_what_differences_mean_for_the_version(built: Path, tmp_path: Path) -> None:
    same = run("diff", built, built)
    assert (same.returncode, same.stderr) == (0, "")
    assert same.stdout.endswith("same: 6 rows\nnothing differs: no new version\n")
    done = run("diff", built, niah_gen.build({**RECIPE, "seed": 5}, tmp_path))
    assert done.returncode == 0
    assert done.stdout.endswith("version: MAJOR; 1.0.0 after 1.0.0 does not say so, call it 2.0.0 or higher\n")
    assert run("diff", built, tmp_path / "nothing").returncode == 4


def test_export_writes_nothing_if_every_row_is_answered_or_it_is_refused(built: Path, tmp_path: Path) -> None:
    answers = write_lines(tmp_path / "answers.jsonl", ({"id": row["id"], "prediction": "7"} for row in rows_of(built)))
    out = tmp_path / "out"
    vllm = ["--to", "vllm", "--model", "m"]
    for words, code, message in (
        (["--to", "text", "--only-missing", answers], 0, "6 of 6 rows have an answer"),
        (["--to", "nothing"], 2, "--to 'nothing' is unknown; known: anthropic, gemini"),
        ([*vllm, "--max-tokens", "many"], 2, "--max-tokens 'many': expected a number"),
        ([*vllm, "--order", "odd"], 2, "--order 'odd' is unknown; known: as-is, prefix"),
        ([*vllm, "--max-bytes", "9"], 5, "its request alone makes a file of"),
    ):
        done = run("export", built, "--out", out, *words)
        assert (done.returncode, done.stdout) == (code, "")
        assert message in done.stderr
    assert run("export", tmp_path, "--to", "text", "--out", out).returncode == 4
    assert not out.exists()
