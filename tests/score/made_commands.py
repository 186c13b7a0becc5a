"""Calls niah-score as people do."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from made import CONTRACT

EXECUTABLE = Path(sys.executable).with_name("niah-score")


def run(*arguments: object, **more: Any) -> subprocess.CompletedProcess[str]:
    return subprocess.run([EXECUTABLE, *map(str, arguments)], capture_output=True, text=True, check=False, **more)


def contract_answers() -> list[dict[str, Any]]:
    """The reference answer to every row of the contract dataset."""
    files = sorted((CONTRACT / "jsonl").rglob("*.jsonl"))
    rows = [json.loads(line) for file in files for line in file.read_text("utf-8").splitlines()]
    return [{"id": row["id"], "prediction": row["answers"][0]} for row in rows]
