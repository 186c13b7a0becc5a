"""Perplexity and gain of a real model of Transformers, a tiny Llama, against its own log-probabilities by torch alone.

It runs in its own environment (`make test-clients`), because torch is large.
"""

from __future__ import annotations

import json
import math
import subprocess
import sys
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from tiny_model import ENVIRONMENT, PATIENCE, ROOT, built, lines, make_model, niah, prompts

SCRIPT = ROOT / "examples" / "transformers_logprobs.py"
FLAGS = (
    "--length", "128,256", "--set", "options.tokens=256", "--set", "options.documents=3", "--set", "options.stride=48",
    "--language", "en",
)  # fmt: skip


@pytest.fixture(scope="session")
def text(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return built(tmp_path_factory.mktemp("text"), "--text", "--language", "en")


@pytest.fixture(scope="session")
def model(text: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_model(tmp_path_factory.mktemp("model") / "tiny", list(prompts(text).values()))


def windows(folder: Path, *flags: str) -> Path:
    done = niah("niah_gen.cli", "build", "perplexity", *FLAGS, *flags, "--out", str(folder))
    assert done.returncode == 0, done.stderr
    return Path(done.stdout.splitlines()[-1])


@pytest.fixture(scope="session")
def own(model: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Windows counted by the model's own tokenizer."""
    return windows(tmp_path_factory.mktemp("own"), "--tokenizer", str(model))


@pytest.fixture(scope="session")
def other(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Windows counted by a tokenizer other than the model's."""
    return windows(tmp_path_factory.mktemp("other"))


def run_script(source: Path, out: Path, model: Path) -> Path:
    command = [sys.executable, str(SCRIPT), str(source), str(out), "--model", str(model), "--dtype", "float64"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=PATIENCE, env=ENVIRONMENT)
    assert done.returncode == 0, done.stderr
    return out


@pytest.fixture(scope="session")
def own_probs(own: Path, model: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The model's log-probabilities for the windows counted by its own tokenizer."""
    return run_script(own, tmp_path_factory.mktemp("probs") / "probs.jsonl", model)


def figures(dataset: Path, file: Path, *flags: str, code: int = 0, command: str = "perplexity") -> list[dict[str, Any]]:
    out = file.parent / "scores"
    done = niah("niah_score.cli", command, str(dataset), str(file), "--out", str(out), "--overwrite", *flags)
    assert done.returncode == code, done.stderr
    entries: list[dict[str, Any]] = json.loads((out / "summary.json").read_text("utf-8"))["figures"]
    return entries


def rows(dataset: Path) -> list[dict[str, Any]]:
    return [row for file in sorted(dataset.glob("data/*/*.parquet")) for row in pq.read_table(file).to_pylist()]


@lru_cache(maxsize=1)
def network(model: Path) -> Any:
    import torch
    import transformers

    torch.set_num_threads(1)  # a tiny model is slower on several
    return transformers.AutoModelForCausalLM.from_pretrained(model, dtype=torch.float64).eval()


@lru_cache(maxsize=1)
def tokens_of(model: Path) -> Any:
    import transformers

    return transformers.AutoTokenizer.from_pretrained(model)


def token_logprobs(model: Path, ids: list[int], first: int = 1) -> list[float]:
    """The log-probability of each token from number `first` on, by a separate pass over the tokens before it."""
    import torch

    values = []
    with torch.inference_mode():
        for place in range(first, len(ids)):
            logits = network(model)(torch.tensor([ids[:place]])).logits[0, -1]
            values.append(float(torch.log_softmax(logits, dim=-1)[ids[place]]))
    return values


def documents(dataset: Path, length: int) -> Iterator[list[dict[str, Any]]]:
    by_document: dict[str, list[dict[str, Any]]] = {}
    for row in rows(dataset):
        if row["length"] == length:
            by_document.setdefault(row["needle_id"], []).append(row)
    for windows in by_document.values():
        yield sorted(windows, key=lambda row: int(row["repeat"]))


def test_sliding_windows_have_the_models_perplexity(own: Path, own_probs: Path, model: Path) -> None:
    (figure, _) = figures(own, own_probs)
    nats, count, size = 0.0, 0, 0
    for windows in documents(own, 128):
        whole = windows[0]["prompt"] + "".join(row["prompt"][row["target_span"]["start"] :] for row in windows[1:])
        ids = tokens_of(model)(whole, add_special_tokens=False)["input_ids"]
        done = 1
        for row in windows:
            end = done + row["target_token_span"]["end"] - row["target_token_span"]["start"]
            nats -= sum(token_logprobs(model, ids[end - row["prompt_tokens"] : end])[done - end :])
            count, done = count + end - done, end
        assert done == len(ids)
        size += len(whole.encode()) - len(whole[: windows[0]["target_span"]["start"]].encode())
    assert (figure["tokens"], figure["bytes"]) == (count, size)
    assert abs(figure["nll"] - nats / count) < 1e-6
    assert abs(figure["bits_per_byte"] - nats / math.log(2) / size) < 1e-6


def test_another_tokenizer_is_refused_unless_scored_per_byte(other: Path, model: Path, tmp_path: Path) -> None:
    file = run_script(other, tmp_path / "probs.jsonl", model)
    done = niah("niah_score.cli", "perplexity", str(other), str(file))
    assert done.returncode == 2
    assert "'cl100k_base', the dataset's tokenizer" in done.stderr
    nats, size = 0.0, 0
    for (row,) in documents(other, 256):
        encoded = tokens_of(model)(row["prompt"], add_special_tokens=False, return_offsets_mapping=True)
        values = token_logprobs(model, encoded["input_ids"])
        begins = [start for start, _ in encoded["offset_mapping"]][1:]
        nats -= sum(value for value, begin in zip(values, begins, strict=True) if begin >= row["target_span"]["start"])
        size += len(row["prompt"][row["target_span"]["start"] :].encode())
    (_, figure) = figures(other, file, "--per", "byte")
    assert (figure["nll"], figure["bytes"]) == (None, size)
    assert abs(figure["bits_per_byte"] - nats / math.log(2) / size) < 1e-6


@pytest.mark.parametrize("form", ["--text", "--chat"])
def test_the_log_probabilities_behind_a_gain_are_those_of_the_model(form: str, model: Path, tmp_path: Path) -> None:
    dataset = built(tmp_path / "set", form, "--language", "en", "--tokenizer", str(model))
    done = niah("niah_gen.cli", "export", str(dataset), "--to", "loglikelihood", "--out", str(tmp_path / "requests"))
    assert done.returncode == 0, done.stderr
    file = run_script(tmp_path / "requests" / "loglikelihood.jsonl", tmp_path / "probs.jsonl", model)
    every = figures(dataset, file, command="gain")[0]
    assert every["rows"] == every["of"] > 0
    sums: dict[str, list[float]] = {"full": [], "alone": [], "needle": []}
    count = 0
    for request in lines(tmp_path / "requests" / "loglikelihood.jsonl")[:9]:
        tokenizer = tokens_of(model)
        before = (
            tokenizer(request["context"], add_special_tokens=False)["input_ids"]
            if "context" in request
            else tokenizer.apply_chat_template(request["messages"], add_generation_prompt=True, return_dict=True)[
                "input_ids"
            ]
        )
        own = tokenizer(request["continuation"], add_special_tokens=False)["input_ids"]
        sums[request["condition"]].append(sum(token_logprobs(model, [*before, *own], len(before))))
        count += len(own) if request["condition"] == "full" else 0
    table = [line for line in lines(file) if line["condition"] == "full"][:3]
    assert sum(line["logprob_sum"] for line in table) == pytest.approx(sum(sums["full"]), abs=1e-6)
    assert sum(line["token_count"] for line in table) == count
