"""Reads the rows of datasets, and changes them, with the hashes in the manifest changed to match, for tests."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

from niah_gen.dataset.read import rows_in
from niah_score.contract import (
    MANIFEST,
    FileEntry,
    Row,
    content_digest,
    file_sha256,
    open_dataset,
    read_manifest,
    row_digest,
)

RowDict = dict[str, Any]
RECIPE: dict[str, Any] = {
    "name": "p", "lengths": [700], "depths": [0, 40, 100], "needles": ["velden-archive", "heyuan-archive"],
}  # fmt: skip
ENGLISH = "jsonl/en-700/test-00000-of-00001.jsonl"
CHINESE = "jsonl/zh-700/test-00000-of-00001.jsonl"


def rows_of(folder: Path) -> list[RowDict]:
    """All rows of a dataset, in order."""
    return [dict(row) for file in open_dataset(folder).files() for row in rows_in(file.path)]


def read(folder: Path, path: str = ENGLISH) -> list[RowDict]:
    """The rows of one of its JSONL files."""
    return [json.loads(line) for line in (folder / path).read_text("utf-8").splitlines()]


def write_lines(path: Path, records: Iterable[Any]) -> Path:
    """Write records as JSON Lines."""
    path.write_text("".join(json.dumps(record) + "\n" for record in records), "utf-8")
    return path


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
    tokens = sum(row["prompt_tokens"] for row in rows)
    changed = replace(read_manifest(folder), rows=len(rows), tokens=tokens, content_digest=digest)
    (folder / MANIFEST).write_bytes(changed.to_json())
