"""Makes rows of needles and haystacks that differ in how hard they are, and computes their intervals."""

from __future__ import annotations

import random
from collections.abc import Sequence

from hypothesis import strategies as st
from properties import examples

from niah_score.statistics.intervals import Interval, interval

steady = examples(60)

Row = tuple[float, str | None, str | None]
some_rows = st.lists(
    st.tuples(
        st.sampled_from([0.0, 100.0, 100.0, 100 / 3, 62.5]),
        st.sampled_from([None, "n1", "n2", "n3"]),
        st.sampled_from([None, "h1", "h2", "h3", "h4"]),
    ),
    min_size=1,
    max_size=30,
)


def of(rows: Sequence[Row], seed: str = "seed") -> Interval:
    """The interval of some rows."""
    values, needles, haystacks = zip(*rows, strict=True)
    return interval(values, needles, haystacks, seed)


def ends(found: Interval) -> tuple[float, float]:
    """Its low and high end."""
    assert found.low is not None
    assert found.high is not None
    return found.low, found.high


def graded(needles: int, haystacks: int, most: int, seed: int) -> list[Row]:
    """Rows of needles and haystacks that differ in how hard they are, up to `most` of a pair."""
    draw = random.Random(seed)
    hard = [[draw.gauss(0, 12) for _ in range(count)] for count in (needles, haystacks)]
    return [
        (min(100.0, max(0.0, 55 + hard[0][a] + hard[1][b] + draw.gauss(0, 8))), f"n{a:03}", f"h{b:03}")
        for a in range(needles)
        for b in range(haystacks)
        for _ in range(draw.randint(0, most))
    ]
