"""Reads how many tokens a recipe reserves for answers: the length less the reserve is the budget of a prompt."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from niah_score.contract import RECIPE, parse_toml


class Reserves(NamedTuple):
    """Tokens that stay free for the answer: in all rows, and in the parts with their own number.

    Both are empty if the recipe does not say.
    """

    every: int | None
    parts: Mapping[str, int]

    def budget(self, row: Mapping[str, Any]) -> int | None:
        """The tokens that a row's prompt may have; a control may use the reserve."""
        length = row["length"]
        reserve = self.parts.get(row["part"], self.every) if isinstance(row["part"], str) else self.every
        if reserve is None or not isinstance(length, int) or isinstance(length, bool):
            return None
        return length - reserve if row["control"] is None else length


def reserves_of(folder: Path) -> Reserves:
    """What the recipe in a dataset folder reserves; a folder made by hand may have none."""
    try:
        recipe = parse_toml((folder / RECIPE).read_text("utf-8"))
    except (OSError, ValueError, RecursionError):
        return Reserves(None, {})
    parts = recipe.get("parts", [])
    return Reserves(
        _tokens(recipe),
        {
            part["name"]: tokens
            for part in (parts if isinstance(parts, list) else [])
            if isinstance(part, dict) and isinstance(part.get("name"), str) and (tokens := _tokens(part)) is not None
        },
    )


def _tokens(table: Mapping[str, Any]) -> int | None:
    tokens = table.get("reserve")
    return tokens if isinstance(tokens, int) and not isinstance(tokens, bool) else None
