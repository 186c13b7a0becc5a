"""The datasets that are exported, each over two lengths: text, chats, and text with twins without the needle."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

GRID: dict[str, Any] = {
    "name": "grid", "lengths": [700, 900], "depths": [0, 40, 70, 100], "needles": ["velden-archive", "heyuan-archive"],
}  # fmt: skip


@pytest.fixture(scope="session")
def grid(built_once: Callable[..., Path]) -> Path:
    """16 rows of text."""
    return built_once(GRID)


@pytest.fixture(scope="session")
def chats(built_once: Callable[..., Path]) -> Path:
    """16 chats with a system message, as JSON Lines."""
    recipe = {**GRID, "form": "chat", "system": "Be brief."}
    return built_once(recipe, ["jsonl.zst"])


@pytest.fixture(scope="session")
def twins(built_once: Callable[..., Path]) -> Path:
    """32 rows of text, 16 of them without the needle."""
    return built_once({**GRID, "controls": ["absent"]})
