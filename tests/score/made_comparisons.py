"""Names the files that a comparison writes."""

from __future__ import annotations

TABLES = {"comparison.md", "comparison.tex", "comparison.json", "comparison.csv"}


def pictures(*names: str) -> set[str]:
    return {f"{name}.{kind}" for name in names for kind in ("png", "svg")}
