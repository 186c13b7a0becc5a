"""Provides a fixture that writes records as a JSONL file."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest
from made import Record, WriteLines


@pytest.fixture
def write_lines(tmp_path: Path) -> WriteLines:
    """A function that writes records as a JSONL file and returns its path."""

    def write(name: str, records: Sequence[Record]) -> Path:
        path = tmp_path / name
        path.write_text("".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records), "utf-8")
        return path

    return write
