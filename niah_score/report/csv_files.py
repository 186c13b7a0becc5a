"""Writes frames as CSV files in which a spreadsheet sees no formulas."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from niah_score.text.visible import FORMULA_MARKS

if TYPE_CHECKING:
    import polars as pl


def write_csv(frame: pl.DataFrame, path: Path) -> None:
    """Write a frame with its columns mean, low and high rounded to four decimals."""
    import polars as pl

    texts = [name for name, kind in frame.schema.items() if kind == pl.String]
    plain = frame.with_columns(
        *(plain_cells(pl.col(name)) for name in texts), pl.col("mean", "low", "high").cast(pl.Float64).round(4)
    )
    # polars and Arrow cannot open a path that is not UTF-8.
    with path.open("wb") as file:
        plain.write_csv(file)


def plain_cells(column: pl.Expr) -> pl.Expr:
    """A column with `as_plain_cell` applied to each text."""
    import polars as pl

    risky = pl.any_horizontal(column.str.starts_with(mark) for mark in FORMULA_MARKS)
    return pl.when(risky).then(pl.lit("'") + column).otherwise(column).alias(column.meta.output_name())
