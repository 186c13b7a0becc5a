"""Secrets in the environment reach no file and no output, whatever a command does and however it fails."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from each import each
from every_command import LINES, command_names, run_every_command

SECRETS = {
    "HF_TOKEN": "hf_CanaryTokenOfTheHub0123456789abcdef",
    "OPENAI_API_KEY": "sk-canary-openai-0123456789abcdef",
    "ANTHROPIC_API_KEY": "sk-ant-canary-0123456789abcdef",
    "GEMINI_API_KEY": "AIzaCanary0123456789abcdef",
    "LANGSMITH_API_KEY": "lsv2_canary_0123456789abcdef",
    "AWS_SECRET_ACCESS_KEY": "canary/aws/0123456789abcdef",
}
# Nobody listens there.
CLOSED = "http://127.0.0.1:9"


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An empty working directory, secrets in the environment, a Hub that does not answer, and logs of everything."""
    for name, value in SECRETS.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("NIAH_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "home"))
    monkeypatch.setattr("huggingface_hub.constants.ENDPOINT", CLOSED)
    monkeypatch.chdir(tmp_path)
    root = logging.getLogger()
    handler = logging.FileHandler(tmp_path / "log.txt")
    level = root.level
    root.addHandler(handler)
    root.setLevel(logging.DEBUG)
    yield tmp_path
    root.removeHandler(handler)
    root.setLevel(level)
    handler.close()


@pytest.mark.slow
def test_no_command_writes_or_prints_a_secret(place: Path) -> None:
    outputs = dict(run_every_command(place))
    files = [path for path in place.rglob("*") if path.is_file()]
    assert len(files) > 40
    for secret in SECRETS.values():
        assert [line for line, output in outputs.items() if secret in output] == []
        assert [path for path in files if secret.encode() in path.read_bytes()] == []


def test_every_command_is_tried_and_made_to_fail() -> None:
    named = command_names()
    lines = [f"{line} " for line in LINES.splitlines()]
    cannot_fail = {"niah-score formats", "niah-gen corpora list", "niah-gen presets", "niah-gen tokenizers"}
    # One needs the verdicts of a judge, the other files that we may not keep here.
    not_here = {"niah-score judge import", "niah-gen corpora fetch"}
    assert {name for name in named if not any(line.startswith(f"{name} ") for line in lines)} == not_here
    assert {name for name in named if not any(line.startswith(f"! {name} ") for line in lines)} <= cannot_fail


@pytest.mark.slow
@each(
    ("package", "module", "words"),
    [
        ("niah_gen", "niah_gen.dataset.build", ["build", "plain"]),
        ("niah_gen", "niah_gen.export.publish", ["publish", "nowhere", "me/needles"]),
        ("niah_score", "niah_score.evaluation", ["score", "nowhere", "nothing"]),
    ],
)
def test_the_traceback_of_a_bug_shows_no_secret(package: str, module: str, words: list[str], tmp_path: Path) -> None:
    """The bug: a module that breaks in the middle of a command."""
    broken = f"import sys; sys.modules[{module!r}] = 5; from {package}.cli.main import main; main()"
    root = Path(__file__).parents[1]
    environment = {**os.environ, **SECRETS, "PYTHONPATH": str(root), "XDG_DATA_HOME": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-X", "dev", "-c", broken, *words],
        cwd=tmp_path, env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 1
    assert "Traceback" in done.stderr
    assert [name for name, value in SECRETS.items() if value in done.stdout + done.stderr] == []
