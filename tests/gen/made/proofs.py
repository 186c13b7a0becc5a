"""Reads, changes and proves the rows of a small dataset, for tests."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

from niah_score.contract import (
    MANIFEST,
    FileEntry,
    Row,
    content_digest,
    file_sha256,
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
