"""Every shell command in docs/stacks.md works as printed, section after section, and its Python can be parsed.

Shell blocks run in an empty folder. A loopback server answers in place of a model's, a stand-in replaces vLLM, and
answers of batch services are written in their formats. The script for Transformers is run by tests/clients.
"""

from __future__ import annotations

import ast
import glob
import json
import re
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from commands import app_of
from loopback_server import serving
from planned_answers import SERVICES, Planned, answer_all
from typer.testing import CliRunner

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "stacks.md").read_text("utf-8")
SECTIONS = dict(re.findall(r"^## (.+?)\n(.*?)(?=^## |\Z)", PAGE, re.MULTILINE | re.DOTALL))
BLOCK = re.compile(r"```(\w+)\n(.*?)```", re.DOTALL)
Shell = Callable[..., None]


@pytest.fixture
def shell(dataset: Path, fake_vllm: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Shell:
    """Runs the lines of a shell block in an empty folder; `url`, if given, replaces the server's URL."""
    monkeypatch.chdir(tmp_path)

    def run(block: str, url: str = "") -> None:
        for line in block.splitlines():
            program, *words = shlex.split(re.sub(r"\bDATASET\b", str(dataset), line))
            if program == "python":
                given = ["--url", url] if url else []
                done = subprocess.run(
                    [sys.executable, ROOT / words[0], *words[1:], *given],
                    env=fake_vllm, capture_output=True, text=True, check=False,
                )  # fmt: skip
                assert done.returncode == 0, f"{line}\n{done.stderr}"
            else:
                files = [file for word in words for file in (sorted(glob.glob(word)) if "*" in word else [word])]
                result = CliRunner().invoke(app_of(program), files)
                assert result.exit_code == 0, f"{line}\n{result.output}"

    return run


def blocks(section: str) -> list[str]:
    return [text for language, text in BLOCK.findall(SECTIONS[section]) if language == "sh"]


def scores(folder: Path) -> dict[str, Any]:
    """The summary of the one run that was scored in a folder."""
    (file,) = folder.glob("scores/*/*/summary.json")
    summary: dict[str, Any] = json.loads(file.read_text("utf-8"))
    return summary


def test_every_section_is_linked_and_ends_with_the_line_that_scores_and_its_python_can_be_parsed() -> None:
    assert len(SECTIONS) == 8
    for name, text in SECTIONS.items():
        language, block = BLOCK.findall(text)[-1]
        assert (language, block.splitlines()[-1].split()[:3]) == ("sh", ["niah-score", "score", "DATASET"]), name
        assert text.rstrip().endswith("```"), name
    anchors = {re.sub(r"[^\w -]", "", name).lower().replace(" ", "-") for name in SECTIONS}
    assert set(re.findall(r"\]\(#([\w-]+)\)", PAGE)) == anchors
    snippets = [text for language, text in BLOCK.findall(PAGE) if language == "python"]
    assert len(snippets) == 6
    for text in snippets:
        ast.parse(text)


@pytest.mark.slow
def test_the_section_on_offline_vllm_leads_to_a_score_of_100(shell: Shell, tmp_path: Path) -> None:
    for block in blocks("vLLM, offline"):
        # The stand-in has one GPU, and accepts texts of any length.
        shell(block.replace(', "tensor_parallel_size": 4', ""))
    assert scores(tmp_path)["headline"]["mean"] == 100


@pytest.mark.slow
def test_the_section_on_servers_leads_to_100_points(shell: Shell, truth: list[dict[str, Any]], tmp_path: Path) -> None:
    with serving(truth) as server:
        server.behave = lambda server, handler, row_id, tried: (
            server.bodies[row_id]["model"] == "BASE"
            and handler.reply(200, b'{"choices": [{"text": "x", "finish_reason": "stop"}]}')
        )
        for block in blocks("A server"):
            shell(block, server.url)
        assert server.paths == {"/v1/chat/completions", "/v1/completions"}
    assert scores(tmp_path)["headline"]["mean"] == 100


@pytest.mark.slow
def test_every_section_on_batches_leads_to_a_score_of_100(
    shell: Shell, truth: list[dict[str, Any]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    right = {row["id"]: Planned("right", row["answers"][0]) for row in truth}
    for section, service, answers in (
        ("OpenAI batch", "openai-batch", "results"), ("Anthropic batch", "anthropic", "results"),
        ("Gemini batch", "gemini", "results"), ("vLLM batch files", "vllm", "."),
    ):  # fmt: skip
        folder = tmp_path / service
        (folder / answers).mkdir(parents=True)
        monkeypatch.chdir(folder)
        export, score = blocks(section)
        shell(export)
        requests = SERVICES[service].requests(folder / "requests")
        answer_all(SERVICES[service], requests, right, folder / answers / "answers.jsonl")
        shell(score)
        assert scores(folder)["headline"]["mean"] == 100, section
