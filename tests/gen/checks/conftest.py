"""Builds the dataset whose rows are proved, and copies it for tests that damage it."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from changed_rows import RECIPE


@pytest.fixture(scope="session")
def lines(built_once: Callable[..., Path]) -> Path:
    """Three English and three Chinese rows, as JSONL."""
    return built_once(RECIPE, ["jsonl"])


@pytest.fixture
def copy(lines: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(lines, tmp_path / "copy"))
