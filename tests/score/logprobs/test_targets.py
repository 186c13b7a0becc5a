"""Rows that log-probabilities are joined to: their targets are measured, and rows that cannot be joined are refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from made import written

from niah_score.errors import ScoreError
from niah_score.logprobs.perplexity import perplexity
from niah_score.logprobs.targets import Asked, Target, read_targets

ROW: dict[str, Any] = {
    "id": "a", "language": "zh", "corpus": "c", "tokenizer": "cl100k_base", "length": 4, "needle_id": "document-1",
    "haystack_id": "h", "prompt_tokens": 4, "target_span": {"start": 1, "end": 3},
    "target_token_span": {"start": 2, "end": 4}, "prompt": "渡船走", "prompt_sha256": "0" * 64, "answers": [],
}  # fmt: skip


def read(tmp_path: Path, *rows: object) -> list[Target]:
    return read_targets(written(tmp_path / "rows.jsonl", rows))[0]


def test_a_target_is_measured_in_characters_tokens_and_bytes(tmp_path: Path) -> None:
    (row,) = read(tmp_path, ROW)
    assert (row.start, row.end, row.chars, row.tokens, row.bytes, row.answer) == (1, 3, 3, 2, 6, None)


def test_the_answer_follows_the_prompt_after_a_space(tmp_path: Path) -> None:
    bare = {name: value for name, value in ROW.items() if not name.startswith("target")}
    (row,) = read(tmp_path, {**bare, "prompt": "Where? Answer:", "answers": ["Oslo"]})
    assert (row.answer, row.tokens) == (" Oslo", 0)


def test_rows_that_cannot_be_joined_are_refused(tmp_path: Path) -> None:
    spans: list[Any] = [{"start": 1, "end": 9}, {"start": 2, "end": 2}, {"start": "1", "end": 3}]
    cases: list[tuple[list[Any], str]] = [
        *(([{**ROW, "target_span": span}], "not within a text prompt") for span in spans),
        ([{**ROW, "target_token_span": None}], "not within a text prompt"),
        ([{**ROW, "prompt": [{"role": "user", "content": "x"}]}], "not within a text prompt"),
        ([{**ROW, "id": ""}], "has no id"), ([{**ROW, "id": None}], "has no id"),
        ([ROW, ROW], "in two or more rows;"), ([[1]], "not a JSON object"), ([], "holds no rows"),
        ([{**ROW, "length": "long"}], "length is 'long'"), ([{**ROW, "prompt_tokens": "4"}], "prompt_tokens is '4'"),
        ([{**ROW, "target_token_span": {"start": 2, "end": 5}}], "rows.jsonl:1: .* is not within a text prompt"),
    ]  # fmt: skip
    for rows, message in cases:
        with pytest.raises(ScoreError, match=message):
            read(tmp_path, *rows)


def test_a_record_none_of_whose_tokens_begins_in_the_target_is_malformed(tmp_path: Path) -> None:
    read(tmp_path, {**ROW, "target_span": {"start": 1, "end": 2}})
    file = written(tmp_path / "p.jsonl", [{"id": "a", "token_logprobs": [None, -1.0], "text_offset": [0, 2]}])
    with pytest.raises(ScoreError, match="none of its tokens begins in the row's target"):
        perplexity(tmp_path / "rows.jsonl", [file], asked=Asked(per="byte"))
