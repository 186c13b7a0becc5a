"""Columns of very many rows are codes into their values, and agree with a frame of the same rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
from hypothesis import given
from hypothesis import strategies as st
from properties import examples

from niah_score.statistics import columns
from niah_score.statistics.columns import CodedColumns, ColumnCoder, FrameColumns, merged

KINDS: dict[str, pl.DataType] = {
    "part": pl.String(),
    "length": pl.Int64(),
    "score": pl.Float64(),
    "keyword.needles": pl.List(pl.Boolean()),
}
ROW = st.fixed_dictionaries(
    {
        "part": st.sampled_from([None, "b", "a", "ß", ""]),
        "length": st.sampled_from([None, 3, 1, 2]),
        "score": st.sampled_from([None, 0.0, 100.0, 33.3, float("nan")]),
        "keyword.needles": st.sampled_from([None, [], [True], [True, None], [False, True]]),
    }
)


def coded(frame: pl.DataFrame, size: int) -> CodedColumns:
    """A frame as codes, added `size` rows at a time."""
    coder = ColumnCoder(KINDS, frame.height)
    for part in frame.iter_slices(size):
        coder.add(part)
    return coder.end()


def assert_same(one: FrameColumns | CodedColumns, other: FrameColumns | CodedColumns) -> None:
    assert one.height == other.height
    for name in KINDS:
        left, right = one.factor(name), other.factor(name)
        rows = [[factor.values[code] for code in factor.codes.tolist()] for factor in (left, right)]
        assert rows[0] == rows[1]
        if name != "keyword.needles":
            assert left.values == right.values
        assert other.column(name).equals(one.column(name))
    for ours, theirs in zip(one.numbers("score"), other.numbers("score"), strict=True):
        assert ours.tolist() == theirs.tolist()


@examples(60)
@given(rows=st.lists(ROW, min_size=1, max_size=20), size=st.integers(1, 7), data=st.data())
def test_coded_columns_agree_with_the_frame(rows: list[dict[str, Any]], size: int, data: st.DataObject) -> None:
    frame = pl.DataFrame(rows, schema=KINDS, orient="row").with_columns(pl.col("score").fill_nan(None))
    which = pl.Series(data.draw(st.lists(st.booleans(), min_size=len(rows), max_size=len(rows))), dtype=pl.Boolean)
    one, other = FrameColumns(frame), coded(frame, size)
    assert_same(one, other)
    assert other.frame.equals(frame)
    assert_same(one.filter(which), other.filter(which))
    again = which.filter(which)
    assert_same(one.filter(which).filter(again), other.filter(which).filter(again))
    numbers = other.filter(which).numbers_among_all(pl.int_range(int(which.sum()), eager=True))
    assert numbers.to_list() == which.arg_true().to_list()
    assert other.mapped("score", lambda scores: scores * 2).frame.equals(one.mapped("score", lambda s: s * 2).frame)


def test_few_values_take_one_byte_a_row_and_very_many_values_are_read_back() -> None:
    frame = pl.DataFrame({"part": ["a", "b"] * 50_000, "score": np.arange(100_000) / 7}).with_columns(
        pl.lit(1).alias("length"), pl.lit(None, pl.List(pl.Boolean())).alias("keyword.needles")
    )
    coded_frame = coded(frame, 30_000)
    assert coded_frame.factor("part").codes.dtype == np.uint8
    assert coded_frame.column("score").equals(frame["score"])
    assert coded_frame.numbers("score")[0].tolist() == frame["score"].to_list()
    assert columns._MOST_VALUES < 100_000


def test_values_that_become_equal_are_merged() -> None:
    factor = merged(["b", "a", None, "b"], np.array([0, 1, 2, 3, 0], np.uint8))
    assert (factor.values, factor.codes.tolist()) == (["a", "b", None], [1, 0, 2, 1, 1])
