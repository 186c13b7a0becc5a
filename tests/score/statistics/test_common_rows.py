"""Runs are reduced to their common rows, and runs that do not belong together are refused."""

from __future__ import annotations

import polars as pl
import pytest
from made_scored_runs import run

from niah_score.errors import IntegrityError, ScoreError
from niah_score.statistics.common_rows import common_rows


def test_an_id_that_names_two_different_rows_is_refused() -> None:
    one = run([50.0] * 6)
    for column, value in (("length", 9000), ("needle_id", "other"), ("depth_percent", None)):
        other = one.with_columns(pl.lit(value).cast(one.schema[column]).alias(column))
        with pytest.raises(
            IntegrityError, match=rf"'row-00000' has {column} .* in a and .* in b; only runs of the same"
        ):
            common_rows([("a", one), ("b", other)])


def test_runs_that_do_not_belong_together_are_refused() -> None:
    one = run([50.0] * 6)
    with pytest.raises(ScoreError, match="needs two runs or more, found 1"):
        common_rows([("a", one)])
    with pytest.raises(ScoreError, match="two runs are called 'a'"):
        common_rows([("a", one), ("a", one)])
    with pytest.raises(IntegrityError, match=r"b: has no row in common with a: .* runs of the same dataset"):
        common_rows([("a", one), ("b", one.with_columns(id="other-" + pl.col("id")))])
    with pytest.raises(ScoreError, match="b: its scores have no column 'score'"):
        common_rows([("a", one), ("b", one.drop("score"))])
    with pytest.raises(ScoreError, match="is judged by keyword in a and by edit in b"):
        common_rows([("a", one), ("b", run([50.0] * 6, metric="edit"))])


def test_rows_that_are_not_in_every_run_are_left_out_and_named() -> None:
    whole = run([50.0] * 60)
    common = common_rows([("a", whole), ("b", whole.head(50)), ("c", whole.tail(55))])
    assert (common.names, common.rows) == (("a", "b", "c"), (60, 50, 55))
    assert [part.frame["id"].to_list() for part in common.kept] == [whole["id"][5:50].to_list()] * 3
    assert common.notes[0] == "a: 15 of its 60 rows are not in every run and are left out, such as 'row-00000'"
    assert len(common.notes) == 3
