"""Provides fixtures that write answer files and read them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from answer_files import Read, ReadRecords, Write

from niah_score.formats import Answer, Malformed, read_answers


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Writes bytes or a text as an answer file and returns its path."""

    def write(data: bytes | str) -> Path:
        path = tmp_path / "answers"
        path.write_bytes(data.encode() if isinstance(data, str) else data)
        return path

    return write


@pytest.fixture
def read(write: Write) -> Read:
    """Reads bytes or a text as an answer file."""

    def read(data: bytes | str, **options: str) -> list[Answer | Malformed]:
        return list(read_answers(write(data), **options))

    return read


@pytest.fixture
def read_records(tmp_path: Path) -> ReadRecords:
    """Reads objects as the lines of an answer file."""

    def read(*records: Any, **options: str) -> list[Answer | Malformed]:
        path = tmp_path / "answers.jsonl"
        path.write_text("".join(json.dumps(record) + "\n" for record in records))
        return list(read_answers(path, **options))

    return read
