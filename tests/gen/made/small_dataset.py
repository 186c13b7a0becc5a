"""Provides a small recipe, and writes a corpus for it, for tests that build datasets."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import niah_gen
from niah_gen.errors import RecipeError
from niah_gen.recipe.read import load_recipe
from niah_score.contract import Row

SMALL: dict[str, Any] = {"name": "small", "lengths": [600, 1000], "depths": [0, 40, 100], "repeats": 2}


def notes(parent: Path, word: str = "short") -> Path:
    """A user's corpus called `notes`."""
    folder = parent / "notes"
    folder.mkdir(parents=True)
    (folder / "a.txt").write_text(f"A {word} tale was told. It had an end! Was it good? It was. " * 60)
    return folder


# Provides a needle, and the problems of recipes that are refused, for tests


FACT: dict[str, Any] = {"needle": "The gate is green.", "question": "Which?", "keywords": ["green"]}


def problems(source: Any, overrides: dict[str, Any] | None = None) -> tuple[str, ...]:
    """The problems of a recipe that must be refused; the error's message must state them all."""
    with pytest.raises(RecipeError) as caught:
        load_recipe(source, overrides)
    assert all(problem in str(caught.value) for problem in caught.value.problems)
    return caught.value.problems


# Builds rows of a small grid, for tests


def rows_of(**changes: object) -> list[Row]:
    """The rows of a recipe of two lengths and four depths, with the given changes; corpora may repeat."""
    grid: dict[str, Any] = {"lengths": [700, 1500], "depths": [0, 33, 50, 100]}
    recipe = {**grid, "guide": False, "allow_repeats": True, **changes}
    return list(niah_gen.iter_rows(recipe))


# Reads all files of a folder, for tests that compare folders


def tree(folder: Path) -> dict[str, bytes]:
    """The bytes of every file below a folder, by its path from there."""
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def tree_but_locks(folder: Path) -> dict[str, bytes]:
    """`tree` without lock files."""
    return {path: data for path, data in tree(folder).items() if not path.endswith(".lock")}
