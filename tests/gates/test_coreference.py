"""Guess rates: who finds the group and guesses gets a share of the points, and who reads no text hardly any."""

from __future__ import annotations

from typing import Any, cast

from coreference import COLUMNS, measured, table

import niah_gen

RECIPE: dict[str, Any] = {
    "name": "talks", "task": "coreference", "form": "chat", "lengths": [4000], "depths": [0, 25, 50, 75, 100],
    "options": {"like": [2, 8]}, "controls": ["literal"],
}  # fmt: skip


def test_guessing_is_worth_a_share_of_the_like_replies_and_a_little_more() -> None:
    found = measured(cast(Any, list(niah_gen.iter_rows(RECIPE))))
    assert list(found) == [("en", "2-like"), ("en", "8-like"), ("zh", "2-like"), ("zh", "8-like")]
    for (_, needle), points in found.items():
        share = 100 / int(needle.partition("-")[0])
        assert share <= points["like"] < share + 12
        assert (points["oracle"], points["another"]) == (100, 0)
        assert points["any"] < 20
        assert points["BM25"] < 15
        assert set(points) == set(COLUMNS)
    assert len(table(found).splitlines()) == 2 + 4
