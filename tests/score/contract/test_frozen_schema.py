"""Version 1 of the row schema: its columns, order and types, which every release has to keep."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow.parquet as pq

from niah_score.contract import COLUMNS, SCHEMA_VERSION, open_dataset, row_schema

FROZEN = Path(__file__).parents[2] / "contract" / "frozen"
SPAN = "struct<start: int32, end: int32>"
TEXT = (
    ("id", "string"), ("task", "string"), ("part", "string"), ("language", "string"), ("corpus", "string"),
    ("tokenizer", "string"), ("placement", "string"), ("template", "string"), ("control", "string"),
    ("length", "int32"), ("depth_percent", "double"), ("needle_id", "string"), ("haystack_id", "string"),
    ("repeat", "int32"), ("seed", "int64"), ("question", "string"), ("question_language", "string"),
    ("answers", "list<item: string>"), ("keywords", "list<item: list<item: string>>"),
    ("keyword_kinds", "list<item: string>"), ("rejects", "list<item: list<item: string>>"),
    ("decoys", "list<item: list<item: string>>"), ("metric", "string"), ("answer_prefix", "string"),
    ("max_new_tokens", "int32"), ("needles", "list<item: string>"), ("needle_spans", f"list<item: {SPAN}>"),
    ("context_message", "int32"), ("needle_token_spans", f"list<item: {SPAN}>"),
    ("needle_depths", "list<item: double>"), ("boundary", "string"), ("prompt_tokens", "int32"),
    ("haystack_tokens", "int32"), ("haystack_passes", "double"),
    ("shared_prefix", "int32"), ("world", "string"), ("chance", "double"),
    ("target_span", SPAN), ("target_token_span", SPAN), ("leak", "string"),
    ("prompt_sha256", "string"), ("prompt", "large_string"),
)  # fmt: skip

CHAT = (*TEXT[:-1], ("prompt", "list<item: struct<role: string, content: large_string>>"))


def test_version_1_has_these_columns_and_no_others() -> None:
    assert SCHEMA_VERSION == 1
    assert tuple((field.name, str(field.type)) for field in row_schema("text")) == TEXT
    assert tuple((field.name, str(field.type)) for field in row_schema("chat")) == CHAT


def test_the_frozen_dataset_has_these_columns_in_both_formats() -> None:
    assert open_dataset(FROZEN).manifest.schema_version == 1
    for path in sorted(FROZEN.glob("data/*/*.parquet")):
        types = ((field.name, str(field.type).replace("element:", "item:")) for field in pq.read_schema(path))
        assert tuple(types) == CHAT
    for path in sorted(FROZEN.glob("jsonl/*/*.jsonl")):
        for line in path.read_text("utf-8").splitlines():
            assert tuple(json.loads(line)) == COLUMNS
