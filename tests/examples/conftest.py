"""Builds small datasets for the examples: 36 rows in both languages, as text and as chat, in Parquet and JSONL."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest


@pytest.fixture(scope="session")
def small() -> dict[str, Any]:
    """The overrides that make the preset `plain` small."""
    return {"lengths": [600, 700], "depths": [0, 50, 100]}


@pytest.fixture(scope="session")
def dataset(small: dict[str, Any], built_once: Callable[..., Path]) -> Path:
    return built_once("plain", ["parquet", "jsonl", "jsonl.zst"], **small)


@pytest.fixture(scope="session")
def chat_dataset(small: dict[str, Any], built_once: Callable[..., Path]) -> Path:
    return built_once("plain", **small, form="chat")


@pytest.fixture(scope="session")
def truth(dataset: Path) -> list[dict[str, Any]]:
    """The rows of the text dataset, in file order."""
    return [row for file in sorted(dataset.glob("data/*/*.parquet")) for row in pq.read_table(file).to_pylist()]
