"""Provides a fixture that writes records as a JSONL file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from made import Record, WriteLines, written


@pytest.fixture
def write_lines(tmp_path: Path) -> WriteLines:
    """A function that writes records as a JSONL file and returns its path."""

    def write(name: str, records: Sequence[Record]) -> Path:
        return written(tmp_path / name, records)

    return write
