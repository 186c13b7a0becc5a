"""Effective lengths as RULER and NoLiMa define them, and the context within which every depth is good enough."""

from __future__ import annotations

import pytest
from made_scores import frame, grid

from niah_score.errors import ScoreError
from niah_score.statistics.effective_length import RULER_THRESHOLD, as_record, effective_context, effective_length


def test_the_effective_length_is_the_longest_that_reaches_the_threshold() -> None:
    scores = frame(grid([[95.0], [80.0], [90.0], [85.6], [85.5]], repeats=40))
    actual = effective_length(scores)
    assert actual.threshold == RULER_THRESHOLD
    assert (actual.length, actual.longest_unbroken, actual.next_length) == (4000, 1000, 5000)
    assert actual.is_significant is False
    assert [figure.n for _, figure in actual.lengths] == [40] * 5
    assert effective_length(scores, threshold=50).length == 5000
    assert effective_length(scores, threshold=50).is_significant is None
    none = effective_length(scores, threshold=99)
    assert (none.length, none.longest_unbroken, none.next_length) == (None, None, 1000)


def test_a_length_far_below_the_threshold_is_significantly_below() -> None:
    actual = effective_length(frame(grid([[100.0], [0.0]], repeats=40)))
    assert (actual.length, actual.is_significant) == (1000, True)


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
    assert (actual.length, actual.longest_unbroken, actual.next_length) == (2000, None, 4000)
    nothing = effective_length(frame([{**row, "score": 0.0} for row in rows]), share_of_base=0.85, by_needle=True)
    assert (nothing.base, nothing.threshold, nothing.length) == (0.0, None, None)


def test_a_base_of_0_leaves_no_effective_length() -> None:
    """Otherwise every mean would reach the threshold, 0.85 of 0."""
    actual = effective_length(frame(grid([[0.0], [0.0], [100.0]])), share_of_base=0.85)
    assert (actual.base, actual.threshold, actual.length, actual.longest_unbroken) == (0.0, None, None, None)
    assert (actual.next_length, actual.is_significant) == (1000, None)
    assert effective_length(frame(grid([[0.0], [0.0]])), share_of_base=0.85, base_lengths=[2000]).length is None


def test_the_effective_context_ends_where_one_depth_is_below_whatever_the_mean() -> None:
    scores = frame(grid([[100.0, 90.0, 85.6], [100.0, 100.0, 85.5], [100.0, 100.0, 100.0]], repeats=40))
    actual = effective_context(scores)
    assert (actual.threshold, actual.length, actual.next_length, actual.depths_below) == (85.6, 1000, 2000, (100.0,))
    assert effective_length(scores).length == 3000
    assert actual.fewest_rows == 40
    assert actual.is_significant is False
    assert effective_context(scores, threshold=80)[1:4] == (3000, None, ())
    assert effective_context(scores, threshold=95)[1:4] == (None, 1000, (50.0, 100.0))


def test_the_effective_context_reports_whether_a_depth_is_significantly_below() -> None:
    actual = effective_context(frame(grid([[100.0, 100.0], [0.0, 80.0]], repeats=40)))
    assert (actual.length, actual.depths_below, actual.is_significant) == (1000, (0.0, 50.0), True)


def test_unscored_lengths_end_the_effective_context_and_rows_without_a_depth_are_ignored() -> None:
    rows = grid([[100.0, 100.0], [100.0, 100.0], [100.0, 100.0]])
    rows += [{"score": 0.0, "length": 1000}, {"score": 0.0, "depth_percent": 50.0}]
    assert effective_context(frame(rows))[1:] == (3000, None, (), None, 1)
    for row in rows[2:4]:
        row["score"] = None
    assert effective_context(frame(rows))[1:] == (1000, 2000, (), None, 1)
    assert effective_context(frame([{"score": 100.0, "length": 1000}]))[1:] == (None, None, (), None, None)
    assert effective_context(frame([]))[1:] == (None, None, (), None, None)


def test_contradictory_or_impossible_options_are_refused() -> None:
    scores = frame(grid([[1.0]]))
    with pytest.raises(ScoreError, match="not by both"):
        effective_length(scores, threshold=80, share_of_base=0.85)
    with pytest.raises(ScoreError, match="no row of length 500 has a score"):
        effective_length(scores, share_of_base=0.85, base_lengths=[500, 1000])


def test_rows_without_a_length_are_counted_apart_from_the_effective_length() -> None:
    actual = effective_length(frame([*grid([[100.0]]), {"score": 0.0}, {"score": None, "length": 2000}]))
    assert actual.without_length == 1
    assert (actual.length, actual.longest_unbroken, actual.next_length) == (1000, 1000, 2000)
    assert actual.is_significant is None


def test_files_keep_the_original_names_of_their_fields() -> None:
    record = as_record(effective_length(frame(grid([[100.0], [0.0]], repeats=40)), share_of_base=0.85))
    assert list(record) == [
        "threshold", "length", "longest_unbroken", "base", "base_lengths", "base_is_short", "next_length", "told_apart",
        "without_length",
    ]  # fmt: skip
    assert (record["base_lengths"], record["told_apart"]) == ([1000], True)
    context = as_record(effective_context(frame(grid([[100.0], [0.0]], repeats=40))))
    assert context == {
        "threshold": 85.6, "length": 1000, "next_length": 2000, "depths_below": [0.0], "told_apart": True,
        "fewest_rows": 40,
    }  # fmt: skip
