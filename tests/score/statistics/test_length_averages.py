"""RULER's weighted averages over lengths."""

from __future__ import annotations

import pytest

from niah_score.statistics.length_averages import LengthAverages, length_averages

# Gemini 1.5 Pro in RULER's table, 4k to 128k, and its two averages there.
GEMINI = (96.7, 95.8, 96.0, 95.9, 95.9, 94.4)


def test_the_averages_are_those_of_the_published_table() -> None:
    assert [round(mean or 0, 1) for mean in length_averages(GEMINI)] == [95.5, 96.1]


def test_a_length_without_a_mean_is_left_out() -> None:
    assert length_averages([100.0, None, 40.0]) == LengthAverages(60.0, 80.0)


def test_without_means_there_are_no_averages() -> None:
    assert length_averages([]) == length_averages([None]) == LengthAverages(None, None)


def test_one_length_is_its_own_average() -> None:
    assert length_averages([12.5]) == pytest.approx((12.5, 12.5))
