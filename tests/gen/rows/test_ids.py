"""Ids of rows: what they spell, what changes them, and which settings change the family that they begin with."""

from __future__ import annotations

from functools import partial
from typing import Any

from niah_gen.rows.ids import row_id


def test_an_id_spells_the_coordinates_and_changes_with_whatever_is_asked() -> None:
    row: Any = {
        "prompt_sha256": "0" * 64, "question": "Which gate?", "answers": ["The blue gate."], "keywords": [["blue"]],
        "corpus": "essays", "length": 8000, "depth_percent": 35.5, "needle_id": "gate", "repeat": 2, "control": None,
    }  # fmt: skip
    name_of: Any = partial(row_id, "3f9c2a1b")
    name = name_of(row)
    assert name.startswith("3f9c2a1b-essays-8000-d0355-gate-r2-")
    changes: dict[str, Any] = {
        "prompt_sha256": "1" * 64, "question": "Which door?", "answers": ["Blue."], "keywords": [["azure"]],
        "corpus": "articles", "length": 4000, "depth_percent": 35.51, "needle_id": "door", "repeat": 3,
        "control": "absent",
    }  # fmt: skip
    others = {field: name_of({**row, field: value}) for field, value in changes.items()}
    assert [field for field, other in others.items() if other == name] == []
    assert len({*others.values()}) == len(others)
