"""A dataset to attack, and a copy of it that may be damaged."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from attacks_on_folders import Place

RECIPE = {
    "name": "attacked", "lengths": [600], "depths": [0, 50, 100], "needles": ["velden-archive"], "languages": ["en"],
}  # fmt: skip


@pytest.fixture(scope="session")
def sound(built_once: Callable[..., Path]) -> tuple[Path, Path]:
    """A dataset, and another one of the same shape."""
    formats = ["parquet", "jsonl"]
    return built_once(RECIPE, formats), built_once({**RECIPE, "seed": 1}, formats)


@pytest.fixture
def place(sound: tuple[Path, Path], tmp_path: Path) -> Place:
    """A copy of the dataset, and an empty folder beside it."""
    (tmp_path / "outside").mkdir()
    return Place(Path(shutil.copytree(sound[0], tmp_path / "copy")), sound[1], tmp_path / "outside")
