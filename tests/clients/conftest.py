"""The datasets that real clients are asked about: texts, chats with roles, and one with parts and controls."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import niah_gen

# Assertions in the modules beside this one show values when they fail, as in a test.
pytest.register_assert_rewrite("client_runs", "planned_server", "planned_batches")

_GRID: dict[str, Any] = {
    "lengths": [600, 1000],
    "depths": [0, 50, 100],
    "needles": ["velden-archive", "heyuan-archive"],
}
_PARTS: dict[str, Any] = {
    "name": "parts", "lengths": [600, 1000], "depths": [0, 50, 100], "corpora": ["en_essays"], "form": "chat",
    "needles_per_cell": 1, "controls": ["absent", "no_context"], "control_depths": [50],
    "parts": [
        {
            "name": "facts", "weight": 3, "needles": ["velden-archive", "brannock-lighthouse"],
            "needles_per_cell": 2, "max_new_tokens": 150,
        },
        {"name": "lists", "task": "multi", "needles": ["list-en"]},
        {"name": "plain", "weight": 0, "needles": ["velden-archive"], "controls": []},
    ],
}  # fmt: skip


@pytest.fixture(scope="session")
def texts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """12 texts in two languages and two lengths."""
    return niah_gen.build({**_GRID, "name": "texts"}, tmp_path_factory.mktemp("texts"))


@pytest.fixture(scope="session")
def chats(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same as chats, with a system message."""
    recipe = {**_GRID, "name": "chats", "form": "chat", "system": "Be brief."}
    return niah_gen.build(recipe, tmp_path_factory.mktemp("chats"))


@pytest.fixture(scope="session")
def parts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """38 chats in one language and two lengths: two parts of different weight, one without weight, two controls."""
    return niah_gen.build(_PARTS, tmp_path_factory.mktemp("parts"))
