"""Provides fixtures that write answer files and read them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from answer_files import Read, Write

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
    """Reads bytes or a text as an answer file, or objects as its lines."""

    def read(*data: Any, **options: str) -> list[Answer | Malformed]:
        is_whole = isinstance(data[0], bytes | str)
        path = write(data[0] if is_whole else "".join(json.dumps(record) + "\n" for record in data))
        return list(read_answers(path, **options))

    return read
