"""Slurm scripts and offline vLLM, with commands and a vLLM that stand in for the real ones."""

from __future__ import annotations

import inspect
import json
import os
import re
import shlex
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from small_dataset import tree

import niah_gen
from examples import transformers_generate, vllm_offline
from examples.run_openai_compatible import rows
from niah_score import evaluate

SCRIPT = Path(__file__).parents[2] / "examples" / "vllm_offline.py"
slow = pytest.mark.slow


class Run:
    """Runs the script, and reads the calls that the stand-in recorded."""

    def __init__(self, folder: Path, environment: dict[str, str]) -> None:
        self.calls_file, self.out, self.environment = folder / "calls.jsonl", folder / "answers.jsonl", environment

    def __call__(self, dataset: Path, *flags: str, out: Path | None = None, **environment: str) -> tuple[int, str]:
        """Run the script; return its exit code and what it printed."""
        command = [sys.executable, str(SCRIPT), str(dataset), str(out or self.out), "--model", "m", *flags]
        environment = {**self.environment, **environment}
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        assert "Traceback" not in done.stderr, done.stderr
        return done.returncode, done.stderr

    def calls(self, kind: str) -> list[dict[str, Any]]:
        recorded = [json.loads(line) for line in self.calls_file.read_text("utf-8").splitlines()]
        return [call for call in recorded if call["call"] == kind]

    def lines(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.out.read_bytes().splitlines()]


@pytest.fixture
def run(tmp_path: Path, fake_vllm: dict[str, str]) -> Run:
    return Run(tmp_path, fake_vllm)


def scored(dataset: Path, *answers: Path) -> tuple[float, dict[str, int]]:
    """The mean of the rows' own metric, and the number of rows of each status that occurs."""
    report = evaluate(dataset, list(answers), metrics=["keyword"])
    statuses = {name: count for name, count in report.statuses.items() if count}
    return report.summary["metrics"]["score"]["overall"]["mean"], statuses


@slow
def test_every_row_is_asked_once_in_order_and_scored(run: Run, dataset: Path, truth: list[dict[str, Any]]) -> None:
    assert run(dataset, "--batch", "10") == (0, "")
    assert [line["id"] for line in run.lines()] == [row["id"] for row in truth]
    assert set(run.lines()[0]) == {"id", "prediction", "finish_reason"}
    assert scored(dataset, run.out) == (100, {"ok": 36})
    asked = run.calls("chat")
    assert [len(call["prompts"]) for call in asked] == [10, 10, 10, 6]
    prompts = [prompt for call in asked for prompt in call["prompts"]]
    assert prompts == [[{"role": "user", "content": row["prompt"]}] for row in truth]
    limits = [tuple(sampling) for call in asked for sampling in call["sampling"]]
    assert limits == [(0.0, row["max_new_tokens"]) for row in truth]
    assert run.calls("LLM") == [{"call": "LLM", "model": "m", "enable_prefix_caching": None}]


@slow
def test_the_arguments_reach_vllm(run: Run, dataset: Path, truth: list[dict[str, Any]]) -> None:
    flags = ["--max-tokens", "+1000", "--sampling", '{"temperature": 0.6}', "--template", '{"enable_thinking": true}']
    assert run(dataset, *flags, "--no-prefix-caching", "--load", '{"max_model_len": 99999}')[0] == 0
    (call,) = run.calls("chat")
    assert call["template"] == {"enable_thinking": True}
    assert call["sampling"] == [[0.6, row["max_new_tokens"] + 1000] for row in truth]
    assert run.calls("LLM")[0]["enable_prefix_caching"] is False


