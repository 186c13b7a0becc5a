"""Determines what came back for each row: an answer, nothing, an error, a refusal, or a text that was cut off."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars as pl

STATUSES = ("ok", "missing", "empty", "truncated", "think_unclosed", "refused", "error")


def statuses_of(
    frame: pl.DataFrame, raw: Sequence[str], extracted: Sequence[str], unclosed: Sequence[bool]
) -> list[str]:
    """The status of each joined row: the first one in the code below that applies.

    `frame`: has the columns sample (null without an answer), finish, error and reasoning. `raw`: the answers' texts;
    `extracted`: the answers without reasoning. `unclosed`: whether each text begins with reasoning that never ends.
    """
    import polars as pl

    blank = pl.Series("blank", [not text for text in extracted], pl.Boolean)
    # A text that is nothing but reasoning.
    thinking = [not text and not whole.isspace() and whole != "" for text, whole in zip(extracted, raw, strict=True)]
    cut, finish = pl.col("finish") == "truncated", pl.col("finish")
    thought = pl.col("blank") & cut & (pl.col("thinking") | (pl.col("reasoning").fill_null("") != ""))
    statuses: list[str] = (
        frame.select("sample", "finish", "error", "reasoning")
        .with_columns(blank, pl.Series("thinking", thinking, pl.Boolean), pl.Series("unclosed", unclosed, pl.Boolean))
        .select(
            pl.when(pl.col("sample").is_null()).then(pl.lit("missing"))
            .when(pl.col("error").is_not_null()).then(pl.lit("error"))
            .when(finish == "refused").then(pl.lit("refused"))
            .when(pl.col("unclosed") | thought).then(pl.lit("think_unclosed"))
            .when(cut).then(pl.lit("truncated"))
            .when(pl.col("blank")).then(pl.lit("empty"))
            .otherwise(pl.lit("ok")).alias("status")
        )["status"].to_list()
    )  # fmt: skip
    return statuses
