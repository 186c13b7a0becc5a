"""Guess rates: a guess within the right group earns a share of the points, and a guess without reading hardly any."""

from __future__ import annotations

from typing import Any, cast

import pytest
from coreference import COLUMNS, measured, table

import niah_gen

pytestmark = pytest.mark.slow

RECIPE: dict[str, Any] = {
    "name": "talks", "task": "coreference", "form": "chat", "lengths": [4000], "depths": [0, 25, 50, 75, 100],
    "options": {"like": [2, 8]}, "controls": ["literal"],
}  # fmt: skip


def test_guessing_among_n_like_replies_earns_slightly_more_than_one_in_n() -> None:
    by_group = measured(cast(Any, list(niah_gen.iter_rows(RECIPE))))
    assert list(by_group) == [("en", "2-like"), ("en", "8-like"), ("zh", "2-like"), ("zh", "8-like")]
    for (_, needle), points in by_group.items():
        share = 100 / int(needle.partition("-")[0])
        assert share <= points["like"] < share + 12
        assert (points["oracle"], points["another"]) == (100, 0)
        assert points["any"] < 20
        assert points["BM25"] < 15
        assert set(points) == set(COLUMNS)
    assert len(table(by_group).splitlines()) == 2 + 4
