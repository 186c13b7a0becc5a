"""Rows that log-probabilities are joined to: their targets are measured, and rows that cannot be joined are refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from each import each

from niah_score.errors import ResourceError, ScoreError
from niah_score.join.target_rows import read_targets

ROW: dict[str, Any] = {
    "id": "a", "language": "zh", "corpus": "c", "tokenizer": "cl100k_base", "length": 4, "needle_id": "document-1",
    "haystack_id": "h", "prompt_tokens": 4, "target_span": {"start": 1, "end": 3},
    "target_token_span": {"start": 2, "end": 4}, "prompt": "渡船走", "prompt_sha256": "0" * 64, "answers": [],
}  # fmt: skip


def read(tmp_path: Path, *rows: object, windows: bool = True) -> Any:
    file = tmp_path / "rows.jsonl"
    file.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), "utf-8")
    return read_targets(file, windows=windows)


def test_a_target_is_measured_in_characters_tokens_and_bytes(tmp_path: Path) -> None:
    (row,) = read(tmp_path, ROW).rows
    assert (row.start, row.end, row.chars) == (1, 3, 3)
    assert (row.first, row.last, row.tokens) == (2, 4, 2)
    assert row.target_bytes == 6
    assert row.answer is None


def test_the_answer_follows_the_prompt_after_a_space(tmp_path: Path) -> None:
    bare = {name: value for name, value in ROW.items() if not name.startswith("target")}
    (row,) = read(tmp_path, {**bare, "prompt": "Where? Answer:", "answers": ["Oslo"]}, windows=False).rows
    assert (row.answer, row.tokens) == (" Oslo", 0)


@each(("rows", "message"), [
    ([{**ROW, "target_span": {"start": 1, "end": 9}}], "not within a text prompt"),
    ([{**ROW, "target_span": {"start": 2, "end": 2}}], "not within a text prompt"),
    ([{**ROW, "target_span": {"start": "1", "end": 3}}], "not within a text prompt"),
    ([{**ROW, "target_token_span": None}], "not within a text prompt"),
    ([{**ROW, "prompt": [{"role": "user", "content": "x"}]}], "not within a text prompt"),
    ([{**ROW, "id": ""}], "has no id"), ([{**ROW, "id": None}], "has no id"), ([ROW, ROW], "in two or more rows;"),
    ([[1]], "expected a JSON object"), ([], "holds no rows"), ([{**ROW, "length": "long"}], "invalid literal"),
    ([{**ROW, "target_span": None}], "1 of 1 rows have no target_span"),
])  # fmt: skip
def test_rows_that_cannot_be_joined_are_refused(rows: list[object], message: str, tmp_path: Path) -> None:
    with pytest.raises(ScoreError, match=message):
        read(tmp_path, *rows)


def test_an_overlong_row_is_refused_and_not_skipped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("niah_score.formats.containers.streams._CHUNK", 1_000)
    monkeypatch.setattr("niah_score.formats.containers.streams.MAX_LINE", 2_000)
    monkeypatch.setattr("niah_score.machine.unpacking.MAX_LINE", 2_000)
    with pytest.raises(ResourceError, match="a line of more than 2,000 bytes"):
        read(tmp_path, ROW, {**ROW, "id": "b", "context": "x" * 2_000})