@slow
def test_raw_sends_texts_unchanged_and_chats_are_sent_with_their_roles(
    run: Run, dataset: Path, chat_dataset: Path, truth: list[dict[str, Any]], tmp_path: Path
) -> None:
    assert run(dataset, "--raw", "--max-tokens", "7")[0] == 0
    (call,) = run.calls("generate")
    assert call["prompts"] == [row["prompt"] for row in truth]
    assert {limit for _, limit in call["sampling"]} == {7}
    out = tmp_path / "chat.jsonl"
    refused = "vllm_offline: --raw needs texts, but these prompts are chat messages; leave it out\n"
    assert run(chat_dataset, "--raw", out=out) == (2, refused)
    asked = [row.prompt for row in rows(chat_dataset, {})]
    truth_file = Path(run.environment["FAKE_VLLM_TRUTH"])
    truth_file.write_text(json.dumps({chat[-1]["content"]: "x" for chat in asked}), "utf-8")
    assert run(chat_dataset, out=out)[0] == 0
    assert [prompt for call in run.calls("chat") for prompt in call["prompts"]] == asked


@slow
def test_a_killed_run_loses_only_its_batch_and_the_next_run_completes_it(run: Run, dataset: Path) -> None:
    assert run(dataset, "--batch", "5", FAKE_VLLM_DIES_AFTER="3")[0] == -signal.SIGKILL
    kept = run.out.read_bytes()
    assert kept.count(b"\n") == 15
    run.out.write_bytes(kept[:-20])  # the last line breaks off
    assert run(dataset, "--batch", "5")[0] == 0
    assert run.out.read_bytes().startswith(kept)
    assert scored(dataset, run.out) == (100, {"ok": 36})
    run.calls_file.write_text("")
    assert run(dataset)[0] == 0
    assert run.calls("LLM") == []  # no model is loaded where every row has an answer


@slow
def test_prompts_that_are_too_long_become_errors_alone(run: Run, dataset: Path, truth: list[dict[str, Any]]) -> None:
    longest = sorted(len(row["prompt"]) for row in truth)[20]
    code, printed = run(dataset, "--batch", "9", "--load", json.dumps({"max_model_len": longest}))
    failed = {row["id"] for row in truth if len(row["prompt"]) > longest}
    assert code == 3
    assert {line["id"] for line in run.lines() if "error" in line} == failed
    assert all(f"{row_id}: The prompt is longer than the maximum model length.\n" in printed for row_id in failed)
    assert scored(dataset, run.out)[1] == {"ok": 36 - len(failed), "error": len(failed)}
    assert run(dataset)[0] == 0  # with a longer context they are asked again
    assert scored(dataset, run.out) == (100, {"ok": 36})


@slow
def test_arguments_paths_and_files_that_cannot_be_used_are_reported(run: Run, dataset: Path, tmp_path: Path) -> None:
    for flag, value, message in (
        ("--shard", "4/3", "--shard"), ("--load", "[1]", "--load"), ("--sampling", '{"nope": 1}', "nope"),
        ("--max-tokens", "many", "--max-tokens many: expected N, or +N"),
        ("--max-tokens", "0", "--max-tokens 0: expected N, or +N"),
    ):  # fmt: skip
        code, printed = run(dataset, flag, value)
        assert code == 2
        assert message in printed
    unfinished = f"vllm_offline: {tmp_path}: not a dataset, or not a complete one: there is no manifest.json\n"
    assert run(tmp_path) == (2, unfinished)
    assert "no Parquet files" in run(next(dataset.glob("jsonl/*/*.jsonl")))[1]
    for content in (b"my notes\n", b"PAR1\x00\x01", b'{"id": 1, "prediction": ""}\n', b'["id"]\n'):
        run.out.write_bytes(content)
        code, printed = run(dataset)
        assert (code, printed.endswith("contains something other than answers; choose another file\n")) == (2, True)
        assert run.out.read_bytes() == content


def test_the_scripts_that_load_a_model_share_their_functions_word_for_word() -> None:
    for name in ("GivenUpError", "rows", "answered", "room", "shard", "json_object"):
        one, other = getattr(vllm_offline, name), getattr(transformers_generate, name)
        assert inspect.getsource(one) == inspect.getsource(other), name


pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
# The real srun gives a command one CPU unless a number is stated.
SRUN = "[[ $1 == --cpus-per-task=1 ]] || { echo 'srun: how many CPUs?' >&2; exit 1; }\nshift\nexec \"$@\""
Slurm = Callable[[dict[str, str]], dict[str, str]]


def task(script: str, number: int, environment: dict[str, str], **more: str) -> tuple[int, str]:
    """Run one task of an array; return its exit code and what it printed to stderr."""
    done = subprocess.run(
        ["bash", f"examples/{script}.sbatch"], cwd=ROOT, capture_output=True, text=True, check=False,
        env={**environment, "SLURM_ARRAY_TASK_ID": str(number), **more},
    )  # fmt: skip
    return done.returncode, done.stderr


def assert_needed(script: str, environment: dict[str, str], *names: str) -> None:
    for name in names:
        code, errors = task(script, 1, {key: value for key, value in environment.items() if key != name})
        assert code != 0
        assert f"{name}: say w" in errors


def test_an_array_answers_each_row_once(fake_vllm: dict[str, str], slurm: Slurm, dataset: Path, tmp_path: Path) -> None:
    environment = {
        **fake_vllm, **slurm({"srun": 'exec "$@"', "python": f'exec {sys.executable} "$@"'}),
        "DATASET": str(dataset), "MODEL": "m", "ANSWERS": str(tmp_path / "answers"), "SLURM_ARRAY_TASK_COUNT": "3",
    }  # fmt: skip
    assert_needed("slurm_array", environment, "DATASET", "MODEL")
    # A task that is submitted alone needs the number of shards: 2/1 is refused, and nothing is answered twice.
    code, errors = task("slurm_array", 2, environment, SLURM_ARRAY_TASK_COUNT="1")
    assert code == 2
    assert "--shard" in errors
    alone = {"SLURM_ARRAY_TASK_COUNT": "1", "FLAGS": "--batch 3 --no-prefix-caching", "SHARDS": "3"}
    for number, more in ((1, {}), (2, alone), (3, {})):
        assert task("slurm_array", number, environment, **more) == (0, "")
    report = evaluate(dataset, tmp_path / "answers", metrics=["keyword"])
    assert (report.lines.used, report.lines.read, report.problems) == (36, 36, [])


def test_the_tasks_of_an_array_and_a_merge_build_what_one_process_builds(slurm: Slurm, tmp_path: Path) -> None:
    environment = {
        **os.environ, **slurm({"srun": SRUN, "niah-gen": f'exec {sys.executable} -m niah_gen.cli "$@"'}),
        "PYTHONPATH": str(ROOT), "RECIPE": "plain", "OUT": str(tmp_path / "out"), "SLURM_CPUS_PER_TASK": "1",
        "FLAGS": "--length 600,1k,2k --depths 0,50,100", "SLURM_ARRAY_TASK_COUNT": "3",
    }  # fmt: skip
    assert_needed("slurm_build", environment, "RECIPE", "OUT")
    (command,) = re.findall(r'sbatch --dependency=afterok:\$job --wrap="(.*)"', (ROOT / "docs/cluster.md").read_text())
    *words, folder = shlex.split(command)
    assert folder == "build/cdme"
    merge = [*words, environment["OUT"]]
    for number in (1, 3):
        assert task("slurm_build", number, environment)[0] == 0
    early = subprocess.run(merge, env=environment, capture_output=True, text=True, check=False)
    assert early.returncode == 4
    assert "not written" in early.stderr
    code, errors = task("slurm_build", 2, environment, SLURM_ARRAY_TASK_COUNT="1")
    assert code == 2
    assert "shard 2/1: expected I/N" in errors
    assert task("slurm_build", 2, environment, SLURM_ARRAY_TASK_COUNT="1", SHARDS="3")[0] == 0
    merged = subprocess.run(merge, env=environment, capture_output=True, text=True, check=True)
    alone = niah_gen.build("plain", tmp_path / "alone", overrides={"lengths": "600,1k,2k", "depths": "0,50,100"})
    assert tree(Path(merged.stdout.strip())) == tree(alone)
