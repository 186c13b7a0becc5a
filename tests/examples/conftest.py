"""Builds small datasets for the examples: 36 rows in both languages, as text and as chat; stands in for vLLM."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from changed_rows import rows_of

ROOT = Path(__file__).parents[2]
SMALL: dict[str, Any] = {"lengths": [600, 700], "depths": [0, 50, 100]}


@pytest.fixture(scope="session")
def dataset(built_once: Callable[..., Path]) -> Path:
    return built_once("plain", ["parquet", "jsonl", "jsonl.zst"], **SMALL)


@pytest.fixture(scope="session")
def chat_dataset(built_once: Callable[..., Path]) -> Path:
    return built_once("plain", **SMALL, form="chat")


@pytest.fixture(scope="session")
def truth(dataset: Path) -> list[dict[str, Any]]:
    """The rows of the text dataset, in file order."""
    return rows_of(dataset)


@pytest.fixture
def fake_vllm(truth: list[dict[str, Any]], tmp_path: Path) -> dict[str, str]:
    """The environment in which fake_vllm/ replaces vLLM and answers every prompt of the text dataset."""
    (tmp_path / "truth.json").write_text(json.dumps({row["prompt"]: row["answers"][0] for row in truth}), "utf-8")
    return {
        **os.environ,
        "PYTHONPATH": os.pathsep.join((str(Path(__file__).parent / "fake_vllm"), str(ROOT))),
        "FAKE_VLLM_TRUTH": str(tmp_path / "truth.json"),
        "FAKE_VLLM_CALLS": str(tmp_path / "calls.jsonl"),
    }


@pytest.fixture
def slurm(tmp_path: Path) -> Callable[[dict[str, str]], dict[str, str]]:
    """Makes commands of these shell lines, and returns a PATH that leads to them."""

    def make(commands: dict[str, str]) -> dict[str, str]:
        (tmp_path / "bin").mkdir()
        for name, lines in commands.items():
            (tmp_path / "bin" / name).write_text(f"#!/bin/bash\n{lines}\n")
            (tmp_path / "bin" / name).chmod(0o755)
        return {"PATH": f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}"}

    return make
