"""Paired differences of two runs and their adjustment, against their definitions."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from made_clusters import difference_of
from made_reports import report, right
from properties import examples

from niah_score.statistics.paired import benjamini_hochberg, holm, pair_of
from niah_score.statistics.scored import Scored

steady = examples(30)


def compared(one: pl.DataFrame, other: pl.DataFrame) -> dict[str, Any]:
    return pair_of(Scored(one), Scored(other), "score")


def run(scores: Sequence[float | None]) -> pl.DataFrame:
    """The rows of a report, over five haystacks."""
    return report(scores).scores.with_columns(haystack_id=pl.format("h{}", pl.int_range(pl.len()) % 5))


def test_differences_of_lengths_and_cells_cover_all_rows_and_equal_those_of_their_rows() -> None:
    one, other = (run(right(share, seed)) for seed, share in enumerate((0.8, 0.6)))
    pair = compared(one, other)
    places = [(part["length"], part["depth_percent"]) for part in pair["cells"]]
    assert places == list(product((1000, 2000, 3000), (0.0, 100.0)))
    for parts in (pair["lengths"], pair["cells"]):
        assert sum(part["rows"] for part in parts) == sum(part["n"] for part in parts) == 240
    frame = one.with_columns(score=other["score"] - pl.col("score"))
    for part, length in zip((pair["overall"], *pair["lengths"]), (None, 1000, 2000, 3000), strict=True):
        rows = frame if length is None else frame.filter(length=length)
        assert part["mean"] == pytest.approx(rows["score"].mean())
        expected = difference_of(rows.select("score", "needle_id", "haystack_id").rows())
        assert (part["p"], part["low"]) == pytest.approx((expected.p, expected.low))


@steady
@given(data=st.data())
def test_swapping_two_runs_only_changes_the_sign_of_their_differences(data: st.DataObject) -> None:
    score = st.sampled_from([0.0, 100.0]) if data.draw(st.booleans()) else st.none() | st.floats(0, 100)
    one, other = (run(data.draw(st.lists(score, min_size=24, max_size=24))) for _ in range(2))
    there, back = (
        [pair["overall"], pair["overall_of_lengths"], *pair["lengths"], *pair["cells"]]
        for pair in (compared(one, other), compared(other, one))
    )
    for this, that in zip(there, back, strict=True):
        for name in ("rows", "n", "p", "adjusted", "test", "noise"):
            assert this[name] == that[name]
        for here, opposite in (("mean", "mean"), ("low", "high"), ("low_these", "high_these")):
            negative = None if that[opposite] is None else pytest.approx(-that[opposite], abs=1e-9)
            assert this[here] == negative


def test_cells_are_adjusted_by_benjamini_hochberg_and_lengths_by_holm() -> None:
    one = right(0.9, 4)
    pair = compared(run(one), run([score if k // 3 % 2 else 0.0 for k, score in enumerate(one)]))
    for name, adjust in (("cells", benjamini_hochberg), ("lengths", holm)):
        assert [part["adjusted"] for part in pair[name]] == adjust([part["p"] for part in pair[name]])
    assert [cell["noise"] for cell in pair["cells"]] == [False, True] * 3


def test_the_mean_of_lengths_counts_each_length_and_depth_equally() -> None:
    """By hand. 1k: depth 0 differs by 0 (two rows), depth 50 by 10: 5. 2k: by 20 (one row). Mean: 12.5."""
    frame = run([0.0] * 4).with_columns(
        length=pl.Series([1000, 1000, 1000, 2000]), depth_percent=pl.Series([0.0, 0.0, 50.0, 0.0])
    )
    other = frame.with_columns(score=pl.Series([0.0, 0.0, 10.0, 20.0]))
    pair = compared(frame, other)
    assert (pair["overall"]["mean"], pair["overall_of_lengths"]["mean"]) == pytest.approx((7.5, 12.5))
    assert [part["mean"] for part in pair["lengths"]] == pytest.approx([10 / 3, 20])
    pair = compared(*(one.with_columns(length=pl.lit(None, pl.Int64)) for one in (frame, other)))
    whole = pair["overall_of_lengths"]
    assert (whole["n"], whole["mean"], whole["noise"], pair["lengths"]) == (0, None, True, [])


@steady
@given(values=st.lists(st.floats(0, 1), min_size=1, max_size=8))
def test_holm_rejects_what_stepping_down_rejects_and_benjamini_hochberg_what_stepping_up_does(
    values: list[float],
) -> None:
    """Holm: the smallest p until the first above level / (m - k). The other: up to the last p(k) <= k / m * level."""
    ordered, m = sorted(values), len(values)
    for level in (0.01, 0.05, 0.3):
        down = next((k for k, p in enumerate(ordered) if p * (m - k) > level), m)
        assert {p for p, a in zip(values, holm(values), strict=True) if a <= level} == set(ordered[:down])
        up = max((k for k, p in enumerate(ordered, 1) if p * (m / k) <= level), default=0)
        last = ordered[up - 1] if up else -1
        assert sum(a <= level for a in benjamini_hochberg(values)) == sum(p <= last for p in values)
