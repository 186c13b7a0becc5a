"""Scored rows have the figures of their groups, whatever was asked before, and what cannot be counted is refused."""

from __future__ import annotations

import pytest
from made_scores import frame

from niah_score.errors import ScoreError
from niah_score.statistics.scored import Scored, coordinate_text


def test_duplicate_ids_and_unknown_metrics_are_refused() -> None:
    with pytest.raises(ScoreError, match="'row' is on several lines"):
        Scored(frame([{"id": "row"}, {"id": "other"}, {"id": "row"}]))
    with pytest.raises(ScoreError, match="these scores have no metric 'bleu'; they have score, keyword"):
        Scored(frame([{}])).figures("bleu")


def test_coordinates_are_in_natural_order_and_draws_of_a_kind_are_one_needle() -> None:
    rows = [{"length": length, "depth_percent": depth, "needle_id": needle, "score": 50.0} for length, depth, needle in
            ((16000, 100.0, "b"), (2000, 5.0, "a#1-2"), (500, 33.333, "a#2-2"), (500, None, None))]  # fmt: skip
    scored = Scored(frame(rows))
    texts = {name: [coordinate_text(value) for value in scored.factor(name).values] for name in
             ("length", "depth_percent", "needle_id", "needle", "part")}  # fmt: skip
    assert texts == {
        "length": ["500", "2000", "16000"], "depth_percent": ["5", "33.333", "100", None], "part": [None],
        "needle_id": ["a", "b", None], "needle": ["a#1-2", "a#2-2", "b", None],
    }  # fmt: skip
    assert scored.groups("length", "depth_percent")[0] == [(500, 33.333), (500, None), (2000, 5.0), (16000, 100.0)]


def test_so_many_combinations_that_their_product_exceeds_an_integer_stay_apart() -> None:
    names = ("length", "depth_percent", "needle_id", "task", "corpus", "haystack_id")
    rows = [(number, number / 32, *[f"x{number:04}"] * 4) for number in range(3000)]
    places, codes = Scored(frame([dict(zip(names, row, strict=True)) for row in rows])).groups(*names)
    assert places == rows
    assert codes.tolist() == list(range(3000))
