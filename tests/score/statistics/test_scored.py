"""Scored rows have the figures of their groups, whatever was asked before, and what cannot be counted is refused."""

from __future__ import annotations

import math

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from made_scores import Record, frame, steady

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


many_metrics = st.lists(
    st.fixed_dictionaries({
        "language": st.sampled_from(["en", "zh", None]), "length": st.sampled_from([None, 1000, 2000]),
        "needle_id": st.sampled_from("abc"), "haystack_id": st.sampled_from("pqrs"), "part": st.sampled_from("xy"),
        "score": st.sampled_from([0.0, 100.0]), "keyword": st.sampled_from([None, 0.0, 25.0, 100 / 3, 100.0, math.nan]),
    }),
    min_size=1, max_size=40,
)  # fmt: skip


@steady
@given(rows=many_metrics, weights=st.none() | st.just({"x": 1.0, "y": 0.5}))
def test_figures_do_not_depend_on_what_was_asked_before(rows: list[Record], weights: dict[str, float] | None) -> None:
    parts = pl.Series("part", [row["part"] for row in rows])
    scores = frame([{k: v for k, v in row.items() if k != "part"} for row in rows]).with_columns(parts)
    prepared = Scored(scores, weights)
    for by in ((), ("length",), ("language", "length"), ("needle_id",)):
        for metric in ("score", "keyword", "score"):
            assert prepared.figures(metric, *by) == Scored(scores, weights).figures(metric, *by)
    # Rows that are cut out keep their weights, so that their groups have the figures that they have among all rows.
    some = prepared.only(scores["length"].is_not_null())
    of_all = prepared.figures("keyword", "length")
    for place, figure in some.figures("keyword", "length").items():
        one, other = (one._replace(method="")._asdict() for one in (figure, of_all[place]))
        assert one == pytest.approx(other)
