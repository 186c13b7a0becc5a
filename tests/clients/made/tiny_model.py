"""Makes small datasets, and a tiny Llama with random weights to answer them, for tests of scripts that load a model.

Datasets are built and answers scored by the Python that runs the tests, or the one that NIAH_PYTHON names.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

ROOT = Path(__file__).parents[3]
NIAH = os.environ.get("NIAH_PYTHON", sys.executable)
PATIENCE = 1200.0  # seconds that anything may take
# A tiny model is slower on several threads than on one.
ENVIRONMENT = {**os.environ, "HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1"}
CHAT = "{% for m in messages %}<|{{ m.role }}|>{{ m.content }}{% endfor %}{{ '<|answer|>' if add_generation_prompt }}"


def niah(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a command of the project, and return how it ended."""
    return subprocess.run(
        [NIAH, "-m", *arguments], cwd=ROOT, capture_output=True, text=True, check=False, timeout=PATIENCE
    )


def built(folder: Path, *flags: str) -> Path:
    """A dataset of ten prompts of 1,000 tokens."""
    done = niah("niah_gen.cli", "build", "smoke", "--length", "1000", *flags, "--out", str(folder))
    assert done.returncode == 0, done.stderr
    return Path(done.stdout.splitlines()[-1])


def prompts(dataset: Path) -> dict[str, Any]:
    """The prompt of every row by its id."""
    files = sorted(dataset.glob("data/*/*.parquet"))
    return {
        row["id"]: row["prompt"] for file in files for row in pq.read_table(file, columns=["id", "prompt"]).to_pylist()
    }


def make_model(folder: Path, texts: list[str]) -> Path:
    """Write a model whose answers mean nothing and are always the same, and a tokenizer for its prompts."""
    import torch
    import transformers
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

    bpe = Tokenizer(models.BPE())
    bpe.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    bpe.decoder = decoders.ByteLevel()
    special = ["<|user|>", "<|system|>", "<|answer|>", "<|end|>"]
    trainer = trainers.BpeTrainer(
        vocab_size=2000, special_tokens=special, initial_alphabet=pre_tokenizers.ByteLevel.alphabet()
    )
    bpe.train_from_iterator(texts, trainer)
    tokenizer = transformers.PreTrainedTokenizerFast(tokenizer_object=bpe, eos_token="<|end|>", chat_template=CHAT)
    tokenizer.save_pretrained(folder)
    torch.manual_seed(0)
    config = transformers.LlamaConfig(
        vocab_size=len(tokenizer), hidden_size=64, intermediate_size=128, num_hidden_layers=2, num_attention_heads=2,
        max_position_embeddings=16384, eos_token_id=tokenizer.eos_token_id, initializer_range=0.5,
    )  # fmt: skip
    transformers.LlamaForCausalLM(config).save_pretrained(folder)
    return folder


def lines(out: Path) -> list[dict[str, Any]]:
    """The records of a file of answers."""
    return [json.loads(line) for line in out.read_bytes().splitlines()]


def statuses(dataset: Path, *answers: Path, code: int = 0) -> dict[str, int]:
    """How many rows have each status, as `niah-score score` counts them."""
    out = answers[0].parent / "scores"
    done = niah("niah_score.cli", "score", str(dataset), *map(str, answers), "--out", str(out), "--overwrite")
    assert done.returncode == code, done.stderr
    counts = json.loads((out / "summary.json").read_text("utf-8"))["statuses"]
    return {name: count for name, count in counts.items() if count}


def greedy(model: Path, encoded: Any, tokens: int) -> list[int]:
    """The ids of the model's greedy answer: the likeliest next token each time, without `generate`."""
    import torch
    import transformers

    net = transformers.AutoModelForCausalLM.from_pretrained(model)
    ids = list(encoded)
    with torch.inference_mode():
        for _ in range(tokens):
            ids.append(int(net(torch.tensor([ids])).logits[0, -1].argmax()))
    return ids[len(encoded) :]
