"""The datasets that are exported, each over two lengths: text, chats, and text with twins without the needle."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import niah_gen

GRID: dict[str, Any] = {
    "name": "grid", "lengths": [700, 900], "depths": [0, 40, 70, 100], "needles": ["velden-archive", "heyuan-archive"],
}  # fmt: skip


@pytest.fixture(scope="session")
def grid(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """16 rows of text."""
    return niah_gen.build(GRID, tmp_path_factory.mktemp("grid"))


@pytest.fixture(scope="session")
def chats(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """16 chats with a system message, as JSON Lines."""
    recipe = {**GRID, "form": "chat", "system": "Be brief."}
    return niah_gen.build(recipe, tmp_path_factory.mktemp("chats"), formats=["jsonl.zst"])


@pytest.fixture(scope="session")
def twins(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """24 rows of text, 8 of them without the needle."""
    return niah_gen.build({**GRID, "controls": ["absent"]}, tmp_path_factory.mktemp("twins"))
