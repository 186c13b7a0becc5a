"""Quotients of sums and their intervals follow the plain formula of a ratio over clusters."""

from __future__ import annotations

import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from properties import examples

from niah_score.logprobs.report import Ratio, ratio


def test_no_rows_have_no_ratio_and_a_single_cluster_has_no_interval() -> None:
    assert ratio([], [], []) == Ratio()
    assert ratio([1.0, 2.0], [2.0, 2.0], ["a", "a"]) == (0.75, None, None, 1, "one of documents: no interval")


@given(seed=st.integers(0, 10**6), clusters=st.integers(2, 12), each=st.integers(1, 4))
@examples(40)
def test_equal_clusters_have_the_linearised_variance_of_a_ratio(seed: int, clusters: int, each: int) -> None:
    draw = random.Random(seed)
    names = [name for name in range(clusters) for _ in range(each)]
    below = [100.0] * len(names)
    above = [draw.uniform(100, 400) for _ in names]
    estimate = ratio(above, below, names)
    mean = sum(above) / sum(below)
    sums = [sum(above[n] - mean * below[n] for n, own in enumerate(names) if own == name) for name in range(clusters)]
    clustered = clusters / (clusters - 1) * sum(one * one for one in sums) / sum(below) ** 2
    rows = sum((one - mean * size) ** 2 for one, size in zip(above, below, strict=True)) / sum(below) ** 2
    rows *= len(names) / (len(names) - 1)
    assert estimate.value == pytest.approx(mean)
    assert estimate.low is not None
    assert estimate.high is not None
    t = (estimate.high - estimate.low) / 2 / math.sqrt(max(clustered, rows))
    assert 1.959 < t < 12.8
    assert estimate.method == f"t: {clusters} documents" + ", rough" * (clusters < 10)
    backwards = ratio(above[::-1], below[::-1], names[::-1])
    assert backwards[:3] == pytest.approx(estimate[:3])
