"""`niah-gen export`: what it prints on stdout and stderr, and its exit codes."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from commands import invoke
from proofs import RECIPE

from niah_gen.cli.commands import app
from niah_gen.export.export import EXPORTS


def run(*arguments: object) -> subprocess.CompletedProcess[str]:
    return invoke(app, "export", *arguments)


@pytest.fixture(scope="module")
def built(built_once: Callable[..., Path]) -> Path:
    """Six rows."""
    return built_once(RECIPE)


def test_stdout_lists_the_files_and_stderr_describes_them(built: Path, tmp_path: Path) -> None:
    done = run(built, "--to", "vllm", "--model", "m", "--out", tmp_path, "--max-requests", 4, "--order", "prefix")
    assert done.returncode == 0
    files = [Path(line) for line in done.stdout.splitlines()]
    assert files == [tmp_path / "vllm-00000.jsonl", tmp_path / "vllm-00001.jsonl"]
    assert done.stderr.startswith("note: a prefix cache can save ")
    assert f"note: {files[1]}: 2 rows, {files[1].stat().st_size:,} bytes\n" in done.stderr


def test_every_option_reaches_the_requests(built: Path, tmp_path: Path) -> None:
    words = ["--body", "reasoning.effort=high", "--system", "Be brief.", "--api", "responses", "--max-tokens", "+1000"]
    words += ["--subset", "language=en", "--subset", "depth=0,100", "--order", "shuffled"]
    done = run(built, "--to", "openai-batch", "--model", "m", "--out", tmp_path, *words)
    assert done.returncode == 0
    sent = [json.loads(line)["body"] for line in Path(done.stdout.strip()).read_bytes().splitlines()]
    assert [(body["instructions"], body["reasoning"]) for body in sent] == [("Be brief.", {"effort": "high"})] * 2
    assert {body["max_output_tokens"] for body in sent} == {1200}


def test_only_missing_writes_nothing_when_every_row_is_answered(built: Path, tmp_path: Path) -> None:
    first = run(built, "--to", "langsmith", "--out", tmp_path)
    names = [json.loads(line)["inputs"]["id"] for line in Path(first.stdout.strip()).read_bytes().splitlines()]
    answers = tmp_path / "answers.jsonl"
    answers.write_text("".join(json.dumps({"id": name, "prediction": "7"}) + "\n" for name in names))
    done = run(built, "--to", "text", "--out", tmp_path / "more", "--only-missing", answers)
    assert (done.returncode, done.stdout) == (0, "")
    assert "6 of 6 rows have an answer" in done.stderr
    assert "nothing was written" in done.stderr
    assert not (tmp_path / "more").exists()


def test_a_refused_export_ends_with_a_message_and_its_exit_code(built: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    for words, code, message in (
        (["--to", "nothing"], 2, "--to 'nothing' is unknown; known: anthropic, gemini"),
        (["--to", "vllm", "--model", "m", "--max-tokens", "many"], 2, "--max-tokens 'many': expected a number"),
        (["--to", "vllm", "--model", "m", "--order", "odd"], 2, "--order 'odd' is unknown; known: as-is, prefix"),
        (["--to", "vllm", "--model", "m", "--max-bytes", "9"], 5, "its request alone makes a file of"),
    ):
        done = run(built, "--out", out, *words)
        assert (done.returncode, done.stdout) == (code, "")
        assert message in done.stderr
    assert run(tmp_path, "--to", "text", "--out", out).returncode == 4
    assert not out.exists()


def test_the_help_names_every_format() -> None:
    text = " ".join(run("--help").stdout.split())
    assert f"One of {', '.join(EXPORTS)}." in text


def test_the_page_on_exports_lists_every_format() -> None:
    page = (Path(__file__).parents[3] / "docs" / "exports.md").read_text("utf-8")
    assert [name for name in EXPORTS if f"\n| `{name}` |" not in page] == []
