"""Building from flags: they replace fields of the recipe, and stdout, stderr and exit codes are as documented."""

from __future__ import annotations

import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest
from changed_rows import rows_of
from commands import invoke

from niah_gen.cli.commands import app

run = partial(invoke, app)

EXECUTABLE = Path(sys.executable).with_name("niah-gen")
SMALL = ["plain", "--length", "600,1k", "--depths", "0,50,100"]


def test_flags_replace_recipe_fields(tmp_path: Path) -> None:
    done = run(
        *("build", "--length", "900", "--depths", "10,90", "--repeats", "2", "--needle", "heyuan-archive"),
        *("--language", "zh", "--tokenizer", "gpt-4o", "--chat", "--reserve", "100", "--set", "seed=7"),
        *("--format", "jsonl", "--name", "mine-2", "--out", str(tmp_path)),
    )
    assert done.returncode == 0, done.stderr
    folder = Path(done.stdout.strip())
    rows = rows_of(folder)
    assert [(row["repeat"], row["depth_percent"]) for row in rows] == [(0, 10.0), (0, 90.0), (1, 10.0), (1, 90.0)]
    assert {(row["tokenizer"], row["needle_id"]) for row in rows} == {("o200k_base", "heyuan-archive")}
    assert all(row["prompt"][row["context_message"]]["role"] == "user" for row in rows)
    assert all(row["prompt_tokens"] <= 800 for row in rows)
    assert (folder.parent, (folder / "data").exists()) == (tmp_path / "mine-2", False)


def test_templates_and_system_messages_come_from_files(tmp_path: Path) -> None:
    template, system = tmp_path / "my.toml", tmp_path / "system.txt"
    template.write_text('[mine]\nlanguage = "en"\ntext = "{context} {question}"\n', "utf-8")
    system.write_bytes("\ufeffBe brief.\r\n不要多说。\r\n\r\n".encode())
    chosen = [*SMALL, "--language", "en", "--template", str(template), "--chat", "--system-file", str(system)]
    done = run("build", *chosen, "--format", "jsonl", "--out", str(tmp_path))
    assert done.returncode == 0, done.stderr
    assert rows_of(Path(done.stdout.strip()))[0]["prompt"][0] == {"role": "system", "content": "Be brief.\n不要多说。"}
    assert "mine, chat, question at the end, system message of the recipe" in run("plan", *chosen).stdout


def test_flags_set_the_spread_of_needles_and_the_position_of_the_question(tmp_path: Path) -> None:
    chosen = ["--needle", "pizza-ingredients", "--corpus", "en_essays", "--length", "2k,4000", "--question", "both"]
    done = run("build", *chosen, "--spread", "90,10,50", "--out", str(tmp_path))
    assert done.returncode == 0, done.stderr
    row = next(row for row in rows_of(Path(done.stdout.strip())) if row["length"] == 4000)
    assert all(abs(depth - asked) < 1 for depth, asked in zip(row["needle_depths"], (90, 10, 50), strict=True))
    assert row["prompt"].count(row["question"]) == 2
    stepped = run("plan", *chosen, "--diff", "10", "--depths", "0,50").stdout
    assert "rows         4" in stepped
    assert "question at the start and the end" in stepped


@pytest.mark.slow
def test_the_last_line_of_stdout_is_the_dataset_folder_which_two_shards_merge_into_as_well(tmp_path: Path) -> None:
    command = [str(EXECUTABLE), "build", *SMALL, "--out", str(tmp_path / "whole")]
    folder = Path(subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()[-1])
    assert (folder / "manifest.json").is_file()
    assert "36 rows" in run("verify", str(folder)).stdout
    (folder / "README.md").write_text("mine")
    assert run("card", str(folder)).returncode == run("verify", str(folder)).returncode == 0
    first = run("build", *SMALL, "--shard", "1/2", "--out", str(tmp_path / "b"))
    assert "unfinished datasets here" in run("merge", str(tmp_path)).stderr
    assert run("build", *SMALL, "--shard", "2/2", "--out", str(tmp_path / "b")).stdout == first.stdout
    assert "niah-gen merge" in first.stderr
    merged = run("merge", first.stdout.strip())
    assert merged.returncode == 0, merged.stderr
    again = run("build", *SMALL, "--shard", "1/2", "--out", str(tmp_path / "b"))
    assert "is complete already" in again.stderr
    assert "niah-gen merge" not in again.stderr
    assert (Path(merged.stdout.strip()) / "manifest.json").read_bytes() == (folder / "manifest.json").read_bytes()
