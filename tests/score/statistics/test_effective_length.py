"""Effective lengths as RULER and NoLiMa define them, with the intervals that the intervals of the means leave."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from made_scores import Record, frame, grid, steady

from niah_score.errors import ScoreError
from niah_score.statistics.effective_length import RULER_THRESHOLD, as_record, effective_length, effective_length_of
from niah_score.statistics.figures import Figure


def test_the_effective_length_is_the_longest_that_reaches_the_threshold() -> None:
    scores = frame(grid([[95.0], [80.0], [90.0], [85.6], [85.5]], repeats=40))
    actual = effective_length(scores)
    assert actual.threshold == RULER_THRESHOLD
    assert (actual.length, actual.longest_unbroken) == (4000, 1000)
    assert [figure.n for _, figure in actual.lengths] == [40] * 5
    assert effective_length(scores, threshold=50).length == 5000
    none = effective_length(scores, threshold=99)
    assert (none.length, none.longest_unbroken) == (None, None)
    # Rows without a length are counted apart.
    apart = effective_length(frame([*grid([[100.0]]), {"score": 0.0}, {"score": None, "length": 2000}]))
    assert (apart.length, apart.longest_unbroken, apart.without_length) == (1000, 1000, 1)


def test_nolimas_base_is_the_best_of_the_short_lengths_or_else_the_shortest() -> None:
    rows = [
        {"length": length, "score": score} for length, score in [(250, 90.0), (500, 96.0), (1000, 80.0), (8000, 82.0)]
    ]
    actual = effective_length(frame(rows), share_of_base=0.85)
    assert (actual.base, actual.base_lengths, actual.base_is_short) == (96.0, (250, 500, 1000), True)
    assert actual.threshold == pytest.approx(81.6)
    assert (actual.length, actual.longest_unbroken) == (8000, 500)
    longer = effective_length(frame(grid([[0], [80], [60]])[1:]), share_of_base=0.85)
    assert (longer.base, longer.base_lengths, longer.base_is_short) == (80.0, (2000,), False)
    asked = effective_length(frame(rows), share_of_base=0.5, base_lengths=[1000])
    assert (asked.base, asked.threshold) == (80.0, 40.0)


def test_nolimas_base_by_needle_is_the_mean_of_each_needles_best_short_score() -> None:
    short = {"a": {250: 90.0, 500: 50.0}, "b": {250: 20.0, 500: 60.0}}
    rows = [
        {"length": length, "score": score, "needle_id": needle}
        for needle, scores in short.items()
        for length, score in {**scores, 2000: 70.0, 4000: 60.0}.items()
    ]
    assert effective_length(frame(rows), share_of_base=0.85).base == 55.0
    actual = effective_length(frame(rows), share_of_base=0.85, by_needle=True)
    assert (actual.base, actual.base_lengths, actual.base_is_short) == (75.0, (250, 500), True)
    assert actual.threshold == pytest.approx(63.75)
    assert (actual.length, actual.longest_unbroken) == (2000, None)
    assert actual.interval == effective_length(frame(rows), threshold=63.75).interval == (None, 4000)


def test_a_base_of_0_leaves_no_effective_length() -> None:
    """Otherwise every mean would reach the threshold, 0.85 of 0."""
    rows = [{**row, "needle_id": needle} for row in grid([[0.0], [0.0], [100.0]]) for needle in "ab"]
    for options in ({}, {"by_needle": True}, {"base_lengths": [2000]}):
        actual = effective_length(frame(rows), share_of_base=0.85, **options)
        assert (actual.base, actual.threshold, actual.length, actual.longest_unbroken) == (0.0, None, None, None)
        assert (actual.interval, actual.or_more) == (None, False)


@steady
@given(
    ends=st.lists(st.lists(st.integers(70, 100), min_size=3, max_size=3).map(sorted), max_size=6),
    threshold=st.integers(75, 95) | st.none(),
    one_needle=st.integers(0, 20),
    unscored=st.integers(0, 20),
)
def test_the_interval_is_what_the_means_intervals_leave_and_contains_the_length(
    ends: list[list[int]], threshold: int | None, one_needle: int, unscored: int
) -> None:
    """`ends`: low, mean and high of each length; two may have no interval or mean. No threshold: 0.85 of the base."""
    figures = []
    for number, (low, mean, high) in enumerate(ends):
        figure = Figure(9, 9, 0, mean, low, high, "made")
        if number == one_needle:
            figure = figure._replace(low=None, high=None)
        if number == unscored:
            figure = Figure(9, 0, 0, None, None, None, "none")
        figures.append((1000 * (number + 1), figure))
    actual = effective_length_of(figures, threshold, 0.85 if threshold is None else None)
    if actual.threshold is None or not figures or any(figure.low is None for _, figure in figures):
        assert (actual.interval, actual.or_more) == (None, False)
        return
    sure = possible = None
    for length, figure in figures:
        assert figure.low is not None
        assert figure.high is not None
        if figure.low >= actual.threshold:
            sure = length
        if figure.high >= actual.threshold:
            possible = length
    assert actual.interval == (sure, possible)
    assert actual.or_more == (possible == figures[-1][0])
    assert (sure or 0) <= (actual.length or 0) <= (possible or 0)


def test_the_interval_contains_the_true_length_of_simulated_models() -> None:
    """Right and wrong rows of 12 needles at 6 lengths: a model that is as good at all, one that drops, one that fails.

    Each end may miss in 2.5 of a hundred runs, the low one for each longer length that truly fails.
    """
    numbers, lengths, runs = np.random.default_rng(5), [1000, 2000, 4000, 8000, 16000, 32000], 40
    models: list[tuple[list[float], int | None]] = [
        ([0.965] * 6, 32000),
        ([0.965] * 4 + [0.7] * 2, 8000),
        ([0.7] * 6, None),
    ]
    for chances, true in models:
        missed = 0
        for _ in range(runs):
            rows: list[Record] = [
                {"length": length, "needle_id": f"n{needle:02}", "score": 100.0 * (numbers.random() < chance)}
                for length, chance in zip(lengths, chances, strict=True)
                for needle in range(12)
                for _ in range(6)
            ]
            actual = effective_length(frame(rows))
            assert actual.interval is not None
            low, high = actual.interval
            missed += not (low or 0) <= (true or 0) <= (high or 0)
            assert actual.or_more == (high == 32000)
        assert missed <= 2, (chances, missed)


def test_contradictory_or_impossible_options_are_refused() -> None:
    scores = frame(grid([[1.0]]))
    with pytest.raises(ScoreError, match="not by both"):
        effective_length(scores, threshold=80, share_of_base=0.85)
    with pytest.raises(ScoreError, match="no row of length 500 has a score"):
        effective_length(scores, share_of_base=0.85, base_lengths=[500, 1000])


def test_files_hold_everything_but_the_figures() -> None:
    record = as_record(effective_length(frame(grid([[100.0], [0.0]], repeats=40)), share_of_base=0.85))
    assert record == {
        "threshold": 85.0, "length": 1000, "interval": [1000, 1000], "or_more": False, "longest_unbroken": 1000,
        "base": 100.0, "base_lengths": [1000], "base_is_short": True, "without_length": 0,
    }  # fmt: skip
