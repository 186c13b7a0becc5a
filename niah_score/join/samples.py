"""Reduces the samples of a row to one line: their mean, the best of them, or what the majority says."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from niah_score.text import fold

if TYPE_CHECKING:
    import polars as pl

WAYS = ("mean", "best", "majority")


def one_line_each(frame: pl.DataFrame, way: str, scores: Sequence[str]) -> pl.DataFrame:
    """One line for each row, in order, with the number of its `samples`.

    mean: every score is the mean over the samples that have one, the status is ok if any sample's is, and the rest is
    the first sample's. best: the sample with the highest score. majority: the first sample with the most frequent text,
    compared folded. `scores`: the columns that are scores.
    """
    import polars as pl

    count = frame.group_by("id", maintain_order=True).len("samples")
    if count.height == frame.height:
        return frame.drop("sample").with_columns(pl.lit(1, pl.Int64).alias("samples"))
    if way == "mean":
        chosen = frame.group_by("id", maintain_order=True).agg(
            pl.col(name).mean() if name in scores else _status() if name == "status" else pl.col(name).first()
            for name in frame.columns
            if name != "id"
        )
    elif way == "best":
        ranked = frame.sort("score", descending=True, nulls_last=True, maintain_order=True)
        chosen = ranked.unique("id", keep="first", maintain_order=True)
    else:
        texts = frame.select(pl.coalesce("extracted", "prediction"))["extracted"].to_list()
        folded = pl.Series("folded", [fold(text or "") for text in texts])
        votes = frame.with_columns(folded).with_columns(pl.len().over("id", "folded").alias("votes"))
        ranked = votes.sort("votes", descending=True, maintain_order=True)
        chosen = ranked.unique("id", keep="first", maintain_order=True).drop("folded", "votes")
    return count.join(chosen, on="id", how="left", maintain_order="left").select(
        *(name for name in frame.columns if name != "sample"), "samples"
    )


def samples_type(*, several: bool) -> pl.DataType:
    """The type of the column `samples`. `several`: whether any row of the dataset has more than one."""
    import polars as pl

    return pl.UInt32() if several else pl.Int64()


def _status() -> pl.Expr:
    import polars as pl

    ok = pl.when((pl.col("status") == "ok").any()).then(pl.lit("ok")).otherwise(pl.col("status").first())
    return ok.alias("status")
