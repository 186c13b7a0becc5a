"""Reads, changes and proves the rows of a small dataset, for tests."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

from contexts import whole_token_spans

from niah_gen.rows.ids import row_id
from niah_gen.tokenizers.find import BytePairTokenizer
from niah_score.contract import (
    MANIFEST,
    FileEntry,
    Row,
    Truth,
    content_digest,
    file_sha256,
    prompt_digest,
    read_manifest,
    row_digest,
)

RowDict = dict[str, Any]
RECIPE: dict[str, Any] = {
    "name": "p", "lengths": [700], "depths": [0, 40, 100], "needles": ["velden-archive", "heyuan-archive"],
}  # fmt: skip
ENGLISH = "jsonl/en-700/test-00000-of-00001.jsonl"
CHINESE = "jsonl/zh-700/test-00000-of-00001.jsonl"


def read(folder: Path, path: str = ENGLISH) -> list[RowDict]:
    return [json.loads(line) for line in (folder / path).read_text("utf-8").splitlines()]


def seal(folder: Path, path: str, data: bytes, rows: int) -> None:
    """Write a data file, and its hash in the manifest."""
    (folder / path).write_bytes(data)
    entry = FileEntry(path, file_sha256(folder / path), rows, len(data))
    manifest = read_manifest(folder)
    files = tuple(entry if old.path == path else old for old in manifest.files)
    (folder / MANIFEST).write_bytes(replace(manifest, files=files).to_json())


def write(folder: Path, rows: list[Any], path: str = ENGLISH) -> None:
    """Write rows and their hash, so that hashing again shows nothing wrong but their number."""
    seal(folder, path, b"".join(json.dumps(row).encode() + b"\n" for row in rows), len(rows))


def own_up(folder: Path) -> None:
    """Set the manifest's digest, tokens and number of rows to those of the JSONL rows."""
    rows = [row for path in (ENGLISH, CHINESE) for row in read(folder, path)]
    digest = content_digest(row_digest(cast(Row, row)) for row in rows)
    manifest = read_manifest(folder)
    tokens = sum(row["prompt_tokens"] for row in rows)
    changed = replace(manifest, rows=len(rows), tokens=tokens, content_digest=digest)
    (folder / MANIFEST).write_bytes(changed.to_json())


def rename(row: RowDict, tokenizer: BytePairTokenizer) -> None:
    """Set a row's digest, tokens and id to those of its prompt."""
    row["prompt_sha256"] = prompt_digest(row["prompt"])
    row["prompt_tokens"] = tokenizer.count(row["prompt"])
    row["needle_token_spans"] = whole_token_spans(row["prompt"], row["needle_spans"], tokenizer)
    row["id"] = row_id(row["id"][:8], cast(Truth, row))


def move(row: RowDict, places: Callable[[str], int], tokenizer: BytePairTokenizer, joiner: str) -> None:
    """Move the only needle to another place in its haystack, and change every column that depends on it."""
    (span,) = row["needle_spans"]
    start, end = span["start"] - len(joiner), span["end"]
    needle = row["prompt"][start:end]
    bare = row["prompt"][:start] + row["prompt"][end:]
    before, context = re.split(r"(?<=<document>\n)|(?<=<文档>\n)", bare)
    context, after = re.split(r"(?=\n</document>)|(?=\n</文档>)", context)
    place = places(context)
    row["prompt"] = before + context[:place] + needle + context[place:] + after
    first = len(before) + place + len(joiner)
    row["needle_spans"] = [{"start": first, "end": first + end - span["start"]}]
    row["needle_depths"] = [100 * tokenizer.count(context[:place]) / tokenizer.count(context)]
    rename(row, tokenizer)


def of_rows(problems: list[str]) -> list[str]:
    return [problem for problem in problems if not problem.startswith(MANIFEST)]


def assert_only(problems: list[str], number: int, row: RowDict, *words: str, path: str = ENGLISH) -> None:
    """Every problem of a row is about this one, and each of the words occurs in one of them."""
    where = f"{path} row {number} ({row['id']}): "
    assert problems
    assert [problem for problem in of_rows(problems) if not problem.startswith(where)] == []
    for word in words:
        assert any(word in problem for problem in of_rows(problems)), (word, problems)
