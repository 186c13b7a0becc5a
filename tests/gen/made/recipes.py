"""Provides a needle, and the problems of recipes that are refused, for tests."""

from __future__ import annotations

from typing import Any

import pytest

from niah_gen.errors import RecipeError
from niah_gen.recipe.read import load_recipe

FACT: dict[str, Any] = {"needle": "The gate is green.", "question": "Which?", "keywords": ["green"]}


def problems(source: Any, overrides: dict[str, Any] | None = None) -> tuple[str, ...]:
    """The problems of a recipe that must be refused; the error's message must state them all."""
    with pytest.raises(RecipeError) as caught:
        load_recipe(source, overrides)
    assert all(problem in str(caught.value) for problem in caught.value.problems)
    return caught.value.problems
