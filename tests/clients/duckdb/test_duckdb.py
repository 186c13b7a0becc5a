"""The real DuckDB on the Parquet files of a dataset, with the query that its card gives."""

from __future__ import annotations

import re
from pathlib import Path

import duckdb

import niah_gen
from niah_score.contract import CARD, open_dataset


def test_the_query_in_the_card_counts_every_row(parts: Path) -> None:
    (query,) = re.findall(r"```sql\n(.*?)\n```", (parts / CARD).read_text("utf-8"), re.DOTALL)
    counts = dict(duckdb.sql(query.replace("THIS_FOLDER", str(parts))).fetchall())
    lengths = [row["length"] for row in niah_gen.iter_rows(parts / "recipe.toml")]
    assert counts == {length: lengths.count(length) for length in set(lengths)}


def test_prompts_spans_and_messages_equal_those_of_the_rows(texts: Path, chats: Path) -> None:
    for folder in (texts, chats):
        files = [str(file.path) for file in open_dataset(folder).files()]
        columns = "id, prompt, needle_spans, keywords"
        rows = {name: values for name, *values in duckdb.read_parquet(files).select(columns).fetchall()}
        for row in niah_gen.iter_rows(folder / "recipe.toml"):
            assert rows.pop(row["id"]) == [row["prompt"], row["needle_spans"], row["keywords"]]
        assert rows == {}
