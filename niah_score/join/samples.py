"""Lays rows and their answers out as lines, and reduces the lines of a row to one: mean, best, or majority."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from niah_score.text import fold

if TYPE_CHECKING:
    import polars as pl

    from niah_score.join.rows import Rows

WAYS = ("mean", "best", "majority")


def lines_of(rows: Rows, answers: pl.DataFrame) -> pl.DataFrame:
    """A line for each sample of a row, and one for each row without an answer: the row's columns, then the answer's.

    `answers`: those of `Joined`. Lines are in the order of the rows; without an answer, `sample` is null. Texts are not
    copied.
    """
    import polars as pl

    numbers = answers.select("place", pl.int_range(pl.len()).alias("nth"))
    lines = rows.placed().join(numbers, on="place", how="left", maintain_order="left_right")
    table = rows.table if lines.height == rows.table.height else rows.table[lines["place"]]
    given = answers.select("sample", "text", "reasoning", "finish", "error").select(pl.all().gather(lines["nth"]))
    return pl.concat([table, given], how="horizontal")


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
        ok = pl.when((pl.col("status") == "ok").any()).then(pl.lit("ok")).otherwise(pl.col("status").first())
        chosen = frame.group_by("id", maintain_order=True).agg(
            pl.col(name).mean() if name in scores else ok.alias(name) if name == "status" else pl.col(name).first()
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
