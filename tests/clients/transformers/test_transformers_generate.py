"""examples/transformers_generate.py with a real model of Transformers: a tiny Llama with random weights, made here.

It runs in its own environment (`make test-clients`), because torch is large.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
import transformers
from tiny_model import ENVIRONMENT, PATIENCE, ROOT, built, greedy, lines, make_model, prompts, statuses

SCRIPT = ROOT / "examples" / "transformers_generate.py"


@pytest.fixture(scope="session")
def text(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return built(tmp_path_factory.mktemp("text"), "--text")


@pytest.fixture(scope="session")
def chat(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return built(tmp_path_factory.mktemp("chat"), "--chat")


@pytest.fixture(scope="session")
def model(text: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_model(tmp_path_factory.mktemp("model"), list(prompts(text).values()))


def ask(dataset: Path, out: Path, model: Path, *flags: str) -> tuple[int, str]:
    """The exit code and what was printed."""
    command = [sys.executable, str(SCRIPT), str(dataset), str(out), "--model", str(model), "--max-tokens", "5", *flags]
    done = subprocess.run(command, stderr=subprocess.PIPE, text=True, env=ENVIRONMENT, check=False, timeout=PATIENCE)
    return done.returncode, done.stderr


@pytest.fixture(scope="session")
def answers(text: Path, model: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The answers to every row of the text dataset, from one run."""
    out = tmp_path_factory.mktemp("answers") / "answers.jsonl"
    code, printed = ask(text, out, model)
    assert (code, [line for line in printed.splitlines() if "Error" in line]) == (0, []), printed
    return out


def test_answers_match_greedy_decoding_of_the_whole_prompt(text: Path, model: Path, answers: Path) -> None:
    tokenizer = transformers.AutoTokenizer.from_pretrained(model)
    records = {line["id"]: line for line in lines(answers)}
    assert list(records) == [row_id for row_id in records if row_id in prompts(text)]
    for row_id, prompt in list(prompts(text).items())[::4]:
        encoded = tokenizer(f"<|user|>{prompt}<|answer|>")["input_ids"]
        answer_ids = greedy(model, encoded, 5)
        assert records[row_id] == {"id": row_id, "prediction": tokenizer.decode(answer_ids), "finish_reason": "length"}


def test_every_row_is_answered_and_scored(text: Path, answers: Path) -> None:
    assert {line["id"] for line in lines(answers)} == set(prompts(text))
    assert sum(statuses(text, answers).values()) == len(prompts(text)) == 10


def test_chats_go_through_the_template_and_raw_texts_not(text: Path, chat: Path, model: Path, tmp_path: Path) -> None:
    tokenizer = transformers.AutoTokenizer.from_pretrained(model)
    chats = prompts(chat)
    assert ask(chat, tmp_path / "chat.jsonl", model, "--shard", "1/5")[0] == 0
    for line in lines(tmp_path / "chat.jsonl"):
        form = "".join(f"<|{message['role']}|>{message['content']}" for message in chats[line["id"]])
        encoded = tokenizer(form + "<|answer|>")["input_ids"]
        assert line["prediction"] == tokenizer.decode(greedy(model, encoded, 5))
    assert ask(text, tmp_path / "raw.jsonl", model, "--shard", "1/5", "--raw")[0] == 0
    for line in lines(tmp_path / "raw.jsonl"):
        encoded = tokenizer(prompts(text)[line["id"]])["input_ids"]
        assert line["prediction"] == tokenizer.decode(greedy(model, encoded, 5))
    code, printed = ask(chat, tmp_path / "no.jsonl", model, "--raw")
    assert (code, "chat messages need a chat template" in printed) == (2, True)


def test_prompts_beyond_the_models_context_are_errors_and_are_retried(text: Path, model: Path, tmp_path: Path) -> None:
    out = tmp_path / "a.jsonl"
    tokenizer = transformers.AutoTokenizer.from_pretrained(model)
    lengths = {
        row_id: len(tokenizer(f"<|user|>{prompt}<|answer|>")["input_ids"]) for row_id, prompt in prompts(text).items()
    }
    context = sorted(lengths.values())[4]
    code, printed = ask(text, out, model, "--load", json.dumps({"max_position_embeddings": context}))
    failed = {line["id"] for line in lines(out) if "error" in line}
    assert code == 3
    assert failed == {row_id for row_id, length in lengths.items() if length >= context}
    assert all(f"{row_id}: the prompt has {lengths[row_id]} tokens" in printed for row_id in failed)
    assert statuses(text, out)["error"] == len(failed)
    assert ask(text, out, model)[0] == 0
    assert len(lines(out)) == 10 + len(failed)  # the answer has its own line after the error
    assert "error" not in statuses(text, out)
