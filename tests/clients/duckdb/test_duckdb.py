"""The real DuckDB on the Parquet files of a dataset, with the query that its card gives."""

from __future__ import annotations

import re
from pathlib import Path

import duckdb

import niah_gen
from niah_score.contract import CARD


def test_the_query_in_the_card_counts_every_row(parts: Path) -> None:
    (query,) = re.findall(r"```sql\n(.*?)\n```", (parts / CARD).read_text("utf-8"), re.DOTALL)
    counts = dict(duckdb.sql(query.replace("THIS_FOLDER", str(parts))).fetchall())
    lengths = [row["length"] for row in niah_gen.iter_rows(parts / "recipe.toml")]
    assert counts == {length: lengths.count(length) for length in set(lengths)}
