"""Ids of rows: which settings change the family that ids begin with."""

from __future__ import annotations

from typing import Any

from niah_gen.recipe.read import load_recipe
from niah_gen.rows.plan import make_plan


def test_the_id_family_depends_only_on_settings_that_all_rows_share() -> None:
    fields: list[dict[str, Any]] = [
        {},
        {"question_position": "start"},
        {"boundary": "word"},
        {"leaks": "report"},
        {"fresh_haystacks": True},
    ]
    families = {make_plan(load_recipe("plain", field)).parts[0].family for field in fields}
    assert len(families) == len(fields)
    assert (
        make_plan(load_recipe("plain", {"lengths": [900], "name": "other", "repeats": 2})).parts[0].family in families
    )
