"""Frames become CSV files with four decimals and without formulas."""

from __future__ import annotations

from pathlib import Path

import polars as pl
from hypothesis import given
from hypothesis import strategies as st
from properties import examples

from niah_score.report.csv_files import plain_cells, write_csv
from niah_score.text.visible import as_plain_cell

texts = st.text(st.sampled_from("=+-@'\t\rab"), max_size=4)


@examples(60)
@given(st.lists(st.none() | texts, max_size=20))
def test_a_column_is_escaped_like_each_of_its_texts(column: list[str | None]) -> None:
    frame = pl.DataFrame({"x": pl.Series(column, dtype=pl.String)}).with_columns(plain_cells(pl.col("x")))
    assert frame["x"].to_list() == [None if text is None else as_plain_cell(text) for text in column]


def test_numbers_have_four_decimals_and_texts_are_plain(tmp_path: Path) -> None:
    frame = pl.DataFrame({"name": ["=x", "y"], "n": [1, -2], "mean": [100 / 3, None], "low": [0.0, None]})
    write_csv(frame.with_columns(high=pl.lit(None)), tmp_path / "a.csv")
    assert (tmp_path / "a.csv").read_text("utf-8") == "name,n,mean,low,high\n'=x,1,33.3333,0.0,\ny,-2,,,\n"
