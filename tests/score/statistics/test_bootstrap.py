"""The bootstrap against resampling by hand."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

import pytest
from made_clusters import Row, ends, graded, of

from niah_score.statistics.bootstrap import RESAMPLES, Resamples

PINNED = [[1, 0, 0, 1, 0, 1], [1, 2, 1, 2, 0, 0], [1, 1, 2, 0, 3, 2]]


def two_way(rows: Sequence[Row], draw: random.Random) -> float | None:
    """The mean of a resample: needles and haystacks drawn with replacement, each on its own."""
    counts = []
    for at in (1, 2):
        names = sorted({row[at] or "" for row in rows})
        drawn = draw.choices(names, k=len(names))
        counts.append({name: drawn.count(name) for name in names})
    weights = [counts[0][row[1] or ""] * counts[1][row[2] or ""] for row in rows]
    if not sum(weights):
        return None
    return sum(w * row[0] for w, row in zip(weights, rows, strict=True)) / sum(weights)


def by_rows(rows: Sequence[Row], draw: random.Random) -> float | None:
    """The mean of as many rows drawn with replacement."""
    drawn = draw.choices(rows, k=len(rows))
    return sum(row[0] for row in drawn) / len(rows)


@pytest.mark.parametrize(
    ("rows", "resample", "method"),
    [
        (graded(3, 4, 3, 1), two_way, "bootstrap: needles, haystacks"),
        (graded(8, 5, 2, 2), two_way, "bootstrap: needles, haystacks"),
        (graded(1, 6, 4, 3), two_way, "bootstrap: haystacks"),
        ([(value, needle, None) for value, needle, _ in graded(5, 1, 4, 4)], two_way, "bootstrap: needles"),
        ([(value, None, None) for value, _, _ in graded(1, 9, 2, 5)], by_rows, "bootstrap: rows"),
        (graded(1, 160, 1, 6), two_way, "bootstrap: haystacks"),
    ],
)
def test_the_bootstrap_is_resampling_by_hand(
    rows: list[Row], resample: Callable[[Sequence[Row], random.Random], float | None], method: str
) -> None:
    """Its ends lie at the 2.5th and 97.5th percentile of resamples by hand, give or take what chance there is.

    The share of resamples below a percentile of 1,000 has a standard error of 0.5 %: 4 of them, and the same again for
    4,000 by hand and for ties.
    """
    found = of(rows)
    assert found.method == method
    draw = random.Random(7)
    by_hand = [mean for mean in (resample(rows, draw) for _ in range(4000)) if mean is not None]
    low, high = ends(found)
    assert sum(mean <= low + 1e-6 for mean in by_hand) / len(by_hand) > 0.005
    assert sum(mean < low - 1e-6 for mean in by_hand) / len(by_hand) < 0.055
    assert sum(mean >= high - 1e-6 for mean in by_hand) / len(by_hand) > 0.005
    assert sum(mean > high + 1e-6 for mean in by_hand) / len(by_hand) < 0.055


def test_resamples_draw_as_many_clusters_as_there_are_and_of_many_about_as_many() -> None:
    resamples = Resamples("seed")
    exact = resamples.weights("needles", 7)
    assert exact.shape == (7, RESAMPLES)
    assert set(exact.sum(axis=0).tolist()) == {7.0}
    many = resamples.weights("needles", 500)
    # The sum of 500 of 2,000 clusters drawn together has a standard deviation of 19; a mean of 1,000 of them, 0.6.
    assert abs(many.sum(axis=0).mean() - 500) < 3
    assert abs(many.sum(axis=0).std() - 19.4) < 2
    assert (resamples.weights("haystacks", 7) != exact).any()


def test_the_same_seed_draws_the_same_whatever_the_release_of_numpy() -> None:
    drawn = Resamples("seed").weights("needles", 3)
    assert drawn[:, :6].astype(int).tolist() == PINNED
    assert (Resamples("another").weights("needles", 3) != drawn).any()
