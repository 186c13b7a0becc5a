"""Provides a small recipe, and writes a corpus for it, for tests that build datasets."""

from __future__ import annotations

from pathlib import Path
from typing import Any

SMALL: dict[str, Any] = {"name": "small", "lengths": [600, 1000], "depths": [0, 40, 100], "repeats": 2}


def notes(parent: Path, word: str = "short") -> Path:
    """A user's corpus called `notes`."""
    folder = parent / "notes"
    folder.mkdir(parents=True)
    (folder / "a.txt").write_text(f"A {word} tale was told. It had an end! Was it good? It was. " * 60)
    return folder
