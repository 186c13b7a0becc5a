"""Builds rows of a small grid, for tests."""

from __future__ import annotations

from typing import Any

import niah_gen
from niah_score.contract import Row


def rows_of(**changes: object) -> list[Row]:
    """The rows of a recipe of two lengths and four depths, with the given changes; corpora may repeat."""
    grid: dict[str, Any] = {"lengths": [700, 1500], "depths": [0, 33, 50, 100]}
    recipe = {**grid, "guide": False, "allow_repeats": True, **changes}
    return list(niah_gen.iter_rows(recipe))
