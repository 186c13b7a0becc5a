"""Secrets of the environment reach no file and no output, whatever a command does and however it fails."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.main import get_command
from typer.testing import CliRunner

import niah_gen.cli.main
import niah_score.cli.main

APPS = {"niah-gen": niah_gen.cli.main.app, "niah-score": niah_score.cli.main.app}
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
# Command lines in the order in which each finds what it needs; DATASET stands for the folder that the first printed,
# SHARDS for the one that the line before printed. Those that begin with `!` must fail.
LINES = """
niah-gen build plain --needle velden-archive --length 1000 --depths 0,100 --format parquet,jsonl --out build
! niah-gen build plain --set lenghts=8k
! niah-gen build nowhere.toml
niah-gen plan smoke
! niah-gen plan smoke --tokenizer nobody
niah-gen build plain --needle velden-archive --length 1000 --depths 0,100 --shard 1/2 --out shards
! niah-gen merge shards
niah-gen build plain --needle velden-archive --length 1000 --depths 0,100 --shard 2/2 --out shards
niah-gen merge SHARDS
niah-gen show DATASET --row 1
! niah-gen show DATASET no-such-id
niah-gen list build
! niah-gen list nowhere
niah-gen verify DATASET --full
! niah-gen verify broken
niah-gen recount DATASET --tokenizer o200k_base --limit 500
! niah-gen recount DATASET --tokenizer meta/llama
niah-gen card DATASET
! niah-gen card broken
niah-gen diff DATASET DATASET
! niah-gen diff DATASET broken
niah-gen page DATASET
! niah-gen page broken
niah-gen export DATASET --to openai-batch --model m --out requests
niah-gen export DATASET --to langsmith --out requests
! niah-gen export DATASET --to openai-batch --out requests
niah-gen publish DATASET me/needles --dry-run
! niah-gen publish DATASET me/needles
! niah-gen publish broken me/needles
niah-gen presets
! niah-gen presets show nobody
niah-gen needles
! niah-gen needles show nobody
niah-gen tokenizers --tiktoken-cache cache
! niah-gen tokenizers --tiktoken-cache answers.jsonl
niah-gen corpora list
niah-gen corpora show en_essays
! niah-gen corpora show nobody
! niah-gen corpora fetch paul_graham --url http://127.0.0.1:9
niah-gen corpora add mine text.txt
! niah-gen corpora add mine nowhere.txt
niah-score score DATASET answers.jsonl --missing zero --out scores
! niah-score score DATASET answers.jsonl --out again
! niah-score score broken answers.jsonl
niah-score report scores
! niah-score report nowhere
niah-score plot scores --out plot.png
! niah-score plot nowhere.csv --out other.png
niah-score score DATASET answers.jsonl --missing zero --model other --out others
niah-score compare scores others --out comparison
! niah-score compare scores nowhere
niah-score gain DATASET gains.jsonl --missing exclude --out gained
! niah-score gain DATASET answers.jsonl
niah-gen build perplexity --length 128 --set options.tokens=128 --set options.documents=1 --format jsonl --out windows
niah-score perplexity SHARDS logprobs.jsonl --out windows/scored
! niah-score perplexity DATASET gains.jsonl
niah-score formats
niah-score judge export DATASET scores --model m --out judged
! niah-score judge export DATASET nowhere --model m --out judged
! niah-score judge import DATASET scores answers.jsonl
"""


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An empty working directory, secrets in the environment, a Hub that does not answer, logs at their fullest."""
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


def written(file: Path, records: list[dict[str, object]]) -> None:
    file.write_text("".join(f"{json.dumps(record)}\n" for record in records), "utf-8")


def test_six_secrets_are_on_no_disk_and_in_no_output_of_any_command(place: Path) -> None:
    (place / "text.txt").write_text("A first sentence stands here. A second one follows it. " * 40, "utf-8")
    (place / "broken").mkdir()
    (place / "broken" / "manifest.json").write_text(json.dumps({"schema_version": 1}), "utf-8")
    said: dict[str, str] = {}
    dataset = printed = ""
    for line in LINES.strip().splitlines():
        fails = line.startswith("! ")
        executable, *words = line.removeprefix("! ").replace("DATASET", dataset).replace("SHARDS", printed).split()
        done = CliRunner().invoke(APPS[executable], words)
        assert done.exit_code in ((2, 4, 5) if fails else (0, 3)), f"{line}: {done.output}"
        said[line] = done.output
        printed = done.stdout.splitlines()[-1] if done.stdout else ""
        if not dataset:
            dataset = printed
            ids = [json.loads(row)["id"] for file in Path(dataset).glob("jsonl/*/*.jsonl") for row in file.open()]
            answers = [json.dumps({"id": name, "prediction": "Blue."}) for name in ids[1:]]
            (place / "answers.jsonl").write_text("\n".join(answers) + "\n", "utf-8")
            sums = [{"id": name, "condition": asked} for name in ids for asked in ("full", "alone", "needle")]
            written(place / "gains.jsonl", [{**row, "logprob_sum": -1.0, "token_count": 2} for row in sums])
        if " build perplexity " in line:
            rows = [json.loads(row) for file in Path(printed).glob("jsonl/*/*.jsonl") for row in file.open()]
            spans = {row["id"]: row["target_token_span"] for row in rows}
            written(
                place / "logprobs.jsonl",
                [{"id": i, "logprob_sum": -1.0, "token_count": at["end"] - at["start"]} for i, at in spans.items()],
            )
    files = [path for path in place.rglob("*") if path.is_file()]
    assert len(files) > 40
    for secret in SECRETS.values():
        assert [line for line, output in said.items() if secret in output] == []
        assert [path for path in files if secret.encode() in path.read_bytes()] == []


def test_every_command_is_tried_and_fails_once() -> None:
    named: set[str] = set()
    for executable, app in APPS.items():
        for name, command in get_command(app).commands.items():  # type: ignore[attr-defined]
            below = getattr(command, "commands", {})
            named |= {f"{executable} {name} {sub}" for sub in below} or {f"{executable} {name}"}
    lines = [f"{line} " for line in LINES.splitlines()]
    cannot_fail = {"niah-score formats", "niah-gen corpora list", "niah-gen presets", "niah-gen tokenizers"}
    # They need verdicts of a judge, and files that are not ours to keep here.
    not_here = {"niah-score judge import", "niah-gen corpora fetch"}
    assert {name for name in named if not any(line.startswith(f"{name} ") for line in lines)} == not_here
    assert {name for name in named if not any(line.startswith(f"! {name} ") for line in lines)} <= cannot_fail
