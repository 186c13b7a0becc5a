"""Finds the recipes that come with the package."""

from __future__ import annotations

from pathlib import Path

from niah_gen.errors import RecipeError, suggestion

_FOLDER = Path(__file__).parents[1] / "library" / "presets"


def preset_names() -> list[str]:
    """Names of the recipes that come with the package, sorted."""
    return sorted(entry.name.removesuffix(".toml") for entry in _FOLDER.iterdir() if entry.name.endswith(".toml"))


def preset_text(name: str) -> str:
    """The TOML of a preset. Raises RecipeError for an unknown name."""
    if name not in preset_names():
        raise RecipeError([f"preset {name!r} does not exist{suggestion(name, preset_names())}"])
    return (_FOLDER / f"{name}.toml").read_text("utf-8")
